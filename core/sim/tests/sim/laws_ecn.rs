//! Queues that mark instead of dropping, with ECN flows.

use crate::support::{dumbbell, run};
use leo_sim::RunLog;
use serde_json::{Value, json};

fn managed(scheme: &str, queue: Value, ecn: bool) -> RunLog {
    let mut scenario = dumbbell(50.0, 20.0, 60.0, &[scheme, scheme]);
    scenario["links"]["b"]["queue"] = queue;
    for flow in 0..2 {
        scenario["flows"][flow]["ecn"] = json!(ecn);
    }
    run(&scenario, 0)
}

#[test]
fn marks_replace_drops_and_leave_throughput_and_delay_as_they_are() {
    // RFC 3168 §1 and RFC 8289 §4.3 (CoDel): marks carry the same signal as drops. 50 Mbit/s and 40 ms, two flows.
    for scheme in ["reno", "cubic", "htcp", "bic", "westwood", "illinois"] {
        let queue = |ecn: bool| json!({"kind": "codel", "packets": 1000, "ecn": ecn});
        let (with, without) = (managed(scheme, queue(true), true), managed(scheme, queue(false), true));
        let lost = |log: &RunLog| log.flows.iter().map(|flow| flow.lost_packets).sum::<u64>();
        let goodput = |log: &RunLog| log.flows.iter().map(|flow| flow.normalized_goodput).sum::<f64>();
        assert!(with.links[0].marked_packets > 10, "{scheme}: {:?}", with.links[0]);
        assert_eq!(without.links[0].marked_packets, 0);
        assert!(lost(&with) == 0 && lost(&without) > 10, "{scheme}: {} and {}", lost(&with), lost(&without));
        let (a, b) = (goodput(&with), goodput(&without));
        assert!((a - b).abs() < 0.05, "{scheme}: {a} and {b}");
        let (a, b) = (with.flows[0].delay_inflation, without.flows[0].delay_inflation);
        assert!((a / b - 1.0).abs() < 0.1, "{scheme}: {a} and {b}");
    }
}

#[test]
fn flows_that_do_not_understand_marks_get_drops() {
    let log = managed("cubic", json!({"kind": "fq_codel"}), false);
    assert_eq!(log.links[0].marked_packets, 0);
    assert!(log.flows.iter().all(|flow| flow.lost_packets > 0));
    let log = managed("cubic", json!({"kind": "fq_codel"}), true);
    assert!(log.links[0].marked_packets > 0);
    assert!(log.flows.iter().all(|flow| flow.lost_packets == 0));
}

#[test]
fn bbr_passes_over_marks() {
    // draft-ietf-ccwg-bbr (version 1 as in Linux): only bandwidth and RTT matter.
    let marked = managed("bbr", json!({"kind": "codel", "packets": 1000, "ecn": true}), true);
    let deep = managed("bbr", json!({"packets": 1000}), true);
    assert!(marked.links[0].marked_packets > 100, "{:?}", marked.links[0]);
    let goodput = |log: &RunLog| log.flows.iter().map(|flow| flow.normalized_goodput).sum::<f64>();
    assert!((goodput(&marked) - goodput(&deep)).abs() < 0.02);
}
