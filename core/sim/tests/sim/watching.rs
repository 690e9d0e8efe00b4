//! Batches that watch classic schemes: observations and rewards of an agent in their place.

use crate::arrays::{Arrays, settings};
use crate::support::{MS, dumbbell, parse};
use leo_control::{AgentSpec, Reward};
use leo_sim::{Batch, BatchSettings};
use serde_json::json;

const SPEC: AgentSpec = AgentSpec::SAGE;
const DELIVERED: usize = 2;
const CWND: usize = 11;
const SSTHRESH: usize = 17;

/// Observation, reward and report of one interval.
type Row = (Vec<f32>, f32, Vec<f64>);

/// A simulation and the rows of its slots.
struct Watched {
    batch: Batch,
    rows: Vec<Vec<Row>>,
}

fn watch(scenario: &serde_json::Value, slots: usize, action: f32) -> Result<Watched, String> {
    run(scenario, slots, Some(0), |_| action)
}

/// Run a batch of one that watches schemes and holds this many of them, or has agents; `action` maps all rows so far to
/// actions.
fn run(
    scenario: &serde_json::Value,
    slots: usize,
    holds: Option<usize>,
    mut action: impl FnMut(&[Vec<Row>]) -> f32,
) -> Result<Watched, String> {
    let settings = settings(slots, SPEC, Reward::Sage, 10 * MS);
    let (watches, holds) = (holds.is_some(), holds.unwrap_or(0));
    let mut arrays = Arrays::new(Batch::new(1, BatchSettings { watches, holds, ..settings }));
    arrays.reset(0, &parse(scenario))?;
    let mut rows = vec![Vec::new(); slots];
    loop {
        for (slot, rows) in rows.iter_mut().enumerate() {
            let observation =
                arrays.observations.chunks(SPEC.observation_dim()).nth(slot).expect("it has a slot");
            rows.push((observation.to_vec(), arrays.rewards[slot], arrays.report(slot)));
        }
        if arrays.finished[0] {
            return Ok(Watched { batch: arrays.batch, rows });
        }
        let action = action(&rows);
        arrays.step(|_, _| action);
    }
}

#[test]
fn a_scheme_that_is_watched_does_what_it_does_unwatched_whatever_the_actions() {
    let scenario = dumbbell(24.0, 20.0, 4.0, &["cubic"]);
    let alone = crate::support::run(&scenario, 0);
    for action in [0.0, 1.0] {
        let mut watched = watch(&scenario, 1, action).unwrap();
        assert_eq!(watched.batch.run_log(0).unwrap().flows, alone.flows);
    }
}

#[test]
fn a_row_has_what_sage_would_have_seen_and_earned() {
    let watched = watch(&dumbbell(24.0, 20.0, 6.0, &["vegas"]), 1, 0.0).unwrap();
    let rows = &watched.rows[0];
    assert_eq!(rows.len(), 600);
    let (observation, reward, report) = &rows[599];
    // Vegas fills the link with almost no queue: 23.2 of 24 Mbit/s are payload, and R1 squares the share.
    assert!((observation[64] - 0.232).abs() < 0.005, "delivered: {} × 100 Mbit/s", observation[64]);
    assert!(observation[59] > 0.8, "minimum over smoothed RTT: {}", observation[59]);
    assert!((21.0..25.0).contains(reward), "{reward}");
    // The last entry is the window's change, in thousandths of an octave.
    let mut moves = 0;
    for pair in rows.windows(2) {
        let (before, after) = (pair[0].2[CWND], pair[1].2[CWND]);
        if pair[1].2[2] > 0.0 && pair[0].2[2] > 0.0 {
            let log2 = (1_000.0 * (after / before).log2()).round() / 1_000.0;
            assert!((f64::from(pair[1].0[68]) - log2).abs() < 1e-6);
            moves += usize::from(log2 != 0.0);
        }
    }
    assert!(moves > 5, "{moves} moves of the window");
    assert!(report[1] == 1e7 && report[0] == 6e9);
}

#[test]
fn flows_that_share_the_link_are_rewarded_for_their_fair_shares() {
    let watched = watch(&dumbbell(24.0, 20.0, 20.0, &["vegas", "cubic"]), 2, 0.0).unwrap();
    let mean = |slot: usize| {
        let rows = &watched.rows[slot];
        let half = &rows[rows.len() / 2..];
        half.iter().map(|row| f64::from(row.1)).sum::<f64>() / half.len() as f64
    };
    // CUBIC leaves little to Vegas and overfills the queue.
    assert!(mean(0) < 12.0 && mean(1) < 22.0, "{} and {}", mean(0), mean(1));
    let alone = watch(&dumbbell(24.0, 20.0, 6.0, &["cubic"]), 1, 0.0).unwrap();
    assert!(alone.rows[0].iter().map(|row| row.1).fold(0.0, f32::max) > 10.0);
}

#[test]
fn a_batch_that_watches_needs_a_classic_scheme_and_a_slot_for_each() {
    let error = |schemes: &[&str]| watch(&dumbbell(24.0, 20.0, 1.0, schemes), 1, 0.0).err().unwrap();
    assert!(error(&["agent"]).contains("flows: at least one flow needs the scheme \"a classic scheme\""));
    assert!(error(&["reno", "reno"]).contains("flows: at most 1 flows of the scheme \"a classic scheme\""));
    let mixed = json!({"scheme": "udp", "route": ["b"], "rate_mbps": 1.0});
    let mut scenario = dumbbell(24.0, 20.0, 1.0, &["reno"]);
    scenario["flows"].as_array_mut().unwrap().push(mixed);
    let watched = watch(&scenario, 1, 0.0).expect("a flow of datagrams needs no slot");
    assert_eq!(watched.rows[0].len(), 100);
}

#[test]
fn an_agent_that_does_what_a_held_scheme_did_sees_what_it_saw() {
    for scheme in ["cubic", "vegas", "bbr3"] {
        let scenario = |scheme: &str| dumbbell(24.0, 20.0, 8.0, &[scheme]);
        let held = run(&scenario(scheme), 1, Some(1), |_| 0.0).unwrap();
        let windows: Vec<f64> = held.rows[0].iter().map(|row| row.2[CWND]).collect();
        let mut exact = 10.0_f64;
        let agent = run(&scenario("agent"), 1, None, |rows| {
            // The largest exponent in thousandths whose window does not exceed the scheme's rounded one.
            let log2 = (1_000.0 * (windows[rows[0].len()] / exact).log2()).floor() / 1_000.0;
            exact *= log2.exp2();
            (log2 / 2.0) as f32
        })
        .unwrap();
        assert_eq!(held.rows[0].len(), agent.rows[0].len());
        for (interval, (by_scheme, by_agent)) in held.rows[0].iter().zip(&agent.rows[0]).enumerate() {
            // All fields except the slow-start threshold, which agents do not have.
            let reported = |row: &Row| [&row.2[..SSTHRESH], &row.2[SSTHRESH + 1..]].concat();
            assert_eq!(reported(by_scheme), reported(by_agent), "report {interval} of {scheme}");
            // All signals except the previous action: the agent's comes from fractional windows.
            assert_eq!(by_scheme.0[..68], by_agent.0[..68], "signals {interval} of {scheme}");
            assert_eq!(by_scheme.1.to_bits(), by_agent.1.to_bits(), "reward {interval} of {scheme}");
        }
    }
}

#[test]
fn who_competes_with_a_held_scheme_is_not_held() {
    let scenario = dumbbell(24.0, 20.0, 1.0, &["cubic", "cubic"]);
    let first_window = |held: usize, slot: usize| {
        let watched = run(&scenario, 2, Some(held), |_| 0.0).unwrap();
        let delivered = watched.rows[slot].iter().find(|row| row.2[DELIVERED] > 0.0);
        delivered.expect("something was delivered").2[CWND]
    };
    // Ten packets arrive in the interval, so a scheme that reacts to each has a larger window at its end.
    assert_eq!(first_window(1, 0), 10.0);
    assert_eq!(first_window(2, 1), 10.0);
    assert!(first_window(1, 1) > 10.0);
}
