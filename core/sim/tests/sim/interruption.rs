//! A caller stops simulations that are under way.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{ThreadId, current};

use crate::support::{INTERVAL, MS, SECOND, dumbbell, parse, policies, simulation, text};
use leo_sim::{Interrupted, Simulation, TraceSet, Unbuilt, run_many};
use serde_json::{Value, json};

/// Two TCP flows, one with a policy, and UDP, at 100 Mbit/s for `duration_s`.
fn mixed(duration_s: f64) -> Value {
    let mut scenario = dumbbell(100.0, 10.0, duration_s, &["cubic", "policy"]);
    scenario["flows"]
        .as_array_mut()
        .expect("a list")
        .push(json!({"scheme": "udp", "rate_mbps": 20, "route": ["b"]}));
    scenario
}

fn start(scenario: &Value) -> Simulation {
    simulation(scenario, &TraceSet::new(), 100 * MS)
}

#[test]
fn a_run_that_is_stopped_again_and_again_goes_on_where_it_was() {
    let mut whole = start(&mixed(2.0));
    whole.run(&|| false).expect("nobody stops it");
    let mut pieces = start(&mixed(2.0));
    let (mut stops, mut before) = (0, 0);
    while pieces.run(&|| true) == Err(Interrupted) {
        assert!(pieces.now() >= before, "time runs backwards");
        before = pieces.now();
        stops += 1;
    }
    // 18,000 packets and their ACKs.
    assert!(stops > 20, "{stops}");
    assert_eq!(text(&pieces.run_log()), text(&whole.run_log()));
}

#[test]
fn a_run_asks_at_least_every_thousand_events_even_where_nothing_is_sent() {
    let asked = AtomicU32::new(0);
    let stop = || {
        asked.fetch_add(1, Ordering::Relaxed);
        false
    };
    // A transfer of one packet, and 100,000 rows of the series.
    let mut idle = dumbbell(100.0, 10.0, 100.0, &["cubic"]);
    idle["flows"][0]["transfer_bytes"] = json!(1);
    simulation(&idle, &TraceSet::new(), MS).run(&stop).expect("nobody stops it");
    assert!(asked.load(Ordering::Relaxed) >= 100_000 / 1_024, "{asked:?}");
}

#[test]
fn threads_stop_and_only_the_callers_thread_is_asked() {
    let askers = Mutex::new(Vec::<ThreadId>::new());
    let stop = || {
        let mut askers = askers.lock().expect("no thread panics");
        askers.push(current().id());
        askers.len() > 5
    };
    // Hours of simulated time: without the stop, this takes minutes.
    let many = (0..3).map(|_| start(&mixed(40_000.0))).collect();
    assert_eq!(run_many(many, 2, &stop).err(), Some(Interrupted));
    let askers = askers.into_inner().expect("no thread panics");
    assert!(askers.iter().all(|thread| *thread == current().id()));
}

#[test]
fn a_simulation_that_is_stopped_while_it_is_built_is_not_built() {
    let mut scenario = dumbbell(100.0, 10.0, 1.0, &["cubic"]);
    scenario["flows"][0]["count"] = json!(1_000);
    let asked = AtomicU32::new(0);
    let stop = || asked.fetch_add(1, Ordering::Relaxed) == 100;
    let built = Simulation::new(&parse(&scenario), &TraceSet::new(), &policies(), INTERVAL, SECOND, &stop);
    assert_eq!(built.err(), Some(Unbuilt::Interrupted(Interrupted)));
}
