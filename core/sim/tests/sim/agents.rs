//! Agents with an underlying scheme (Orca), intervals of RTT/2 (Aurora) or individual rewards.

use crate::arrays::{Arrays, field, settings};
use crate::support::{MS, dumbbell, parse};
use leo_control::{AgentSpec, Reward};
use leo_sim::Batch;
use serde_json::json;

/// Run two agents, of which the second joins after half a second, with constant actions; return reports and rewards of every
/// step.
fn run(spec: AgentSpec, reward: Reward, actions: [f32; 2]) -> Vec<([Vec<f64>; 2], [f32; 2])> {
    let mut scenario = dumbbell(12.0, 20.0, 4.0, &["agent", "agent"]);
    scenario["links"]["b"]["queue"] = json!({"bdp": 2.0});
    scenario["flows"][1]["start_s"] = json!(0.5);
    let mut arrays = Arrays::new(Batch::new(1, settings(2, spec, reward, 20 * MS)));
    arrays.reset(0, &parse(&scenario)).expect("it can be built");
    let mut steps = Vec::new();
    loop {
        let rewards = [arrays.rewards[0], arrays.rewards[1]];
        steps.push(([0, 1].map(|slot| arrays.report(slot)), rewards));
        if arrays.finished[0] {
            return steps;
        }
        arrays.step(|_, slot| actions[slot]);
    }
}

#[test]
fn cubic_beneath_an_agent_that_does_nothing_still_finds_the_links_rate() {
    let steps = run(AgentSpec::ORCA, Reward::Orca, [0.0, 0.0]);
    let half = &steps[steps.len() / 2..];
    let delivered: f64 =
        half.iter().flat_map(|(reports, _)| reports.iter()).map(|r| r[field("delivered_bytes")]).sum();
    let seconds = half.len() as f64 * 0.02;
    let share = delivered * 8.0 / seconds / (12e6 * 1_448.0 / 1_500.0);
    assert!(share > 0.9, "{share} of the link");
    let windows = half.iter().map(|(reports, _)| reports[0][field("cwnd_packets")]);
    assert!(windows.fold(0.0, f64::max) > 20.0);
}

#[test]
fn a_reward_of_a_flow_is_each_flows_own() {
    let steps = run(AgentSpec::ORCA, Reward::Orca, [0.2, -0.2]);
    let late = &steps[steps.len() - 50..];
    let means = [0, 1].map(|slot| late.iter().map(|(_, rewards)| rewards[slot]).sum::<f32>() / 50.0);
    assert!((means[0] - means[1]).abs() > 0.02, "{means:?}");
    let shared = run(AgentSpec::ORCA, Reward::by_name("power").expect("a term"), [0.2, -0.2]);
    assert!(
        shared[shared.len() - 50..].iter().all(|(_, rewards)| rewards[0].to_bits() == rewards[1].to_bits())
    );
}

#[test]
fn intervals_of_half_an_rtt_follow_the_first_flow_that_runs() {
    let steps = run(AgentSpec::AURORA, Reward::Aurora, [0.0, 0.0]);
    let (interval, rtt) = (field("interval_ns"), field("avg_rtt_us"));
    let mut checked = 0;
    for pair in steps[..steps.len() - 1].windows(2) {
        let [before, after] = [&pair[0].0[0], &pair[1].0[0]];
        if before[rtt] > 0.0 {
            assert_eq!(after[interval], (before[rtt] * 1_000.0 / 2.0).floor());
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked} intervals");
}
