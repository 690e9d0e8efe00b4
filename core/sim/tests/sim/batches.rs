//! Batches and policies: a simulation depends neither on the others nor on the number of threads.

use crate::arrays::{Arrays, field, settings};
use crate::support::{INTERVAL, MS, assert_conserved, parse, policies, run_many, simulation, text};
use leo_control::{AgentSpec, Reward};
use leo_sim::{Batch, BatchSettings, Interrupted, RUN_ON, TraceSet, Unbuilt};
use serde_json::{Value, json};

const SLOTS: usize = 3;
const SPEC: AgentSpec = AgentSpec::ASTRAEA;

fn arrays(size: usize, threads: usize) -> Arrays {
    let settings = BatchSettings { threads, ..settings(SLOTS, SPEC, Reward::Astraea, INTERVAL) };
    Arrays::new(Batch::new(size, settings))
}

/// Three learning flows (the second starts late, the third stops early) and a classic flow.
fn scenario(seed: u64) -> Value {
    json!({
        "duration_s": 2.0,
        "seed": seed,
        "links": {"b": {"rate_mbps": 20.0 + seed as f64, "delay_ms": 10, "loss": 0.001, "queue": {"bdp": 2.0}}},
        "flows": [
            {"scheme": "agent", "route": ["b"]},
            {"scheme": "cubic", "route": ["b"], "start_s": 0.2},
            {"scheme": "agent", "route": ["b"], "start_s": 0.7},
            {"scheme": "agent", "route": ["b"], "start_s": 0.1, "stop_s": 1.0},
        ],
    })
}

fn action(seed: u64, slot: usize, step: usize) -> f32 {
    ((seed as usize * 7 + slot * 3 + step) % 9) as f32 / 4.0 - 1.0
}

#[test]
fn a_batch_of_one_does_what_each_row_of_a_large_batch_does() {
    let seeds = [3, 1, 4, 1, 5];
    for threads in [1, 2] {
        let mut many = arrays(seeds.len(), threads);
        let mut singles: Vec<Arrays> = seeds.iter().map(|_| arrays(1, 1)).collect();
        for (index, seed) in seeds.into_iter().enumerate() {
            many.reset(index, &parse(&scenario(seed))).expect("it can be built");
            singles[index].reset(0, &parse(&scenario(seed))).expect("it can be built");
        }
        for step in 0..80 {
            for (index, single) in singles.iter().enumerate() {
                assert_eq!(many.row(index), single.row(0), "row {index}, step {step}, {threads} threads");
            }
            many.step(|row, slot| action(seeds[row], slot, step));
            for (single, seed) in singles.iter_mut().zip(seeds) {
                single.step(|_, slot| action(seed, slot, step));
            }
        }
        assert!(many.finished.iter().all(|&finished| finished));
        assert_eq!(many.row(1), many.row(3), "equal seeds");
        assert_ne!(many.row(0), many.row(1), "different seeds");
        for (index, single) in singles.iter_mut().enumerate() {
            let log = many.batch.run_log(index).expect("it was reset");
            assert_conserved(&log);
            assert_eq!(text(&log), text(&single.batch.run_log(0).expect("it was reset")));
        }
    }
}

#[test]
fn a_clone_and_a_replay_of_the_actions_go_on_like_the_original() {
    let seeds = [3, 1];
    let mut original = arrays(seeds.len(), 2);
    for (index, seed) in seeds.into_iter().enumerate() {
        original.reset(index, &parse(&scenario(seed))).expect("it can be built");
    }
    for step in 0..80 {
        let mut copy = original.clone();
        let mut replay = arrays(1, 1);
        replay.reset(0, &parse(&scenario(seeds[1]))).expect("it can be built");
        let actions = original.batch.actions(1).expect("it was reset").to_vec();
        assert_eq!(actions.len(), step.min(66) * SLOTS, "a step after the end is none of its actions");
        let (batch, view) = replay.split();
        batch.replay(0, &actions, view, RUN_ON).expect("nobody stops it");
        for arrays in [&mut copy, &mut original] {
            arrays.step(|row, slot| action(seeds[row], slot, step));
        }
        replay.step(|_, slot| action(seeds[1], slot, step));
        for index in 0..seeds.len() {
            assert_eq!(copy.row(index), original.row(index), "row {index}, step {step}");
        }
        assert_eq!(replay.row(0), original.row(1), "step {step}");
    }
    assert!(original.finished.iter().all(|&finished| finished));
}

#[test]
fn flows_become_active_when_they_join_and_inactive_when_they_leave() {
    let mut arrays = arrays(1, 1);
    arrays.reset(0, &parse(&scenario(1))).expect("it can be built");
    assert_eq!(arrays.rewards, [0.0; SLOTS], "nobody has acted yet");
    let mut acted = arrays.active(0).to_vec();
    let mut last = 0.0;
    while !arrays.finished[0] {
        arrays.step(|_, _| 0.5);
        let now = arrays.time_s[0];
        assert!(now > last, "time goes on");
        last = now;
        // A flow is active from the first interval end after its start to the last before its stop.
        let runs = |start: f64, stop: f64| now > start + 0.001 && now < stop;
        assert_eq!(arrays.active(0), [runs(0.0, 2.0), runs(0.7, 2.0), runs(0.1, 1.0)], "at {now} s");
        for (slot, (&reward, &acted)) in arrays.rewards.iter().zip(&acted).enumerate() {
            assert_eq!(reward != 0.0, acted, "slot {slot} at {now} s: only those that acted are rewarded");
        }
        assert!(arrays.observations.iter().all(|value| value.is_finite()));
        acted = arrays.active(0).to_vec();
    }
    assert_eq!(last, 2.0);
    assert_eq!(arrays.active(0), [false; SLOTS]);
    // After the end, a step only resets the rewards.
    let row = arrays.row(0);
    arrays.step(|_, _| 1.0);
    assert_eq!((arrays.row(0).1, arrays.row(0).2), (row.1, row.2));
    assert_eq!(arrays.rewards, [0.0; SLOTS]);
}

#[test]
fn a_batch_is_finished_when_the_last_learning_flow_has_left() {
    let mut scenario = scenario(1);
    scenario["flows"] = json!([
        {"scheme": "cubic", "route": ["b"]},
        {"scheme": "agent", "route": ["b"], "start_s": 0.5, "stop_s": 0.8},
        {"scheme": "agent", "route": ["b"], "start_s": 1.2, "stop_s": 1.5},
    ]);
    let mut arrays = arrays(1, 1);
    arrays.reset(0, &parse(&scenario)).expect("it can be built");
    assert!(
        (arrays.time_s[0] - 0.51).abs() < 1e-9,
        "it begins with the first learning flow: {}",
        arrays.time_s[0]
    );
    let mut times = vec![arrays.time_s[0]];
    while !arrays.finished[0] {
        arrays.step(|_, _| 0.0);
        times.push(arrays.time_s[0]);
    }
    let gap = times.windows(2).find(|pair| pair[1] - pair[0] > 0.05).expect("nobody runs for a while");
    assert!(gap[0] < 0.8 && gap[1] > 1.2, "{gap:?}");
    assert!((times[times.len() - 1] - 1.5).abs() < 1e-9, "{times:?}");
}

#[test]
fn a_reset_leaves_nothing_of_the_simulation_before() {
    let mut fresh = arrays(1, 1);
    let mut used = arrays(1, 1);
    used.reset(0, &parse(&scenario(2))).expect("it can be built");
    for _ in 0..30 {
        used.step(|_, _| 1.0);
    }
    // One learning flow instead of three.
    let mut next = scenario(7);
    next["flows"] = json!([{"scheme": "agent", "route": ["b"]}]);
    for arrays in [&mut fresh, &mut used] {
        arrays.reset(0, &parse(&next)).expect("it can be built");
        arrays.step(|_, _| 0.25);
    }
    assert_eq!(fresh.row(0), used.row(0));
    assert!(
        fresh.observations[SPEC.observation_dim()..].iter().all(|&value| value == 0.0),
        "unused slots are zero"
    );
}

#[test]
fn a_scenario_that_does_not_suit_the_batch_is_refused_in_one_line() {
    let mut arrays = arrays(1, 1);
    let mut none = scenario(1);
    none["flows"] = json!([{"scheme": "cubic", "route": ["b"]}]);
    let error = arrays.reset(0, &parse(&none)).expect_err("nobody learns");
    assert_eq!(error, r#"scenario: flows: at least one flow needs the scheme "agent""#);
    none["flows"] = json!([{"scheme": "agent", "route": ["b"], "count": 4}]);
    let error = arrays.reset(0, &parse(&none)).expect_err("there are three slots");
    assert_eq!(error, r#"scenario: flows: at most 3 flows of the scheme "agent""#);
}

#[test]
fn an_action_moves_the_window_and_the_sender_obeys() {
    let run = |action: f32| {
        let mut scenario = scenario(1);
        scenario["flows"] = json!([{"scheme": "agent", "route": ["b"]}]);
        let mut arrays = arrays(1, 1);
        arrays.reset(0, &parse(&scenario)).expect("it can be built");
        for _ in 0..40 {
            arrays.step(|_, _| action);
        }
        let sent = arrays.batch.run_log(0).expect("it was reset").flows[0].sent_packets;
        (arrays.reports[field("cwnd_packets")], sent)
    };
    let (up, keep, down) = (run(1.0), run(0.0), run(-1.0));
    assert_eq!(keep.0, 10.0);
    // Up: 40 times ⌈1.025 cwnd⌉ from 10 packets. Down: the minimum of 4.
    assert_eq!((up.0, down.0), ((0..40).fold(10.0, |cwnd: f64, _| (cwnd * 1.025).ceil()), 4.0));
    assert!(up.1 > keep.1 && keep.1 > down.1, "{up:?} {keep:?} {down:?}");
}

#[test]
fn a_policys_flow_gives_the_same_bytes_on_any_number_of_threads() {
    let scenario = |seed: u64| {
        json!({
            "duration_s": 5.0,
            "seed": seed,
            "links": {"b": {"rate_mbps": 30, "delay_ms": 15, "queue": {"bdp": 1.0}}},
            "flows": [
                {"scheme": "policy", "route": ["b"]},
                {"scheme": "policy", "route": ["b"], "start_s": 1.0},
                {"scheme": "cubic", "route": ["b"], "start_s": 2.0},
            ],
        })
    };
    let logs = |threads| {
        let simulations =
            (0..6).map(|seed| simulation(&scenario(seed), &TraceSet::new(), 100 * MS)).collect();
        run_many(simulations, threads)
    };
    let expected = logs(1);
    for threads in [0, 2, 3] {
        assert!(logs(threads).iter().map(text).eq(expected.iter().map(text)), "{threads} threads");
    }
    let series = &expected[0].flow_series;
    let windows = series.cwnd_packets.iter().zip(&series.flow).filter(|(_, flow)| **flow == 0);
    let windows: std::collections::BTreeSet<u32> = windows.map(|(&cwnd, _)| cwnd).collect();
    assert!(windows.len() > 2, "the policy moves the window: {windows:?}");
    assert!(series.pacing_mbps.iter().any(|rate| rate.is_finite()), "and paces");
}

#[test]
fn a_batch_knows_which_simulations_a_stop_left_within_a_step() {
    // The learning flow starts just before the first interval ends; the next one has 25 million events.
    let mut long = scenario(1);
    long["duration_s"] = json!(10_000);
    long["flows"] = json!([{"scheme": "agent", "route": ["b"], "start_s": 999.9}]);
    let long = parse(&long);
    for threads in [1, 2] {
        let mut arrays = arrays(2, threads);
        let interval = 1_000_000 * MS;
        arrays.batch = Batch::new(2, BatchSettings { interval, ..arrays.batch.settings().clone() });
        let (batch, view) = arrays.split();
        let stopped = batch.reset(0, &long, &TraceSet::new(), &policies(), view, &|| true);
        assert_eq!(stopped, Err(Unbuilt::Interrupted(Interrupted)));
        assert!(arrays.batch.run_log(0).is_none());
        for index in 0..2 {
            arrays.reset(index, &long).expect("it can be built");
        }
        assert_eq!(arrays.batch.interrupted(), None);
        let actions = vec![0.0; 2 * SLOTS * SPEC.action_dim()];
        let (batch, view) = arrays.split();
        assert_eq!(batch.step(&actions, view, &|| true), Err(Interrupted));
        assert_eq!(arrays.batch.interrupted(), Some(0));
        arrays.reset(0, &long).expect("it can be built");
        assert_eq!(arrays.batch.interrupted(), Some(1));
        arrays.reset(1, &long).expect("it can be built");
        assert_eq!(arrays.batch.interrupted(), None);
        let (batch, view) = arrays.split();
        assert_eq!(batch.replay(1, &actions[..SLOTS * SPEC.action_dim()], view, &|| true), Err(Interrupted));
        assert_eq!(arrays.batch.interrupted(), Some(1));
    }
}

#[test]
fn a_flows_path_has_the_capacity_and_base_rtt_of_its_links_and_access() {
    let mut scenario = scenario(1);
    scenario["flows"][2]["extra_delay_ms"] = json!(4);
    let mut arrays = arrays(1, 1);
    arrays.reset(0, &parse(&scenario)).expect("it can be built");
    assert_eq!(arrays.paths, [21.0, 20.0, 21.0, 28.0, 21.0, 20.0]);
}
