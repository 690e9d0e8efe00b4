//! Prague and accurate ECN on a whole path.

use crate::support::{MS, PACKET_BITS, dumbbell, run};
use leo_sim::RunLog;
use serde_json::{Value, json};

fn marked(schemes: &[&str], ecn: Value) -> RunLog {
    let mut scenario = dumbbell(50.0, 20.0, 30.0, schemes);
    scenario["links"]["b"]["queue"] = json!({"kind": "codel", "packets": 1000, "ecn": true});
    for flow in 0..schemes.len() {
        scenario["flows"][flow]["ecn"] = ecn.clone();
    }
    run(&scenario, 100 * MS)
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

/// Prague flows to servers 40 ms and more away, behind DualPI2 with the threshold of RFC 9332, Appendix A.1: "minTh = 800 us".
fn low_latency(rate_mbps: f64, schemes: &[&str], seed: u64) -> RunLog {
    let mut scenario = dumbbell(rate_mbps, 20.0, 30.0, schemes);
    scenario["seed"] = json!(seed);
    scenario["links"]["b"]["queue"] = json!({"kind": "dualpi2", "step_ms": 0.8});
    for flow in 0..schemes.len() {
        scenario["flows"][flow]["ecn"] = json!("accurate");
        scenario["flows"][flow]["extra_delay_ms"] = json!(flow);
    }
    run(&scenario, MS)
}

/// Return the 99th percentile of the queue in ms and the share of the capacity that is used, after 10 s.
fn queueing(log: &RunLog, rate_mbps: f64) -> (f64, f64) {
    let counted = log.link_series.time_s.iter().filter(|time| **time <= 10.0).count();
    let mut queue: Vec<u32> = log.link_series.queue_packets[counted..].to_vec();
    queue.sort_unstable();
    let delivered = &log.link_series.delivered_mbps[counted..];
    let used = delivered.iter().sum::<f64>() / delivered.len() as f64 / rate_mbps;
    // Of the packet that is being sent, half is left on average.
    let packets = f64::from(queue[queue.len() * 99 / 100]) - 0.5;
    (packets * PACKET_BITS / 1e3 / rate_mbps, used)
}

#[test]
fn prague_keeps_the_99th_percentile_of_queueing_below_two_milliseconds_and_fills_the_link() {
    // RFC 9331, abstract: "very low (typically sub-millisecond on average) and consistently low queuing delay".
    for flows in [1, 10] {
        let log = low_latency(30.0, &vec!["prague"; flows], 1);
        let (delay_ms, used) = queueing(&log, 30.0);
        assert!(delay_ms <= 2.0 && used >= 0.9, "{flows}: {delay_ms} ms, {used}");
        assert!(log.flows.iter().all(|flow| flow.lost_packets == 0), "{flows}");
    }
    let (delay_ms, used) = queueing(&low_latency(30.0, &["cubic"], 1), 30.0);
    assert!(delay_ms > 10.0 && used > 0.9, "the classic queue aims at 15 ms: {delay_ms}, {used}");
}

#[test]
fn prague_and_cubic_share_a_link_within_a_factor_of_two() {
    // RFC 9332 §2.1: the coupling makes flow rates roughly equal.
    let log = low_latency(50.0, &["prague", "cubic"], 1);
    let [prague, cubic] = [0, 1].map(|flow| log.flows[flow].goodput_mbps);
    assert!((0.5..=2.0).contains(&(prague / cubic)), "{prague} and {cubic}");
}

#[test]
fn prague_sends_what_no_l4s_queue_takes_for_its_own_once_an_end_lacks_accurate_ecn() {
    // draft-briscoe-iccrg-prague-congestion-control-04 §2.3.1.1: without accurate ECN it "MUST then no longer set ECT(1)".
    let mut scenario = dumbbell(30.0, 20.0, 20.0, &["prague"]);
    scenario["links"]["b"]["queue"] = json!({"kind": "dualpi2"});
    scenario["flows"][0]["ecn"] = json!({"sender": "accurate", "receiver": "classic"});
    let (delay_ms, _) = queueing(&run(&scenario, MS), 30.0);
    assert!(delay_ms > 5.0, "in the classic queue: {delay_ms}");
}

#[test]
fn what_an_earlier_queue_marked_overtakes_the_rest_of_a_classic_flow_behind_dualpi2() {
    // RFC 9331 §5.1: CE belongs into the L queue, also where the sender set ECT(0).
    let retransmitted = |later: Value| {
        let scenario = json!({
            "duration_s": 10.0,
            "links": {
                "a": {"rate_mbps": 13, "delay_ms": 10, "queue": {"kind": "codel", "packets": 200, "ecn": true}},
                "b": {"rate_mbps": 12.5, "delay_ms": 10, "queue": later},
            },
            "flows": [
                {"scheme": "cubic", "route": ["a", "b"], "ecn": true},
                {"scheme": "cubic", "route": ["a"], "ecn": true},
                {"scheme": "cubic", "route": ["b"]},
            ],
        });
        let log = run(&scenario, 0);
        assert!(log.links[0].marked_packets > 0, "{:?}", log.links[0]);
        log.flows[0].retransmitted_packets
    };
    // No queue drops ECN-capable packets here: the sender repeats what was overtaken, not what was lost.
    assert_eq!(retransmitted(json!({"kind": "pie", "ecn": true})), 0);
    let overtaken = retransmitted(json!({"kind": "dualpi2"}));
    assert!(overtaken > 0, "{overtaken}");
}
