//! A run's header and report, and whether the run is valid.

use leo_link::{Direction, Link, Nanos, UNLIMITED};
use serde_json::{Value, json};

use crate::arguments::{Arguments, Path};
use crate::clock::{Clock, unix_time};
use crate::datagram::Datagram;
use crate::ferry::{Carried, Tally};
use crate::impairment::start;

/// Value of `format` in the log's first line.
const FORMAT: &str = "leogym-shell-log";
const VERSION: u64 = 1;
/// The percentile of lateness that `--max-late-ms` bounds.
const SHARE: f64 = 0.99;

/// Return the report's fields before the first packet.
pub fn header(arguments: &Arguments, links: [&Link<Datagram>; 2], clock: &Clock, realtime: bool) -> Value {
    let words: Vec<_> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let [uplink, downlink] = links.map(|link| {
        let start = start(link.schedule());
        let finite = |value: u64| (value != u64::MAX).then_some(value);
        json!({
            "rate_mbps": (start.rate_bps != UNLIMITED).then(|| start.rate_bps as f64 / 1e6),
            "delay_ms": ms(start.delay),
            "queue_packets": finite(link.limit().packets),
            "queue_bytes": finite(link.limit().bytes),
        })
    });
    json!({
        "format": FORMAT,
        "version": VERSION,
        "program": concat!("mm-leo ", env!("CARGO_PKG_VERSION")),
        "command_line": words,
        "trace": match &arguments.path {
            Path::Traced(file) => Some(file.display().to_string()),
            Path::Static(_) => None,
        },
        "queue": arguments.queue.name(),
        "loss": {
            "uplink": arguments.loss.of(Direction::Uplink),
            "downlink": arguments.loss.of(Direction::Downlink),
        },
        "seed": arguments.seed,
        "start_s": arguments.start as f64 / 1e9,
        "began_unix_ns": unix_time() - clock.now(),
        "began_monotonic_ns": clock.zero_monotonic(),
        "at_start": { "uplink": uplink, "downlink": downlink },
        "realtime": realtime,
        "spin_us": arguments.spin as f64 / 1e3,
    })
}

/// The report of a finished run.
#[derive(Debug)]
pub struct Report {
    /// Why the run is not valid.
    pub fault: Option<String>,
    carried: Carried,
}

impl Report {
    /// Judge a run. It is valid if the 99th percentile of lateness is at most `max_late`, and the kernel
    /// neither dropped packets before the shell read them (`overrun`) nor refused any.
    pub fn of(carried: Carried, max_late: Nanos, overrun: u64) -> Self {
        let mut lateness = carried.uplink.lateness.clone();
        lateness.merge(&carried.downlink.lateness);
        let p99 = lateness.quantile(SHARE);
        let refused = carried.uplink.refused + carried.downlink.refused;
        let fault = if p99 > max_late {
            let (late, bound) = (ms(p99), ms(max_late));
            Some(format!("packets left {late:.3} ms late (99th percentile), the limit is {bound} ms"))
        } else if overrun > 0 {
            Some(format!("{overrun} packets never reached the shell because it read too late"))
        } else if refused > 0 {
            Some(format!("{refused} packets could not be handed over: a device was turned off"))
        } else {
            None
        };
        Self { fault, carried }
    }

    pub fn json(&self) -> Value {
        json!({
            "valid": self.fault.is_none(),
            "fault": self.fault,
            "duration_s": self.carried.duration as f64 / 1e9,
            "uplink": direction(&self.carried.uplink),
            "downlink": direction(&self.carried.downlink),
        })
    }

    /// Return the log's last lines: the verdict, then the report as JSON.
    pub fn footer(&self) -> Vec<String> {
        let verdict = match &self.fault {
            None => "valid: yes".to_owned(),
            Some(fault) => format!("valid: no: {fault}"),
        };
        vec![verdict, self.json().to_string()]
    }
}

fn direction(tally: &Tally) -> Value {
    json!({
        "offered": tally.offered,
        "delivered": tally.delivered,
        "dropped": tally.dropped,
        "lost": tally.lost,
        "marked": tally.marked,
        "under_way": tally.under_way,
        "refused": tally.refused,
        "foreign": tally.foreign,
        "delivered_bytes": tally.delivered_bytes,
        "gone_bytes": tally.gone_bytes,
        "late_ms": {
            "p50": ms(tally.lateness.quantile(0.5)),
            "p99": ms(tally.lateness.quantile(SHARE)),
            "max": ms(tally.lateness.max()),
        },
    })
}

fn ms(time: Nanos) -> f64 {
    time as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn carried(late: &[Nanos], refused: u64) -> Carried {
        let mut uplink = Tally { refused, ..Tally::default() };
        late.iter().for_each(|&late| uplink.lateness.record(late));
        Carried { uplink, downlink: Tally::default(), duration: 1 }
    }

    #[test]
    fn a_run_whose_99th_percentile_is_late_is_not_valid_and_says_so_twice() {
        let mut late = [MS / 10; 100];
        late[0] = 50 * MS;
        assert_eq!(Report::of(carried(&late, 0), MS, 0).fault, None);
        late[1] = 50 * MS;
        let report = Report::of(carried(&late, 0), MS, 0);
        let verdict = "valid: no: packets left 50.000 ms late (99th percentile), the limit is 1 ms";
        assert_eq!(report.footer()[0], verdict);
        assert_eq!(report.json()["valid"], false);
    }

    #[test]
    fn a_packet_that_the_shell_never_saw_or_could_not_hand_over_makes_a_run_not_valid() {
        assert!(Report::of(carried(&[], 0), MS, 1).fault.unwrap().starts_with("1 packets never reached"));
        assert!(Report::of(carried(&[], 2), MS, 0).fault.unwrap().starts_with("2 packets could not"));
    }
}
