//! Effects of a narrow, busy or lossy reverse path (RFC 3449), and backward flows.

use crate::support::{MS, PACKET_BITS, dumbbell, run, run_over, trace, traced};
use leo_sim::RunLog;
use serde_json::{Value, json};

const ACK_BITS: f64 = 52.0 * 8.0;

/// One flow over 20 Mbit/s and 50 ms with the reverse path `reverse`.
fn asymmetric(scheme: &str, seconds: f64, reverse: Value) -> RunLog {
    let mut scenario = dumbbell(20.0, 25.0, seconds, &[scheme]);
    scenario["links"]["b"]["reverse"] = reverse;
    run(&scenario, 0)
}

#[test]
fn acknowledgements_that_fill_the_way_back_limit_the_flow() {
    // RFC 3449 §3.1: the normalized bandwidth ratio k is "the ratio of the raw bandwidths divided by the
    // ratio of the packet sizes used in the two directions"; "if the receiver acknowledges more frequently
    // than one ACK every k data packets, the upstream link will become saturated before the downstream link".
    // Receivers acknowledge every second packet and the last of a burst, so d data packets get an ACK, with d a
    // little below 2, and above k = d the flow gets d/k of the capacity. Vegas, because no ACK is lost and CUBIC's
    // window would grow without limit.
    for k in [0.5, 1.5, 4.0, 8.0, 16.0] {
        let rate_mbps = 20.0 * ACK_BITS / PACKET_BITS / k;
        let reverse = json!({"rate_mbps": rate_mbps, "queue": {"packets": 1_000_000}});
        let log = asymmetric("vegas", 120.0, reverse);
        let (flow, acks) = (&log.flows[0], &log.links[1]);
        let per_ack = flow.delivered_packets as f64 / acks.offered_packets as f64;
        assert!((1.8..2.01).contains(&per_ack), "k = {k}: {per_ack}");
        let expected = f64::min(1.0, per_ack / k);
        assert!((flow.normalized_goodput / expected - 1.0).abs() < 0.02, "k = {k}: {per_ack}, {flow:?}");
    }
}

#[test]
fn a_way_back_wide_enough_for_its_acknowledgements_costs_nothing() {
    let free = run(&dumbbell(20.0, 25.0, 30.0, &["cubic"]), 0).flows[0].clone();
    let wide = asymmetric("cubic", 30.0, json!({"rate_mbps": 20.0})).flows.remove(0);
    assert!((wide.normalized_goodput / free.normalized_goodput - 1.0).abs() < 0.002, "{wide:?} for {free:?}");
    assert!((wide.rtt_mean_ms / free.rtt_mean_ms - 1.0).abs() < 0.02, "{wide:?} for {free:?}");
}

#[test]
fn acknowledgements_that_get_lost_cost_little_since_later_ones_make_up_for_them() {
    // RFC 3449 §3.4: "TCP ACKs are cumulative".
    let log = asymmetric("cubic", 60.0, json!({"rate_mbps": 20.0, "loss": 0.2}));
    let (flow, data, acks) = (&log.flows[0], &log.links[0], &log.links[1]);
    assert!((acks.lost_packets as f64 / acks.offered_packets as f64 - 0.2).abs() < 0.01, "{acks:?}");
    assert!(flow.normalized_goodput > 0.95, "{flow:?}");
    // Except for a few tail loss probes, only dropped packets are resent: a lost ACK is no lost packet.
    assert!(flow.retransmitted_packets - data.dropped_packets < 3, "{flow:?} {data:?}");
}

/// Normalized goodput of one flow per direction, with a queue of `kind` on the narrow reverse path.
fn both_ways(kind: &str, reverse_mbps: f64) -> [f64; 2] {
    let mut scenario = dumbbell(20.0, 25.0, 60.0, &["cubic", "cubic"]);
    let queue = json!({"kind": kind, "packets": 100});
    scenario["links"]["b"]["reverse"] = json!({"rate_mbps": reverse_mbps, "queue": queue});
    scenario["flows"][1]["direction"] = json!("backward");
    let log = run(&scenario, 0);
    [log.flows[0].normalized_goodput, log.flows[1].normalized_goodput]
}

#[test]
fn data_on_the_way_back_holds_up_acknowledgements_unless_they_have_queues_of_their_own() {
    // RFC 3449 §3.3: ACKs wait behind the large packets of the opposite flow ("ACK compression"); scheduling
    // that separates them helps (§5.4).
    for reverse_mbps in [1.0, 2.0] {
        let [forward, backward] = both_ways("droptail", reverse_mbps);
        assert!(forward < 0.7 && backward > 0.85, "FIFO at {reverse_mbps} Mbit/s: {forward}, {backward}");
        for kind in ["sfq", "fq_codel"] {
            let [forward, _] = both_ways(kind, reverse_mbps);
            assert!(forward > 0.97, "{kind} at {reverse_mbps} Mbit/s: {forward}");
        }
    }
}

#[test]
fn data_of_a_backward_flow_crosses_the_reverse_links_from_the_routes_end_to_its_start() {
    let scenario = json!({
        "duration_s": 20.0,
        "links": {
            "a": {"rate_mbps": 100, "delay_ms": 10, "reverse": {"rate_mbps": 30}},
            "b": {"rate_mbps": 100, "delay_ms": 20, "reverse": {"rate_mbps": 10}},
        },
        "flows": [{"scheme": "cubic", "route": ["a", "b"], "direction": "backward", "extra_delay_ms": 5}],
    });
    let log = run(&scenario, 1_000 * MS);
    let flow = &log.flows[0];
    let names: Vec<&str> = log.links.iter().map(|link| link.link.as_str()).collect();
    assert_eq!(names, ["a", "b", "a.reverse", "b.reverse"]);
    let [a, b, a_reverse, b_reverse] = [0, 1, 2, 3].map(|link: usize| &log.links[link]);
    // Every packet, except the last ones on the access link, reached b first and then a.
    assert!(flow.sent_packets - b_reverse.offered_packets < 20, "{flow:?} {b_reverse:?}");
    assert_eq!(a_reverse.offered_packets, b_reverse.delivered_packets);
    // Its ACKs cross a first, with 52 bytes each.
    assert_eq!(b.offered_packets, a.delivered_packets);
    assert_eq!(a.delivered_bytes, 52 * a.delivered_packets);
    assert!((flow.base_rtt_mean_ms - 70.0).abs() < 1e-6, "{flow:?}");
    assert!((flow.capacity_mbps - 10.0).abs() < 1e-6, "{flow:?}");
    assert!(flow.normalized_goodput > 0.97, "{flow:?}");
    let series = &log.link_series;
    assert_eq!(series.link[..4], [0, 1, 2, 3]);
    for (capacity, expected) in series.capacity_mbps[..4].iter().zip([100.0, 100.0, 30.0, 10.0]) {
        assert!((capacity - expected).abs() < 1e-9, "{capacity} for {expected}");
    }
}

#[test]
fn with_a_trace_the_way_back_has_the_traces_downlink_unless_a_rate_is_given() {
    let mut path = trace(&[(1_000 * MS, 20 * MS, 40, true)]);
    path.rows[0].down.rate_bps = 8_000_000;
    let capacity = |reverse: Value| {
        let mut scenario = traced(json!({}), 2.0, &["cubic", "cubic"]);
        scenario["links"]["b"]["reverse"] = reverse;
        scenario["flows"][0]["direction"] = json!("backward");
        let log = run_over(path.clone(), &scenario, 0);
        [0, 1].map(|flow: usize| log.flows[flow].capacity_mbps.round())
    };
    assert_eq!(capacity(json!({})), [8.0, 40.0]);
    assert_eq!(capacity(json!({"rate_mbps": 3.0})), [3.0, 40.0]);
}

#[test]
fn leotcp_steers_backward_flows_by_the_telemetry_of_the_reverse_links() {
    let forward = run(&dumbbell(20.0, 25.0, 30.0, &["leotcp"]), 0).flows.remove(0);
    let mut scenario = dumbbell(100.0, 25.0, 30.0, &["leotcp"]);
    scenario["links"]["b"]["reverse"] = json!({"rate_mbps": 20.0});
    scenario["flows"][0]["direction"] = json!("backward");
    let flow = run(&scenario, 0).flows.remove(0);
    let ratio = flow.normalized_goodput / forward.normalized_goodput;
    assert!((ratio - 1.0).abs() < 0.01 && flow.delay_inflation < 1.05, "{flow:?} for {forward:?}");
}
