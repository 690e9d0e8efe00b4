//! The reward of Astraea's paper (EuroSys 2024), equations 4 to 8.
//!
//! ```text
//! R      = c0 R_thr - c1 R_lat - c2 R_loss - c3 R_fair - c4 R_stab,  clipped to [-0.1, 0.1]
//! R_thr  = Σ thr_i / capacity
//! R_lat  = max(mean lat_i - (1 + β) d0, 0) [s] · mean pacing_i [packets/s]
//! R_loss = mean(loss_i / thr_i)
//! R_fair = sqrt(Σ (t̄hr_i - mean t̄hr)² / (n (Σ t̄hr_i)²))
//! R_stab = mean_i sqrt(Σ_w (thr_i,t - t̄hr_i)² / (w t̄hr_i²))
//! ```
//!
//! From the literature: the form, w = 5 intervals, the clip, and the coefficients 0.1, 0.02, 1.0, 0.02, 0.01,
//! which public re-implementations cite from the authors' technical report. β is not published.
//!
//! Our choices:
//! - β = 0.5: a queue of half a base RTT costs nothing.
//! - d0 is the flows' mean base *RTT*. With the one-way delay, another possible reading, even an empty queue
//!   costs, and the optimum is to starve.
//! - `c1 R_lat` is capped at half of c0. R_lat counts packets, so the least bloat outweighs the 0.1 for full
//!   utilisation. Without the cap, an exploring agent finds the smallest window best.
//! - R_thr and R_loss are capped at 1: delivery-rate samples exceed the capacity when ACKs bunch up.
//! - Without an RTT sample a flow's smoothed RTT counts, so silence does not look like an empty queue.

use super::{instability, lost_share, mean, recent_throughput, standard_deviation, utilisation};
use crate::report::ratio;
use crate::{FlowState, World};

const THROUGHPUT: f64 = 0.1;
const LATENCY: f64 = 0.02;
const LOSS: f64 = 1.0;
const FAIRNESS: f64 = 0.02;
const STABILITY: f64 = 0.01;
const BETA: f64 = 0.5;
const CLIP: f64 = 0.1;
const LATENCY_CAP: f64 = 0.5 * THROUGHPUT / LATENCY;

/// Compute the reward of an interval; `flows` must not be empty.
pub(super) fn reward<'a>(world: &World, flows: impl Iterator<Item = &'a FlowState> + Clone) -> f64 {
    let total = THROUGHPUT * utilisation(world, flows.clone())
        - LATENCY * latency(world, flows.clone()).min(LATENCY_CAP)
        - LOSS * loss(flows.clone())
        - FAIRNESS * unfairness(flows.clone())
        - STABILITY * mean(flows.map(instability));
    total.clamp(-CLIP, CLIP)
}

/// Equation 5: packets of a mean flow that wait beyond (1 + β) base RTTs.
fn latency<'a>(world: &World, flows: impl Iterator<Item = &'a FlowState> + Clone) -> f64 {
    let excess_us = mean(flows.clone().map(|flow| {
        f64::from(flow.report.latency_us()) - (1.0 + BETA) * world.base_rtt_us(flow.extra_delay_ns)
    }));
    let packets_per_s =
        mean(flows.map(|flow| ratio(flow.report.sending_rate_bytes_per_s(), f64::from(flow.report.mss))));
    (excess_us / 1e6).max(0.0) * packets_per_s
}

/// Equation 6: mean share of lost bytes, at most 1 per flow.
fn loss<'a>(flows: impl Iterator<Item = &'a FlowState>) -> f64 {
    let share =
        |flow: &FlowState| lost_share(flow.report.loss_rate_bytes_per_s(), flow.report.avg_throughput as f64);
    mean(flows.map(share))
}

/// Equation 7: spread of the flows' throughput over w intervals; 0 when all are equal.
fn unfairness<'a>(flows: impl Iterator<Item = &'a FlowState> + Clone) -> f64 {
    let averages = flows.map(recent_throughput);
    ratio(standard_deviation(averages.clone()), averages.sum())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{WORLD, assert_near, flow_of};
    use super::*;
    use crate::Report;

    fn flow(throughput: &[u64], last: Report) -> FlowState {
        flow_of(throughput, Report { mss: 1_250, ..last })
    }

    #[track_caller]
    fn check(flows: &[FlowState], expected: f64) {
        assert_near(reward(&WORLD, flows.iter()), expected);
    }

    #[test]
    fn a_full_link_with_an_empty_queue_earns_the_most() {
        check(&[flow(&[12_500_000; 5], Report { avg_rtt_us: 30_000, ..Report::default() })], 0.1);
    }

    #[test]
    fn a_queue_of_half_a_base_rtt_is_free_and_beyond_it_packets_count() {
        let at = |avg_rtt_us| {
            [flow(&[12_500_000], Report { avg_rtt_us, pacing_rate: 1_250_000, ..Report::default() })]
        };
        check(&at(45_000), 0.1);
        // 1 ms beyond 1.5 base RTTs at 1,000 packets/s: one packet.
        check(&at(46_000), 0.1 - 0.02);
        // A full link earns more than an idle one, however long the queue.
        check(&at(400_000), 0.05);
    }

    #[test]
    fn samples_above_the_capacity_do_not_pay_for_a_queue() {
        let queued = Report { avg_rtt_us: 46_000, pacing_rate: 1_250_000, ..Report::default() };
        check(&[flow(&[15_000_000], queued)], 0.1 - 0.02);
    }

    #[test]
    fn the_base_rtt_of_a_flow_contains_its_own_extra_delay() {
        let mut far = FlowState::new(10_000_000);
        far.observe(&Report {
            interval_ns: 30_000_000,
            avg_throughput: 12_500_000,
            avg_rtt_us: 75_000,
            mss: 1_250,
            ..Report::default()
        });
        check(&[far], 0.1);
    }

    #[test]
    fn a_lost_share_costs_ten_times_its_share_of_throughput() {
        // 18,750 B lost in 30 ms are 5 % of 12.5 MB/s.
        check(&[flow(&[12_500_000], Report { lost_bytes: 18_750, ..Report::default() })], 0.1 - 0.05);
        check(&[flow(&[12_500_000], Report { lost_bytes: 375_000, ..Report::default() })], -0.1);
        check(&[flow(&[0], Report { lost_bytes: 1, ..Report::default() })], -0.1);
    }

    #[test]
    fn unequal_flows_earn_less_than_equal_ones() {
        let pair = |a, b| [flow(&[a; 5], Report::default()), flow(&[b; 5], Report::default())];
        check(&pair(6_250_000, 6_250_000), 0.1);
        // Means 10 and 2.5 MB/s: deviation 3.75 over the sum 12.5 is 0.3.
        check(&pair(10_000_000, 2_500_000), 0.1 - 0.02 * 0.3);
    }

    #[test]
    fn a_throughput_that_swings_earns_less_than_a_steady_one() {
        // Mean 10, deviations 2.5, -2.5, 2.5, -2.5, 0 MB/s: sqrt(25 / 5) / 10 of the mean; ends at 10 MB/s.
        let mega = 1_000_000;
        let swinging = [25 * mega / 2, 15 * mega / 2, 25 * mega / 2, 15 * mega / 2, 10 * mega];
        check(&[flow(&swinging, Report::default())], 0.08 - 0.01 * 5f64.sqrt() / 10.0);
    }

    #[test]
    fn an_interval_without_samples_is_judged_by_the_smoothed_rtt() {
        let silent = Report { avg_rtt_us: 0, srtt_us: 200_000, pacing_rate: 12_500_000, ..Report::default() };
        check(&[flow(&[0], silent)], -0.05);
    }
}
