//! An earlier reward of Astraea's authors, from their Spine release (CoNEXT 2022).
//!
//! ```text
//! owd  = one-way propagation of the path, in ms: half of the round trip's
//! q    = mean over flows with a queue of (rtt_i - 2 (extra_i + owd)), in ms
//! m1   = Σ pacing_i · max(q - 0.3 owd, 0) / (capacity · owd · sqrt(n))
//! m2   = min(Σ thr_i / capacity, 1)
//! m4   = (1 - stability) · m2
//! m5   = mean(loss_i / pacing_i)
//! R    = -0.02 m1 + 0.1 m2 + 0.01 m4 - 1.0 m5,  at least -0.5
//! ```
//!
//! `stability` is the mean over flows of their window's standard deviation over w intervals / 100 packets. It
//! is 1 (no bonus) when it is above 1 or when fairness is below 0.96. Fairness is `1 - std(thr) / Σ thr`, at
//! least 0.5, and 1 for a single flow. Like the release, we do not add its term `m3`. Its `-0.001 · trigger`
//! belongs to Spine's gate and has no meaning for Astraea.
//!
//! Our choices where the formula is undefined: w = 5 intervals; m5 counts at most 1 per flow; the smoothed
//! RTT replaces a missing sample; m1 is 0 without propagation or capacity.

use super::{lost_share, mean, standard_deviation, utilisation};
use crate::report::ratio;
use crate::{FlowState, World};

const DELAY: f64 = 0.02;
const UTILISATION: f64 = 0.1;
const STABILITY: f64 = 0.01;
const LOSS: f64 = 1.0;
const FLOOR: f64 = -0.5;
const FREE_QUEUE: f64 = 0.3;
const FAIR_ENOUGH: f64 = 0.96;

/// Compute the reward of an interval; `flows` must not be empty.
pub(super) fn reward<'a>(world: &World, flows: impl Iterator<Item = &'a FlowState> + Clone) -> f64 {
    let n = flows.clone().count() as f64;
    let owd_us = world.base_delay_ns() / 1e3;
    let throughput = flows.clone().map(|flow| flow.report.avg_throughput as f64);
    let sum: f64 = throughput.clone().sum();
    let utilisation = utilisation(world, flows.clone());

    let queueing_us = flows
        .clone()
        .map(|flow| f64::from(flow.report.latency_us()) - world.base_rtt_us(flow.extra_delay_ns))
        .filter(|queueing_us| *queueing_us > 0.0);
    let excess_us = (mean(queueing_us) - FREE_QUEUE * owd_us).max(0.0);
    let pacing: f64 = flows.clone().map(|flow| flow.report.sending_rate_bytes_per_s()).sum();
    let delay = ratio(pacing, world.capacity_bytes_per_s) * ratio(excess_us, owd_us) / n.sqrt();

    let fairness = if n > 1.0 { (1.0 - ratio(standard_deviation(throughput), sum)).max(0.5) } else { 1.0 };
    let deviation = mean(
        flows.clone().map(|flow| standard_deviation(flow.recent_cwnd_packets().iter().copied()) / 100.0),
    );
    let instability = if deviation > 1.0 || fairness < FAIR_ENOUGH { 1.0 } else { deviation };

    let loss =
        mean(flows.map(|flow| {
            lost_share(flow.report.loss_rate_bytes_per_s(), flow.report.sending_rate_bytes_per_s())
        }));

    let total = -DELAY * delay + UTILISATION * utilisation + STABILITY * (1.0 - instability) * utilisation
        - LOSS * loss;
    total.max(FLOOR)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, WORLD, assert_near};
    use super::*;
    use crate::Report;

    fn flow(cwnd: &[u32], report: Report) -> FlowState {
        testing::flow(cwnd.iter().map(|&cwnd| Report { cwnd, ..report }))
    }

    fn full() -> Report {
        Report {
            avg_throughput: 12_500_000,
            pacing_rate: 12_500_000,
            avg_rtt_us: 30_000,
            ..Report::default()
        }
    }

    #[track_caller]
    fn check(flows: &[FlowState], expected: f64) {
        assert_near(reward(&WORLD, flows.iter()), expected);
    }

    #[test]
    fn a_full_steady_link_earns_utilisation_and_stability() {
        check(&[flow(&[250; 5], full())], 0.11);
    }

    #[test]
    fn samples_above_the_capacity_count_as_the_capacity() {
        check(&[flow(&[250; 5], Report { avg_throughput: 15_000_000, ..full() })], 0.11);
    }

    #[test]
    fn a_window_that_swings_loses_its_stability_bonus() {
        // Windows 230 and 270: deviation 20 packets.
        check(&[flow(&[230, 270, 230, 270], full())], 0.1 + 0.01 * 0.8);
        check(&[flow(&[50, 450, 50, 450], full())], 0.1);
    }

    #[test]
    fn a_queue_costs_from_three_tenths_of_the_one_way_delay_on() {
        let queued = |avg_rtt_us| [flow(&[250; 5], Report { avg_rtt_us, ..full() })];
        check(&queued(34_500), 0.11);
        // 15 ms of queue beyond the free 4.5 ms are one one-way delay.
        check(&queued(49_500), 0.11 - 0.02);
    }

    #[test]
    fn only_flows_with_a_queue_enter_the_mean_queue() {
        let half = Report { avg_throughput: 6_250_000, pacing_rate: 6_250_000, avg_rtt_us: 49_500, ..full() };
        let empty = Report { avg_rtt_us: 30_000, ..half };
        let flows = [flow(&[125; 5], half), flow(&[125; 5], empty)];
        check(&flows, 0.11 - 0.02 / 2f64.sqrt());
    }

    #[test]
    fn an_unfair_share_loses_the_stability_bonus() {
        let share = |avg_throughput| {
            flow(&[125; 5], Report { avg_throughput, pacing_rate: avg_throughput, ..full() })
        };
        check(&[share(6_250_000), share(6_250_000)], 0.11);
        // Deviation 0.625 of 12.5 MB/s: fairness 0.95.
        check(&[share(6_875_000), share(5_625_000)], 0.1);
    }

    #[test]
    fn losses_are_a_share_of_the_pacing_rate_and_the_sum_has_a_floor() {
        check(&[flow(&[250; 5], Report { lost_bytes: 18_750, ..full() })], 0.11 - 0.05);
        check(&[flow(&[250; 5], Report { lost_bytes: 3_750_000, ..full() })], -0.5);
    }
}
