//! Sage's rewards: R1 for a flow that is alone, R2 for one that shares the link.
//!
//! ```text
//! R1 = ±25 ((d - 2 l) / C)² · max(ρ, [ρ ≥ 0.8]),   minus where d < 2 l;   d > C counts as 0.9 C
//! R2 = 25 exp(-8 (x - 1)²),   x = min(2, d / (0.95 C / n))
//! ```
//!
//! d and l are the delivered and lost rates over the last 100 intervals with a delivery, C is the link's
//! current rate, all in Mbit/s. ρ is minimum RTT / smoothed RTT, and n is the number of flows on the link.
//!
//! Source: Sage (Yen et al., SIGCOMM 2023), section 4, and the released server's reward calculation, which
//! chooses by the number of flows. As there, d and l count payload and C counts whole packets.
//!
//! Our choices: C is the bottleneck's rate at the interval's end. Without a rate both rewards are 0. R1 is at
//! least -25; the released server has no limit on a path that is nearly down.

use crate::report::ratio;
use crate::{FlowState, World};

const SCALE: f64 = 25.0;
const LOSS_WEIGHT: f64 = 2.0;
/// RTTs up to 1/0.8 of the smallest cost nothing.
const RTT_RATIO_ENOUGH: f64 = 0.8;
/// Factor for rates above the link's, which remain from before the link slowed down.
const ABOVE_CAPACITY: f64 = 0.9;
/// Payload share of the link's rate, as the authors measured it.
const PAYLOAD_SHARE: f64 = 0.95;

/// Compute the reward of a flow's interval: R1 if alone, else R2.
pub(super) fn reward(world: &World, flow: &FlowState) -> f64 {
    if flow.flows_on_path > 1 { friendly(world, flow) } else { alone(world, flow) }
}

/// R1.
pub(super) fn alone(world: &World, flow: &FlowState) -> f64 {
    let capacity_mbps = capacity_mbps(world);
    let (delivered, lost) = (flow.rates().delivered_mbps(), LOSS_WEIGHT * flow.rates().lost_mbps());
    let sign = if delivered < lost { -1.0 } else { 1.0 };
    let delivered = if delivered > capacity_mbps { ABOVE_CAPACITY * capacity_mbps } else { delivered };
    let share = ratio(delivered - lost, capacity_mbps);
    let rtt_ratio = ratio(f64::from(flow.report.min_rtt_us), f64::from(flow.report.srtt_us));
    let delay = if rtt_ratio >= RTT_RATIO_ENOUGH { 1.0 } else { rtt_ratio };
    (sign * SCALE * share * share * delay).max(-SCALE)
}

/// R2.
pub(super) fn friendly(world: &World, flow: &FlowState) -> f64 {
    let fair_mbps = PAYLOAD_SHARE * capacity_mbps(world) / f64::from(flow.flows_on_path.max(1));
    if fair_mbps <= 0.0 {
        return 0.0;
    }
    let x = (flow.rates().delivered_mbps() / fair_mbps).min(2.0);
    // A normal density with mean 1 and deviation 1/4, scaled to a maximum of 25.
    SCALE * libm::exp(-8.0 * (x - 1.0) * (x - 1.0))
}

fn capacity_mbps(world: &World) -> f64 {
    world.capacity_bytes_per_s * 8.0 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Report;

    /// 48 Mbit/s.
    const WORLD: World = World { capacity_bytes_per_s: 6e6, base_rtt_ns: 40_000_000, buffer_bytes: 240_000 };

    /// A flow that delivers and loses these rates at this RTT; the base RTT is 40 ms.
    fn flow(delivered_mbps: u64, lost_mbps: u64, srtt_ms: u32) -> FlowState {
        let mut flow = FlowState::new(0);
        flow.observe(&Report {
            interval_ns: 10_000_000,
            delivered_bytes: delivered_mbps * 1_250,
            lost_bytes: lost_mbps * 1_250,
            min_rtt_us: 40_000,
            srtt_us: 1_000 * srtt_ms,
            ..Report::default()
        });
        flow
    }

    #[track_caller]
    fn check(got: f64, expected: f64) {
        assert!((got - expected).abs() < 1e-9, "{got} is not {expected}");
    }

    #[test]
    fn a_full_link_without_a_queue_earns_25_and_half_of_it_a_quarter() {
        check(alone(&WORLD, &flow(48, 0, 40)), 25.0);
        check(alone(&WORLD, &flow(24, 0, 40)), 6.25);
    }

    #[test]
    fn a_queue_of_a_quarter_rtt_is_free_and_a_longer_one_costs_in_proportion() {
        check(alone(&WORLD, &flow(48, 0, 50)), 25.0);
        check(alone(&WORLD, &flow(48, 0, 80)), 12.5);
    }

    #[test]
    fn a_lost_byte_costs_two_delivered_ones_and_beyond_them_the_sign() {
        check(alone(&WORLD, &flow(36, 6, 40)), 6.25);
        check(alone(&WORLD, &flow(24, 24, 40)), -6.25);
        check(alone(&WORLD, &flow(1, 48, 40)), -25.0);
    }

    #[test]
    fn a_rate_above_the_links_counts_as_nine_tenths() {
        check(alone(&WORLD, &flow(96, 0, 40)), 25.0 * 0.81);
    }

    #[test]
    fn beside_others_the_fair_share_earns_25_and_deviating_costs() {
        let share = |delivered_mbps| {
            let mut flow = flow(delivered_mbps, 0, 40);
            flow.flows_on_path = 2;
            reward(&World { capacity_bytes_per_s: 20e6 / 0.95, ..WORLD }, &flow)
        };
        // The fair share is 80 Mbit/s.
        check(share(80), 25.0);
        check(share(60), 25.0 * (-0.5f64).exp());
        check(share(100), 25.0 * (-0.5f64).exp());
        check(share(160), 25.0 * (-8.0f64).exp());
        check(share(400), share(160));
    }

    #[test]
    fn the_number_of_flows_decides_which_reward_it_is() {
        let mut flow = flow(24, 0, 40);
        check(reward(&WORLD, &flow), alone(&WORLD, &flow));
        flow.flows_on_path = 2;
        check(reward(&WORLD, &flow), friendly(&WORLD, &flow));
        assert!(friendly(&WORLD, &flow) > 24.0 && alone(&WORLD, &flow) < 7.0);
    }

    #[test]
    fn a_link_without_a_rate_earns_nothing() {
        let nothing = World::default();
        check(alone(&nothing, &flow(48, 0, 40)), 0.0);
        check(friendly(&nothing, &flow(48, 0, 40)), 0.0);
    }
}
