//! Orca's reward, a variant of a flow's power.
//!
//! ```text
//! R = (thr - 5 loss) / max thr · min(1, 1.25 · min RTT / smoothed RTT)
//! ```
//!
//! Source: Orca (Abbasloo et al., SIGCOMM 2020), equations 2 and 3, with ζ = 5 and β = 1.25 as released.
//! Throughput and loss are in bytes/s.
//!
//! Our choice: at least -5, the reward of a flow that loses all it ever delivered. Otherwise a first burst
//! into an outage would outweigh hours.

use crate::Report;
use crate::features::orca::{LOSS_WEIGHT, delay_metric};
use crate::report::ratio;

const FLOOR: f64 = -5.0;

/// Compute the reward of a flow's interval.
pub(super) fn reward(report: &Report) -> f64 {
    let worth = report.avg_throughput as f64 - LOSS_WEIGHT * report.loss_rate_bytes_per_s();
    (ratio(worth, report.max_throughput as f64) * delay_metric(report)).max(FLOOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Report {
        Report {
            interval_ns: 20_000_000,
            avg_throughput: 10_000_000,
            max_throughput: 10_000_000,
            min_rtt_us: 40_000,
            srtt_us: 50_000,
            ..Report::default()
        }
    }

    #[test]
    fn a_full_link_with_a_quarter_rtt_of_queue_earns_1() {
        assert_eq!(reward(&full()), 1.0);
        assert_eq!(reward(&Report { avg_throughput: 4_000_000, ..full() }), 0.4);
    }

    #[test]
    fn a_longer_queue_costs_in_proportion() {
        assert_eq!(reward(&Report { srtt_us: 100_000, ..full() }), 0.5);
    }

    #[test]
    fn a_lost_byte_costs_five_delivered_ones() {
        // 20,000 B in 20 ms are 1 MB/s.
        assert_eq!(reward(&Report { lost_bytes: 20_000, ..full() }), 0.5);
        assert_eq!(reward(&Report { lost_bytes: 1 << 40, ..full() }), FLOOR);
    }

    #[test]
    fn a_flow_that_never_delivered_earns_nothing() {
        assert_eq!(reward(&Report { lost_bytes: 5, ..Report::default() }), 0.0);
    }
}
