//! Our reward: a flow's distance from its fair share of the link, its queue and its losses.
//!
//! ```text
//! R = -l² / (|l| + 1/4) - 0.2 (RTT / base RTT - 1) - 2 lost / delivered,   l = ln(d / (C / n))
//! ```
//!
//! d is the flow's rate over the last 5 intervals, C the link's payload rate, n the number of flows on the
//! link. Over all flows the optimum is C / n each with an empty queue, as for proportional fairness (Kelly,
//! Maulloo and Tan, 1998), for every n, including 1. Each flow earns for its own actions: a joint reward
//! would hide a 2.5 % step of one window behind the other flows' changes. Near the fair share l² makes small
//! distances cheap, so the queue decides. Far from it, a relative step of the window is worth the same.

use super::{delay, lost_bytes_share, recent_throughput};
use crate::report::ratio;
use crate::{FlowState, World};

/// Payload share of a packet with timestamps: the link's rate counts whole packets, a flow's rate payload.
const PAYLOAD_SHARE: f64 = 1448.0 / 1500.0;
/// The distance at which its cost turns from quadratic to linear.
const BEND: f64 = 0.25;
/// Least share of the fair one, so a flow that gets nothing has a finite cost.
const FLOOR: f64 = 0.03;
const DELAY: f64 = 0.2;
const LOSS: f64 = 2.0;

pub(super) fn reward(world: &World, flow: &FlowState) -> f64 {
    -wrong_share(world, flow) - DELAY * delay(world, flow) - LOSS * lost_bytes_share(flow)
}

fn wrong_share(world: &World, flow: &FlowState) -> f64 {
    let fair = PAYLOAD_SHARE * world.capacity_bytes_per_s / f64::from(flow.flows_on_path.max(1));
    let distance = ratio(recent_throughput(flow), fair).max(FLOOR).ln().abs();
    distance * distance / (distance + BEND)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{WORLD, flow_of};
    use super::*;
    use crate::Report;

    fn earns(share: f64, flows_on_path: u32, last: Report) -> f64 {
        let avg_throughput = (share * PAYLOAD_SHARE * 12.5e6 / f64::from(flows_on_path)).round() as u64;
        let mut flow = flow_of(&[avg_throughput; 5], last);
        flow.flows_on_path = flows_on_path;
        reward(&WORLD, &flow)
    }

    #[test]
    fn the_fair_share_without_a_queue_is_best_for_every_number_of_flows() {
        for flows in [1, 2, 5] {
            assert!(earns(1.0, flows, Report::default()).abs() < 1e-9);
            for share in [0.0, 0.5, 0.9, 1.1, 2.0] {
                assert!(earns(share, flows, Report::default()) < -0.01, "{share} of {flows}");
            }
        }
    }

    #[test]
    fn far_from_the_fair_share_a_step_is_worth_the_same_and_near_it_next_to_nothing() {
        let cost = |share| -earns(share, 2, Report::default());
        // ln 2 = 0.693: 0.4805 / 0.9431.
        assert!((cost(0.5) - 0.5094).abs() < 1e-4);
        assert!((cost(2.0) - 0.5094).abs() < 1e-4);
        assert!(cost(0.975) < 0.003);
        assert!(cost(0.2) - cost(0.2 * 1.025) > 0.02);
    }

    #[test]
    fn a_queue_and_losses_cost_their_own_flow() {
        let queued = Report { avg_rtt_us: 45_000, ..Report::default() };
        assert!((earns(1.0, 1, queued) + 0.1).abs() < 1e-6);
        let losing = Report { lost_bytes: 1_000, delivered_bytes: 10_000, ..Report::default() };
        assert!((earns(1.0, 1, losing) + 0.2).abs() < 1e-6);
    }
}
