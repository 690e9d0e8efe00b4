//! Unresponsive traffic: it measures capacity and takes it.

use crate::support::{dumbbell, run};
use serde_json::json;

#[test]
fn udp_above_capacity_receives_exactly_the_capacity() {
    // "UDP, which can be seen as an indication of the capacity that can be provided by the network" (TCP CC
    // over Starlink, §4.1).
    let mut scenario = dumbbell(40.0, 25.0, 30.0, &["udp"]);
    scenario["flows"][0]["rate_mbps"] = json!(60.0);
    let log = run(&scenario, 0);
    let flow = &log.flows[0];
    // Missing: 25 ms of propagation out of 30 s, and a start jitter of up to 1 ms.
    assert!((0.9985..=1.0).contains(&flow.normalized_goodput), "{flow:?}");
    assert!(log.links[0].dropped_packets > 45_000, "a third of 150,000 packets: {:?}", log.links[0]);
    assert_eq!((flow.retransmitted_packets, flow.rtos), (0, 0));
    assert!(flow.rtt_mean_ms.is_nan(), "nothing is acknowledged");
}

#[test]
fn a_tcp_flow_gets_what_udp_below_capacity_leaves() {
    let mut scenario = dumbbell(100.0, 25.0, 60.0, &["cubic", "udp"]);
    scenario["flows"][1]["rate_mbps"] = json!(60.0);
    let log = run(&scenario, 0);
    let (cubic, udp) = (&log.flows[0], &log.flows[1]);
    assert!((udp.normalized_goodput - 0.6).abs() < 0.01, "{udp:?}");
    assert!((0.36..0.401).contains(&cubic.normalized_goodput), "{cubic:?}");
}

#[test]
fn on_off_traffic_sends_for_its_share_of_the_time() {
    let mut scenario = dumbbell(100.0, 25.0, 120.0, &["udp"]);
    scenario["flows"][0]["rate_mbps"] = json!(50.0);
    scenario["flows"][0]["on_off"] = json!({"on_s": 0.2, "off_s": 0.6});
    let goodput = run(&scenario, 0).flows[0].goodput_mbps * 1500.0 / 1448.0;
    // 150 cycles: a standard error of about 0.9 around 12.5.
    assert!((goodput - 12.5).abs() < 3.0, "{goodput}");
}
