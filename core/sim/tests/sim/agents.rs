//! Agents with an underlying scheme (Orca), intervals of RTT/2 (Aurora) or individual rewards.

use crate::support::{MS, parse, policies};
use leo_control::{AgentSpec, GLOBAL_DIM, Report, Reward};
use leo_sim::{Batch, BatchSettings, PATH_FIELDS, RUN_ON, TraceSet, View};
use serde_json::{Value, json};

/// Two flows that start together and may learn.
fn scenario(schemes: [&str; 2]) -> Value {
    json!({
        "duration_s": 4.0,
        "links": {"b": {"rate_mbps": 12, "delay_ms": 20, "queue": {"bdp": 2.0}}},
        "flows": [
            {"scheme": schemes[0], "route": ["b"]},
            {"scheme": schemes[1], "route": ["b"], "start_s": 0.5},
        ],
    })
}

/// Run with constant actions per slot; return reports and rewards of every step.
fn run(spec: AgentSpec, reward: Reward, actions: [f32; 2]) -> Vec<([Vec<f64>; 2], [f32; 2])> {
    let settings = BatchSettings {
        slots: 2,
        spec,
        reward,
        interval: 20 * MS,
        series_interval: 0,
        threads: 1,
        normalize_observations: false,
        known_ranges: None,
    };
    let mut batch = Batch::new(1, settings);
    let mut observations = vec![0.0; 2 * spec.observation_dim()];
    let (mut rewards, mut global_states) = ([0.0; 2], [0.0; GLOBAL_DIM]);
    let (mut active, mut finished, mut time_s) = ([false; 2], [false], [0.0]);
    let mut reports = vec![0.0; 2 * Report::FIELDS.len()];
    let mut paths = [0.0; 2 * PATH_FIELDS];
    let mut steps = Vec::new();
    let mut started = false;
    while !finished[0] {
        let view = View {
            observations: &mut observations,
            rewards: &mut rewards,
            global_states: &mut global_states,
            active: &mut active,
            finished: &mut finished,
            reports: &mut reports,
            paths: &mut paths,
            time_s: &mut time_s,
        };
        if started {
            batch.step(&actions, view, RUN_ON).expect("nobody stops it");
        } else {
            let scenario = parse(&scenario(["agent", "agent"]));
            batch.reset(0, &scenario, &TraceSet::new(), &policies(), view, RUN_ON).expect("it can be built");
            started = true;
        }
        let (first, second) = reports.split_at(Report::FIELDS.len());
        steps.push(([first.to_vec(), second.to_vec()], rewards));
    }
    steps
}

fn field(name: &str) -> usize {
    Report::FIELDS.iter().position(|field| *field == name).expect("it is reported")
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
