//! Properties of the link over random schedules and offers: packet conservation at every instant, FIFO
//! propagation, outages that drop packets in flight.

mod burst;
mod head_drop;
mod model;
mod outages;

use std::collections::VecDeque;
use std::sync::Arc;

use proptest::prelude::*;

use self::model::Model;
use super::*;
use crate::queue::{
    Cake, CakeSettings, Codel, CodelSettings, DualPi2, DualPi2Settings, FqCodel, FqCodelSettings, FqPie,
    FqPieSettings, HeadDrop, Pie, PieSettings, Sfq, SfqSettings,
};
use crate::schedule::{Direction, UNLIMITED};
use crate::{Codepoint, OneWay, PathTrace, Queued, Row};

const US: Nanos = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Probe {
    id: usize,
    bytes: u32,
    offered_at: Nanos,
    propagation: Nanos,
    trips: u32,
}

impl Probe {
    fn new(id: usize, bytes: u32, offered_at: Nanos) -> Self {
        Self { id, bytes, offered_at, propagation: 0, trips: 0 }
    }
}

/// Placeholder of an id that is stored apart.
const APART: usize = usize::MAX;

impl Packet for Probe {
    type Compact = Self;
    type Extra = usize;
    type Queued = Self;

    // Every third id is stored apart: a queue out of step would give ids to the wrong packets.
    fn pack(self, extras: &mut VecDeque<usize>) -> Self {
        if self.id % 3 != 0 {
            return self;
        }
        extras.push_back(self.id);
        Self { id: APART, ..self }
    }

    fn unpack(compact: Self, extras: &mut VecDeque<usize>) -> Self {
        if compact.id != APART {
            return compact;
        }
        Self { id: extras.pop_front().expect("it was put there"), ..compact }
    }

    fn queue(self) -> Self {
        self
    }

    fn pack_queued(queued: Self, extras: &mut VecDeque<usize>) -> Self {
        queued.pack(extras)
    }

    fn compact_bytes(compact: &Self) -> u32 {
        compact.bytes
    }

    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn travels(compact: &mut Self, propagation: Nanos) {
        compact.propagation = propagation;
        compact.trips += 1;
    }
}

impl Queued for Probe {
    fn bytes(&self) -> u32 {
        Packet::bytes(self)
    }

    fn flow(&self) -> u32 {
        (self.id % FLOWS) as u32
    }

    fn codepoint(&self) -> Codepoint {
        [Codepoint::NotEct, Codepoint::Ect1, Codepoint::Ect0][self.id % FLOWS]
    }

    fn mark_congestion(&mut self) -> bool {
        self.codepoint().is_capable()
    }
}

/// Probes belong to this many flows in turn.
const FLOWS: usize = 3;

fn managed(kind: usize) -> Managed<Probe> {
    let (codel, pie) = (CodelSettings::default(), PieSettings::default());
    let cake = CakeSettings {
        bandwidth_bps: Some(20_000_000),
        memory_limit: Some(30_000),
        ..CakeSettings::default()
    };
    match kind {
        0 => Managed::Codel(Codel::new(30, codel)),
        1 => Managed::FqCodel(FqCodel::new(FqCodelSettings { limit: 30, ..FqCodelSettings::default() }, 1)),
        2 => Managed::Pie(Pie::new(30, pie, 1)),
        3 => Managed::FqPie(FqPie::new(FqPieSettings { limit: 30, ..FqPieSettings::default() }, 1)),
        4 => Managed::HeadDrop(HeadDrop::new(DropTail::of_packets(30))),
        5 => Managed::DualPi2(DualPi2::new(DualPi2Settings { limit: 30, ..DualPi2Settings::default() }, 1)),
        6 => Managed::Sfq(Sfq::new(SfqSettings { limit: 30, ..SfqSettings::default() }, 1)),
        _ => Managed::Cake(Cake::new(cake, 1)),
    }
}

/// A trace row: duration, delay, rate, connected.
type Part = (Nanos, Nanos, u64, bool);

fn trace(parts: &[Part], loss: f64) -> Arc<PathTrace> {
    let mut period_ns = 0;
    let mut rows = Vec::new();
    for &(duration, delay_ns, rate, connected) in parts {
        rows.push(Row::alike(period_ns, OneWay { delay_ns, rate_bps: rate, loss, connected }));
        period_ns += duration;
    }
    Arc::new(PathTrace { rows, period_ns, ..PathTrace::default() })
}

/// The part that covers `at`, found by adding up durations, independently of the schedule's cursor.
fn part_at(parts: &[Part], offset: Nanos, at: Nanos) -> Part {
    let period: Nanos = parts.iter().map(|part| part.0).sum();
    let mut phase = (at + offset) % period;
    for &part in parts {
        if phase < part.0 {
            return part;
        }
        phase -= part.0;
    }
    unreachable!("the remainder is within the period")
}

/// Instants in `from..to` at which an outage begins.
fn outage_begins(parts: &[Part], offset: Nanos, from: Nanos, to: Nanos) -> Vec<Nanos> {
    let mut begins = Vec::new();
    let period: Nanos = parts.iter().map(|part| part.0).sum();
    let mut at = 0;
    let mut connected = parts[parts.len() - 1].3;
    while at < to + offset + period {
        for part in parts {
            if connected && !part.3 && at >= offset && (from..to).contains(&(at - offset)) {
                begins.push(at - offset);
            }
            connected = part.3;
            at += part.0;
        }
    }
    begins
}

fn assert_conserved(link: &mut Link<Probe>, now: Nanos) {
    let (queued, in_flight, stats) = (link.queued_packets(now), link.in_flight_packets(now), link.stats(now));
    assert_eq!(
        stats.offered,
        stats.delivered + stats.dropped + stats.lost + queued + in_flight,
        "{stats:?}, {queued} queued, {in_flight} in flight at {now}"
    );
    assert!(
        queued <= link.limit.packets && link.queued_bytes <= link.limit.bytes,
        "{queued} queued at {now}"
    );
}

/// Offer all packets while polling at the instants that the link names, then drain the link.
fn drive(link: &mut Link<Probe>, offers: &[(Nanos, u32)]) -> Vec<(Nanos, Probe)> {
    let mut out = Vec::new();
    let mut now = 0;
    for (id, &(gap, bytes)) in offers.iter().enumerate() {
        now += gap;
        take_until(link, now, &mut out);
        link.offer(Probe::new(id, bytes, now), now);
        assert_conserved(link, now);
    }
    take_until(link, NEVER - 1, &mut out);
    let stats = link.stats(NEVER);
    assert_eq!(stats.offered, stats.delivered + stats.dropped + stats.lost, "a drained link holds nothing");
    assert_eq!(stats.delivered_bytes, out.iter().map(|(_, packet)| u64::from(packet.bytes)).sum::<u64>());
    out
}

fn take_until(link: &mut Link<Probe>, until: Nanos, out: &mut Vec<(Nanos, Probe)>) {
    let mut last = 0;
    while link.next_event() <= until {
        let now = link.next_event();
        assert!(now >= last, "time runs backwards");
        last = now;
        if now > 0 {
            assert!(link.poll(now - 1).is_none(), "nothing comes before its time");
        }
        while let Some(packet) = link.poll(now) {
            out.push((now, packet));
            assert_conserved(link, now);
        }
        assert!(link.next_event() > now, "an instant that was polled empty is over");
        assert_conserved(link, now);
    }
}

fn assert_fifo(out: &[(Nanos, Probe)]) {
    assert!(out.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1.id < pair[1].1.id), "{out:?}");
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let rate = prop_oneof![1 => Just(0), 4 => 1_000_u64..1_000_000_000, 1 => 1_u64..1_000];
    let part = (1_u64..20_000_000, 1_u64..30_000_000, rate, prop::bool::weighted(0.7));
    prop::collection::vec(part, 1..8).prop_filter("the link must carry something", |parts| {
        parts.iter().any(|part| part.3 && part.2 >= 100_000)
    })
}

fn offers() -> impl Strategy<Value = Vec<(Nanos, u32)>> {
    let gap = prop_oneof![2 => Just(0), 4 => 0_u64..300_000, 1 => 0_u64..40_000_000];
    prop::collection::vec((gap, 40_u32..=1500), 1..120)
}

fn limits() -> impl Strategy<Value = DropTail> {
    prop_oneof![
        (1_u64..40).prop_map(DropTail::of_packets),
        (1500_u64..40_000).prop_map(DropTail::of_bytes),
        Just(DropTail::INFINITE)
    ]
}

/// Two directions over the same rows: durations come from the first.
fn two_ways(up: &[Part], down: &[Part]) -> Arc<PathTrace> {
    let (mut rows, mut period_ns) = (Vec::new(), 0);
    let way =
        |&(_, delay_ns, rate_bps, connected): &Part| OneWay { delay_ns, rate_bps, loss: 0.0, connected };
    for (up, down) in up.iter().zip(down) {
        rows.push(Row { down: way(down), ..Row::alike(period_ns, way(up)) });
        period_ns += up.0;
    }
    Arc::new(PathTrace { rows, period_ns, ..PathTrace::default() })
}

proptest! {
    // So conservation, order and outages hold for each direction as the other tests require of one.
    #[test]
    fn each_direction_is_the_link_that_a_trace_of_its_values_alone_makes(
        (up, down) in (parts(), parts()),
        offset in 0_u64..100_000_000,
        offers in offers(),
        limit in limits(),
        discards in any::<bool>(),
    ) {
        let rows = up.len().min(down.len());
        let down: Vec<Part> = up.iter().zip(&down).map(|(up, down)| (up.0, down.1, down.2, down.3)).collect();
        let both = two_ways(&up[..rows], &down);
        for (direction, own) in [(Direction::Uplink, &up[..rows]), (Direction::Downlink, &down[..])] {
            if !own.iter().any(|part| part.3 && part.2 >= 100_000) {
                continue;
            }
            let [got, wanted] = [both.clone(), trace(own, 0.0)].map(|trace| {
                let schedule = Schedule::traced(trace, direction, None, offset);
                let mut link = Link::new(schedule, limit, Loss::new(0.0, 3), Jitter::none());
                if discards {
                    link = link.discarding_in_outages();
                }
                let out = drive(&mut link, &offers);
                (out, link.stats(NEVER))
            });
            assert_fifo(&got.0);
            prop_assert_eq!(got, wanted);
        }
    }

    #[test]
    fn every_packet_is_accounted_for_at_every_instant_and_none_overtakes(
        parts in parts(),
        offset in 0_u64..100_000_000,
        uncongested in any::<bool>(),
        offers in offers(),
        limit in limits(),
        loss in prop_oneof![Just(0.0), Just(1.0), 0.0..0.5],
        jitter in prop_oneof![Just(0), 0_u64..500_000],
    ) {
        let rate = uncongested.then_some(UNLIMITED);
        let schedule = Schedule::traced(trace(&parts, 0.0), Direction::Uplink, rate, offset);
        let mut link = Link::new(schedule, limit, Loss::new(loss, 3), Jitter::new(jitter, 4));
        let out = drive(&mut link, &offers);
        assert_fifo(&out);
        for &(arrival, packet) in &out {
            prop_assert_eq!(packet.trips, 1, "a packet that comes out was told its propagation once");
            prop_assert!(arrival >= packet.offered_at + packet.propagation, "faster than light");
            let lit = arrival - packet.propagation;
            prop_assert!(part_at(&parts, offset, lit.saturating_sub(1)).3 || part_at(&parts, offset, lit).3);
            let begins = outage_begins(&parts, offset, lit, arrival);
            prop_assert!(begins.is_empty(), "{packet:?} was in flight at {begins:?} and arrived at {arrival}");
        }
    }

    #[test]
    fn behind_every_discipline_packets_are_accounted_for_and_none_overtakes_another_of_its_flow(
        parts in parts(),
        offset in 0_u64..100_000_000,
        offers in offers(),
        kind in 0_usize..8,
        jitter in prop_oneof![Just(0), 0_u64..500_000],
    ) {
        // At very low rates a packet takes hours, during which controllers update every 15 ms.
        let parts: Vec<Part> =
            parts.iter().map(|&part| (part.0, part.1, if part.2 < 100_000 { 0 } else { part.2 }, part.3)).collect();
        let schedule = Schedule::traced(trace(&parts, 0.0), Direction::Uplink, None, offset);
        let mut link = Link::new(schedule, DropTail::INFINITE, Loss::new(0.1, 3), Jitter::new(jitter, 4))
            .managed_by(managed(kind));
        let out = drive(&mut link, &offers);
        prop_assert!(out.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        for flow in 0..FLOWS {
            let mine: Vec<_> = out.iter().copied().filter(|(_, packet)| packet.id % FLOWS == flow).collect();
            assert_fifo(&mine);
        }
        for &(arrival, packet) in &out {
            prop_assert_eq!(packet.trips, 1);
            prop_assert!(arrival >= packet.offered_at + packet.propagation, "faster than light");
            let lit = arrival - packet.propagation;
            prop_assert!(outage_begins(&parts, offset, lit, arrival).is_empty(), "{packet:?} outlived an outage");
        }
    }

    #[test]
    fn telemetry_tells_what_waited_when_a_packet_left_and_what_had_been_sent(
        parts in parts(),
        offers in offers(),
        limit in limits(),
        loss in prop_oneof![Just(0.0), 0.0..0.5],
    ) {
        let schedule = Schedule::traced(trace(&parts, 0.0), Direction::Uplink, None, 0);
        let mut link = Link::new(schedule, limit, Loss::new(loss, 3), Jitter::none()).observed();
        let mut accepted = Vec::new();
        let mut out = Vec::new();
        let mut now = 0;
        for (id, &(gap, bytes)) in offers.iter().enumerate() {
            now += gap;
            while link.next_event() <= now {
                let at = link.next_event();
                out.extend(std::iter::from_fn(|| link.poll(at).map(|packet| (packet, link.last_departure()))));
            }
            let probe = Probe::new(id, bytes, now);
            if link.offer(probe, now) == Offer::Accepted {
                accepted.push(probe);
            }
        }
        while link.next_event() < NEVER {
            let at = link.next_event();
            out.extend(std::iter::from_fn(|| link.poll(at).map(|packet| (packet, link.last_departure()))));
        }
        for (packet, departure) in out {
            let bytes = |probe: &Probe| u64::from(probe.bytes);
            let sent: u64 = accepted.iter().take_while(|other| other.id <= packet.id).map(bytes).sum();
            prop_assert_eq!(departure.sent_bytes, sent);
            let behind = accepted.iter().skip_while(|other| other.id <= packet.id);
            let waited: u64 = behind.filter(|other| other.offered_at < departure.at).map(bytes).sum();
            prop_assert_eq!(departure.queued_bytes, waited, "{:?} left at {}", packet, departure.at);
        }
    }

    #[test]
    fn the_link_never_carries_more_than_its_capacity(
        parts in parts(),
        offset in 0_u64..100_000_000,
        offers in offers(),
    ) {
        // With one delay for all rows, arrivals are shifted departures.
        let parts: Vec<Part> = parts.iter().map(|&part| (part.0, 5_000_000, part.2, part.3)).collect();
        let schedule = Schedule::traced(trace(&parts, 0.0), Direction::Uplink, None, offset);
        let mut link = Link::new(schedule, DropTail::INFINITE, Loss::new(0.0, 0), Jitter::none());
        let out = drive(&mut link, &offers);
        for first in 0..out.len() {
            let mut bits = 0.0;
            let from = out[first].0 - 5_000_000;
            for &(arrival, packet) in &out[first + 1..] {
                bits += f64::from(packet.bytes) * 8.0;
                let capacity = capacity_bits(&parts, offset, from, arrival - 5_000_000);
                // Times are whole nanoseconds: each end is off by up to 1 ns, at most 1 bit at 1 Gbit/s.
                prop_assert!(bits <= capacity + 2.0, "{bits} bits in {from}..{arrival}, capacity {capacity}");
            }
        }
    }

    #[test]
    fn a_traced_link_does_what_a_model_of_single_microseconds_does(
        parts in prop::collection::vec((1_u64..3_000, 1_u64..2_000, 0_u64..200, prop::bool::weighted(0.75)), 1..6)
            .prop_filter("carries", |parts| parts.iter().any(|part| part.3 && part.2 > 20)),
        offset in 0_u64..10_000,
        offers in prop::collection::vec((prop_oneof![Just(0), 0_u64..400, 0_u64..3_000], 40_u32..=1500), 1..60),
        limit in limits(),
        (discards, drops_heads) in any::<(bool, bool)>(),
    ) {
        let model = Model::new(&parts, offset, limit).discarding(discards);
        let expected = if drops_heads { model.dropping_heads() } else { model }.run(&offers);
        let scaled: Vec<Part> =
            parts.iter().map(|&(time, delay, rate, connected)| (time * US, delay * US, rate * 1_000_000, connected)).collect();
        let schedule = Schedule::traced(trace(&scaled, 0.0), Direction::Downlink, None, offset * US);
        let mut link = Link::new(schedule, limit, Loss::new(0.0, 0), Jitter::none());
        if discards {
            link = link.discarding_in_outages();
        }
        if drops_heads {
            link = link.managed_by(Managed::HeadDrop(HeadDrop::new(limit)));
        }
        let scaled_offers: Vec<_> = offers.iter().map(|&(gap, bytes)| (gap * US, bytes)).collect();
        let out = drive(&mut link, &scaled_offers);
        let arrivals: Vec<_> = out.iter().map(|&(arrival, packet)| (packet.id, arrival.div_ceil(US))).collect();
        prop_assert_eq!(arrivals, expected.arrivals);
        prop_assert_eq!((link.stats(NEVER).dropped, link.stats(NEVER).lost), (expected.dropped, expected.lost));
    }

    #[test]
    fn a_constant_link_does_what_a_model_of_single_microseconds_does(
        rate in 1_u64..400,
        delay in 0_u64..2_000,
        offers in prop::collection::vec((prop_oneof![Just(0), 0_u64..400], 40_u32..=1500), 1..80),
        limit in limits(),
    ) {
        let expected = Model::new(&[(1_000, delay, rate, true)], 0, limit).run(&offers);
        let schedule = Schedule::constant(delay * US, rate * 1_000_000);
        let mut link = Link::new(schedule, limit, Loss::new(0.0, 0), Jitter::none());
        let scaled_offers: Vec<_> = offers.iter().map(|&(gap, bytes)| (gap * US, bytes)).collect();
        let out = drive(&mut link, &scaled_offers);
        let arrivals: Vec<_> = out.iter().map(|&(arrival, packet)| (packet.id, arrival.div_ceil(US))).collect();
        prop_assert_eq!(arrivals, expected.arrivals);
        prop_assert_eq!((link.stats(NEVER).dropped, link.stats(NEVER).lost), (expected.dropped, 0));
    }

    #[test]
    fn an_uncongested_link_only_delays(delay in 0_u64..1_000_000_000, offers in offers()) {
        let schedule = Schedule::constant(delay, UNLIMITED);
        let mut link = Link::new(schedule, DropTail::INFINITE, Loss::new(0.0, 0), Jitter::none());
        let out = drive(&mut link, &offers);
        prop_assert_eq!(out.len(), offers.len());
        prop_assert!(out.iter().all(|&(arrival, packet)| arrival == packet.offered_at + delay));
    }

    #[test]
    fn a_link_that_only_delays_does_what_one_with_a_queue_without_end_does(
        delay in 0_u64..100_000, jitter in 0_u64..50_000, seed: u64, offers in offers(),
    ) {
        let link = |limit| {
            let schedule = Schedule::constant(delay, UNLIMITED);
            Link::new(schedule, limit, Loss::new(0.0, 0), Jitter::new(jitter, seed))
        };
        // A packet limit that is never reached still makes the second link use its queue.
        let (mut only_delays, mut queues) = (link(DropTail::INFINITE), link(DropTail::of_packets(1 << 40)));
        prop_assert!(only_delays.only_delays() && !queues.only_delays());
        let out = drive(&mut only_delays, &offers);
        prop_assert_eq!(&out, &drive(&mut queues, &offers));
        prop_assert_eq!(only_delays.stats(NEVER), queues.stats(NEVER));
        let mut crossed = link(DropTail::INFINITE);
        for (end, packet) in out {
            let mut packet = Probe { propagation: 0, trips: 0, ..packet };
            let offered_at = packet.offered_at;
            prop_assert_eq!(crossed.cross(&mut packet, offered_at), end);
            prop_assert_eq!((packet.propagation, packet.trips), (delay, 1));
        }
    }
}

fn capacity_bits(parts: &[Part], offset: Nanos, from: Nanos, to: Nanos) -> f64 {
    let period: Nanos = parts.iter().map(|part| part.0).sum();
    let (from, to) = (from + offset, to + offset);
    let mut bits = 0.0;
    let mut start = from - from % period;
    while start < to {
        for part in parts {
            let overlap = (start + part.0).min(to).saturating_sub(start.max(from));
            if part.3 {
                bits += overlap as f64 * 1e-9 * part.2 as f64;
            }
            start += part.0;
        }
    }
    bits
}
