//! Aurora's reward.
//!
//! ```text
//! R = 0.001 (10 throughput - 1000 latency - 2000 loss)     [packets/s, s, share of packets]
//! ```
//!
//! Source: Aurora (Jay et al., ICML 2019), section 3.1, times 0.001 as in the released simulator. Packets
//! there have 1,500 bytes, here a payload of one MSS.
//!
//! Our choice: without an RTT sample the smoothed RTT counts. The simulator's 0 rewards sending nothing.

use crate::Report;
use crate::report::ratio;

const THROUGHPUT: f64 = 10.0;
const LATENCY: f64 = 1e3;
const LOSS: f64 = 2e3;
const SCALE: f64 = 1e-3;

/// Compute the reward of a flow's interval.
pub(super) fn reward(report: &Report) -> f64 {
    let packets = ratio(report.delivered_bytes as f64, f64::from(report.mss));
    let packets_per_s = ratio(packets * 1e9, report.interval_ns as f64);
    let latency_s = f64::from(report.latency_us()) / 1e6;
    let loss = ratio(report.lost_bytes as f64, report.lost_bytes as f64 + report.delivered_bytes as f64);
    SCALE * (THROUGHPUT * packets_per_s - LATENCY * latency_s - LOSS * loss)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 300 packets a second at 200 ms.
    fn report() -> Report {
        Report {
            interval_ns: 100_000_000,
            delivered_bytes: 30_000,
            avg_rtt_us: 200_000,
            mss: 1_000,
            ..Report::default()
        }
    }

    fn check(report: &Report, expected: f64) {
        let got = reward(report);
        assert!((got - expected).abs() < 1e-12, "{got} is not {expected}");
    }

    #[test]
    fn a_hundred_packets_a_second_are_worth_a_second_of_latency() {
        check(&report(), 3.0 - 0.2);
        check(&Report { avg_rtt_us: 1_200_000, ..report() }, 3.0 - 1.2);
        check(&Report { delivered_bytes: 20_000, ..report() }, 2.0 - 0.2);
    }

    #[test]
    fn a_lost_tenth_costs_a_fifth() {
        check(&Report { delivered_bytes: 27_000, lost_bytes: 3_000, ..report() }, 2.7 - 0.2 - 0.2);
    }

    #[test]
    fn silence_has_the_latency_that_was_seen_last() {
        check(&Report { avg_rtt_us: 0, srtt_us: 500_000, delivered_bytes: 0, ..report() }, -0.5);
    }
}
