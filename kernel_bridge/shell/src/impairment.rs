//! Builds the link of each direction from the command line.

use std::fs;
use std::sync::Arc;

use leo_link::{
    Cake, CakeSettings, Codel, CodelSettings, Direction, DropTail, DualPi2, DualPi2Settings, FqCodel,
    FqCodelSettings, FqPie, FqPieSettings, Gateway, HeadDrop, Jitter, Link, Loss, Managed, Nanos, PathTrace,
    Pie, PieSettings, QueueKind, Schedule, Sfq, SfqSettings, Span, UNLIMITED,
};

use crate::arguments::{Arguments, Path, QueueSize};
use crate::datagram::{Datagram, MTU};

const NS_PER_S: f64 = 1e9;
/// Separates the random streams of the two directions, and of losses and queues.
const STREAM: u64 = 0x9e37_79b9_7f4a_7c15;

/// The path that both directions replay.
pub enum Source {
    Traced(Arc<PathTrace>),
    /// A constant one-way propagation.
    Static(Nanos),
}

impl Source {
    /// Read the path trace, if there is one. An error is one line with the file, the field and the rule.
    pub fn read(path: &Path) -> Result<Self, String> {
        match path {
            Path::Static(delay) => Ok(Self::Static(*delay)),
            Path::Traced(file) => {
                let name = file.display();
                let text =
                    fs::read_to_string(file).map_err(|error| format!("{name}: cannot be read: {error}"))?;
                let trace = PathTrace::parse(&text, &name.to_string()).map_err(|error| error.to_string())?;
                Ok(Self::Traced(Arc::new(trace)))
            }
        }
    }

    fn schedule(&self, arguments: &Arguments, direction: Direction) -> Schedule {
        let rate = arguments.rate_bps.of(direction);
        match self {
            Self::Traced(trace) => Schedule::traced(Arc::clone(trace), direction, rate, arguments.start),
            Self::Static(delay) => Schedule::constant(*delay, rate.unwrap_or(UNLIMITED)),
        }
    }
}

/// Build the link for `direction`. Fails if the schedule never carries a packet.
pub fn link(source: &Source, arguments: &Arguments, direction: Direction) -> Result<Link<Datagram>, String> {
    let schedule = source.schedule(arguments, direction);
    if !schedule.ever_carries() {
        return Err(format!("{direction:?}: the trace never has capacity"));
    }
    let stream = match direction {
        Direction::Uplink => arguments.seed,
        Direction::Downlink => arguments.seed.wrapping_add(STREAM),
    };
    let back = source.schedule(arguments, direction.other());
    let limit = limit(arguments, &schedule, &back);
    let loss = Loss::new(arguments.loss.of(direction), stream);
    let uncongested = start(&schedule).rate_bps == UNLIMITED;
    let jitter = match direction {
        Direction::Uplink => Jitter::none(),
        Direction::Downlink => Jitter::new(arguments.downlink_jitter, !stream),
    };
    let link = Link::new(schedule, limit, loss, jitter);
    let link = if arguments.outages_drop { link.discarding_in_outages() } else { link };
    let seed = stream.wrapping_mul(STREAM);
    Ok(match discipline(arguments, limit, seed) {
        Some(discipline) if !uncongested => link.managed_by(discipline),
        None if arguments.queue == QueueKind::Gateway && !uncongested => {
            let bytes = limit.bytes.min(limit.packets.saturating_mul(MTU as u64));
            link.behind_gateway(Gateway::new(bytes / 2, seed))
        }
        _ => link,
    })
}

/// Return the first span of `schedule` that carries packets; there must be one.
pub fn start(schedule: &Schedule) -> Span {
    begins(schedule).1
}

/// Return when the first span that carries packets begins, and that span.
fn begins(schedule: &Schedule) -> (Nanos, Span) {
    let (mut at, mut span) = (0, schedule.at(0));
    while !span.connected || span.rate_bps == 0 {
        (at, span) = (span.end, schedule.at(span.end));
    }
    (at, span)
}

/// Return the queue size. A BDP is the capacity times the round-trip propagation at the start.
fn limit(arguments: &Arguments, schedule: &Schedule, back: &Schedule) -> DropTail {
    let (at, start) = begins(schedule);
    let rtt = start.delay + back.at(at).delay;
    let of_bdp = |bdp: f64| {
        let bits = start.rate_bps as f64 * rtt as f64 / NS_PER_S;
        DropTail::of_packets(((bdp * bits / (8.0 * MTU as f64)).round() as u64).max(1))
    };
    if start.rate_bps == UNLIMITED {
        return DropTail::INFINITE;
    }
    match arguments.queue_size {
        QueueSize::Packets(packets) => DropTail::of_packets(packets),
        QueueSize::Bytes(bytes) => DropTail::of_bytes(bytes),
        QueueSize::Bdp(bdp) => of_bdp(bdp),
        QueueSize::Default => arguments.queue.default_size().unwrap_or_else(|| of_bdp(1.0)),
    }
}

/// Return the discipline with Linux's defaults except for its size; `None` for drop-tail and the gateway.
fn discipline(arguments: &Arguments, size: DropTail, seed: u64) -> Option<Managed<Datagram>> {
    let packets = size.packets.min(size.bytes / MTU as u64).max(1);
    let bytes = size.bytes.min(size.packets.saturating_mul(MTU as u64));
    Some(match arguments.queue {
        QueueKind::Droptail | QueueKind::Gateway => return None,
        QueueKind::HeadDrop => Managed::HeadDrop(HeadDrop::new(size)),
        QueueKind::Codel => Managed::Codel(Codel::new(packets, CodelSettings::default())),
        QueueKind::Pie => Managed::Pie(Pie::new(packets, PieSettings::default(), seed)),
        QueueKind::FqCodel => Managed::FqCodel(FqCodel::new(
            FqCodelSettings { limit: packets, ..FqCodelSettings::default() },
            seed,
        )),
        QueueKind::FqPie => {
            Managed::FqPie(FqPie::new(FqPieSettings { limit: packets, ..FqPieSettings::default() }, seed))
        }
        QueueKind::Sfq => {
            Managed::Sfq(Sfq::new(SfqSettings { limit: packets, ..SfqSettings::default() }, seed))
        }
        QueueKind::DualPi2 => Managed::DualPi2(DualPi2::new(
            DualPi2Settings { limit: packets, ..DualPi2Settings::default() },
            seed,
        )),
        QueueKind::Cake => {
            let memory_limit = (arguments.queue_size != QueueSize::Default).then_some(bytes);
            Managed::Cake(Cake::new(CakeSettings { memory_limit, ..CakeSettings::default() }, seed))
        }
    })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::arguments::{Request, parse};
    use crate::datagram::DEVICE_HEADER;
    use crate::datagram::Pool;

    fn arguments(line: &str) -> Arguments {
        match parse(line.split_whitespace().map(OsString::from)) {
            Ok(Request::Run(arguments)) => *arguments,
            other => panic!("{other:?}"),
        }
    }

    fn limit_of(line: &str) -> DropTail {
        let arguments = arguments(line);
        let source = Source::read(&arguments.path).unwrap();
        link(&source, &arguments, Direction::Uplink).unwrap().limit()
    }

    #[test]
    fn a_queue_without_a_size_is_one_bdp_both_ways_or_what_linux_gives() {
        // 100 Mbit/s × 50 ms = 5 Mbit = 416.7 packets of 12,000 bits.
        assert_eq!(limit_of("--rate-mbps 100 --delay-ms 25"), DropTail::of_packets(417));
        assert_eq!(limit_of("--rate-mbps 100 --delay-ms 25 --queue-bdp 0.5"), DropTail::of_packets(208));
        assert_eq!(limit_of("--rate-mbps 100 --delay-ms 25 --queue head_drop"), DropTail::of_packets(417));
        assert_eq!(limit_of("--rate-mbps 100 --delay-ms 25 --queue codel"), DropTail::of_packets(1_000));
        assert_eq!(limit_of("--rate-mbps 100 --delay-ms 25 --queue-bytes 9000"), DropTail::of_bytes(9_000));
    }

    #[test]
    fn a_gateway_drops_a_quarter_of_what_comes_while_its_buffer_is_more_than_half_full() {
        let refused = |queue: &str| {
            let line = format!("--rate-mbps 1 --delay-ms 25 --queue {queue} --queue-packets 1000");
            let arguments = arguments(&line);
            let mut link =
                link(&Source::read(&arguments.path).unwrap(), &arguments, Direction::Uplink).unwrap();
            let pool = Pool::of(900);
            for _ in 0..900 {
                let mut packet = pool.take();
                packet.room()[DEVICE_HEADER] = 0x45;
                assert!(packet.filled(DEVICE_HEADER + MTU, 0));
                link.offer(packet, 0);
            }
            link.stats(0).dropped
        };
        assert_eq!(refused("droptail"), 0);
        let dropped = refused("gateway");
        assert!((60..140).contains(&dropped), "about a quarter of 400: {dropped}");
    }

    #[test]
    fn a_trace_that_begins_with_an_outage_starts_when_it_carries() {
        let row = |time_ns, rate_bps, connected| {
            let way = leo_link::OneWay { delay_ns: 25_000_000, rate_bps, loss: 0.0, connected };
            leo_link::Row::alike(time_ns, way)
        };
        let rows = vec![row(0, 50_000_000, false), row(1, 0, true), row(2, 100_000_000, true)];
        let source = Source::Traced(Arc::new(PathTrace { rows, period_ns: 3, ..PathTrace::default() }));
        let link = link(&source, &arguments("t.csv"), Direction::Downlink).unwrap();
        assert_eq!(link.limit(), DropTail::of_packets(417));
    }

    #[test]
    fn an_uncongested_direction_queues_nothing_behind_any_discipline() {
        assert_eq!(limit_of("--rate-mbps unlimited --delay-ms 25 --queue codel"), DropTail::INFINITE);
    }

    #[test]
    fn a_file_that_is_no_trace_is_named_with_its_line() {
        let error = Source::read(&Path::Traced("/dev/null".into())).err().unwrap();
        assert!(error.starts_with("/dev/null:1: "), "{error}");
        let error = Source::read(&Path::Traced("/absent.csv".into())).err().unwrap();
        assert!(error.starts_with("/absent.csv: cannot be read: "), "{error}");
    }
}
