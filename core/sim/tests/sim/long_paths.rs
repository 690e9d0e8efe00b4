//! Flows whose first RTT is longer than RFC 6298's first timeout of a second.

use crate::support::{MS, SECOND, dumbbell, run, run_over, trace, traced};
use serde_json::{Value, json};

/// Assert that the flow was never timed out and lost nothing.
fn assert_undisturbed(scenario: &Value, what: &str) {
    let log = run(scenario, 0);
    let dropped: u64 = log.links.iter().map(|link| link.dropped_packets + link.lost_packets).sum();
    assert_eq!(dropped, 0, "{what}");
    for flow in &log.flows {
        let faults = [flow.rtos, flow.lost_packets, flow.retransmitted_packets];
        assert_eq!(faults, [0; 3], "{what}: {}", flow.scheme);
        assert!(flow.delivered_packets >= 10, "{what}: {flow:?}");
    }
}

#[test]
fn a_connection_that_exists_has_measured_its_path_so_its_first_packets_are_not_timed_out() {
    let schemes = leo_sim::SCHEMES.iter().copied().chain(["policy", "oracle"]);
    for scheme in schemes {
        for rtt_ms in [990.0, 1_200.0, 3_500.0] {
            for handshake in [false, true] {
                let mut scenario = dumbbell(1_000.0, rtt_ms / 2.0, 3.5e-3 * rtt_ms, &[scheme]);
                scenario["links"]["b"]["queue"] = json!({"packets": 1_000_000});
                scenario["handshake"] = json!(handshake);
                assert_undisturbed(&scenario, &format!("{scheme}, {rtt_ms} ms, handshake: {handshake}"));
            }
        }
    }
}

#[test]
fn access_delay_and_a_congested_way_back_count_as_much_as_the_links_delay() {
    let mut scenario = dumbbell(100.0, 50.0, 6.0, &["cubic"]);
    scenario["flows"][0]["extra_delay_ms"] = json!(600);
    assert_undisturbed(&scenario, "access delay");
    // 250 packets wait on the way back: 3 s at 1 Mbit/s.
    let mut scenario = dumbbell(100.0, 50.0, 15.0, &["cubic"]);
    scenario["links"]["b"]["reverse"] = json!({"rate_mbps": 1, "queue": {"packets": 300}});
    scenario["flows"] = json!([
        {"scheme": "udp", "rate_mbps": 51, "route": ["b"], "direction": "backward", "stop_s": 0.06},
        {"scheme": "cubic", "route": ["b"], "start_s": 0.1, "transfer_bytes": 30_000},
    ]);
    let log = run(&scenario, 0);
    let flow = &log.flows[1];
    assert!(flow.rtt_mean_ms > 1_000.0, "{flow:?}");
    assert_eq!([flow.rtos, flow.lost_packets], [0; 2], "{flow:?}");
}

#[test]
fn flows_that_join_a_geo_path_behind_a_full_queue_are_not_timed_out() {
    // 20 Mbit/s, 600 ms, 2 BDP: the queue is 1.2 s long.
    for scheme in ["cubic", "bbr3", "reno", "policy"] {
        let mut scenario = dumbbell(20.0, 300.0, 24.0, &["cubic", scheme]);
        scenario["links"]["b"]["queue"] = json!({"bdp": 2.0});
        scenario["flows"][1]["start_s"] = json!(20);
        let log = run(&scenario, 0);
        let flow = &log.flows[1];
        assert!(flow.rtt_mean_ms > 1_200.0, "{scheme}: {flow:?}");
        assert_eq!(flow.rtos, 0, "{scheme}: {flow:?}");
    }
}

#[test]
fn a_first_flight_that_is_lost_on_a_short_path_is_sent_again_after_a_second() {
    // All links of the trace are down for the first 100 ms, and drop what arrives.
    let outage = trace(&[(100 * MS, 100 * MS, 20, false), (60 * SECOND, 100 * MS, 20, true)]);
    let mut scenario = traced(json!({}), 3.0, &["cubic"]);
    scenario["links"]["b"]["outage"] = json!("drop");
    scenario["flows"][0]["transfer_bytes"] = json!(1_448);
    let log = run_over(outage, &scenario, 0);
    let flow = &log.flows[0];
    assert_eq!(flow.rtos, 1);
    assert!(flow.completion_s.is_some_and(|time| (1.2..1.21).contains(&time)), "{flow:?}");
}
