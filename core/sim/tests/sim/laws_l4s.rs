//! Prague and accurate ECN on a whole path.

use crate::support::{MS, assert_conserved, dumbbell, run};
use leo_sim::RunLog;
use serde_json::{Value, json};

fn marked(schemes: &[&str], ecn: Value) -> RunLog {
    let mut scenario = dumbbell(50.0, 20.0, 30.0, schemes);
    scenario["links"]["b"]["queue"] = json!({"kind": "codel", "packets": 1000, "ecn": true});
    for flow in 0..schemes.len() {
        scenario["flows"][flow]["ecn"] = ecn.clone();
    }
    let log = run(&scenario, 100 * MS);
    assert_conserved(&log);
    log
}

#[test]
fn accurate_feedback_changes_nothing_for_a_scheme_that_answers_once_a_round_trip() {
    // RFC 9768 §3.1.5: the response stays that of RFC 3168 §6.1.
    for scheme in ["reno", "cubic"] {
        let (classic, accurate) = (marked(&[scheme], json!(true)), marked(&[scheme], json!("accurate")));
        for log in [&classic, &accurate] {
            assert!(log.links[0].marked_packets > 2 && log.flows[0].lost_packets == 0, "{scheme}: {log:?}");
        }
        let goodput = |log: &RunLog| log.flows[0].normalized_goodput;
        assert!((goodput(&classic) - goodput(&accurate)).abs() < 0.02, "{scheme}");
    }
}
