//! Effects of queue disciplines on flows, as their documents specify.

use crate::support::{MS, PACKET_BITS, dumbbell, run};
use leo_sim::RunLog;
use serde_json::{Value, json};

fn behind(queue: &Value, rate_mbps: f64, delay_ms: f64, duration_s: f64, schemes: &[&str]) -> RunLog {
    let mut scenario = dumbbell(rate_mbps, delay_ms, duration_s, schemes);
    scenario["links"]["b"]["queue"] = queue.clone();
    run(&scenario, 10 * MS)
}

/// Mean queueing delay in ms after the first 10 s by Little's law: queue length over departure rate.
fn queueing_ms(log: &RunLog) -> f64 {
    let series = &log.link_series;
    let late = series.time_s.iter().position(|&time| time > 10.0).expect("the run is long enough");
    let packets: f64 = series.queue_packets[late..].iter().map(|&packets| f64::from(packets)).sum();
    let leaving_mbps: f64 = series.delivered_mbps[late..].iter().sum();
    packets / leaving_mbps * PACKET_BITS * 1e-3
}

#[test]
fn codel_holds_a_standing_queue_to_its_target() {
    // RFC 8289 §3.2: "the target ... 5 ms"; Reno oscillates around it. Drop-tail keeps 1,000 packets queued.
    for scheme in ["reno", "cubic"] {
        let log = behind(&json!({"kind": "codel"}), 20.0, 20.0, 60.0, &[scheme; 4]);
        let queueing = queueing_ms(&log);
        assert!((1.0..10.0).contains(&queueing), "{scheme}: {queueing} ms");
        let total: f64 = log.flows.iter().map(|flow| flow.normalized_goodput).sum();
        assert!(total > 0.9, "{scheme}: {total}");
    }
    let bloated = behind(&json!({"packets": 1000}), 20.0, 20.0, 60.0, &["reno"; 4]);
    assert!(queueing_ms(&bloated) > 200.0);
}

#[test]
fn pie_holds_the_queueing_delay_at_its_target() {
    // RFC 8033 §4.2: the drop probability is stable where the delay is QDELAY_REF, 15 ms.
    for target_ms in [15.0, 40.0] {
        let log = behind(&json!({"kind": "pie", "target_ms": target_ms}), 20.0, 20.0, 90.0, &["reno"; 8]);
        let queueing = queueing_ms(&log);
        assert!((queueing / target_ms - 1.0).abs() < 0.3, "{queueing} for {target_ms}");
    }
}

#[test]
fn flow_queues_give_max_min_shares_in_a_parking_lot() {
    // Bertsekas and Gallager, Data Networks, §6.5.2: on equal links, a long and a short flow get half each.
    let parking_lot = |scheme: &str, queue: Value| {
        let link = json!({"rate_mbps": 20, "delay_ms": 5, "queue": queue});
        let flows = [["a", "b", "c"].as_slice(), &["a"], &["b"], &["c"]];
        let flows: Vec<Value> = flows.iter().map(|route| json!({"scheme": scheme, "route": route})).collect();
        let links = json!({"a": link, "b": link, "c": link});
        run(&json!({"duration_s": 60.0, "links": links, "flows": flows}), 0)
    };
    for kind in ["fq_codel", "fq_pie", "sfq", "cake"] {
        let log = parking_lot("cubic", json!({"kind": kind}));
        for flow in &log.flows {
            assert!((flow.normalized_goodput - 0.5).abs() < 0.06, "{kind}: {flow:?}");
        }
    }
    // With drop-tail, the long flow starves because it meets every queue.
    assert!(parking_lot("reno", json!({"bdp": 1.0})).flows[0].normalized_goodput < 0.35);
}

#[test]
fn flow_queues_keep_a_loss_based_flow_from_delaying_a_vegas_flow() {
    // RFC 8290 §1: one flow's queue does not delay another flow. Vegas starves beside CUBIC with drop-tail.
    let share = |queue: Value| {
        let log = behind(&queue, 50.0, 20.0, 60.0, &["vegas", "cubic"]);
        log.flows[0].goodput_mbps / log.flows[1].goodput_mbps
    };
    assert!(share(json!({"kind": "fq_codel"})) > 0.8);
    assert!(share(json!({"bdp": 2.0})) < 0.4);
}

#[test]
fn cake_shapes_to_its_bandwidth_and_keeps_the_delay_low() {
    let log = behind(&json!({"kind": "cake", "bandwidth_mbps": 10}), 50.0, 20.0, 60.0, &["cubic"; 2]);
    let total: f64 = log.flows.iter().map(|flow| flow.goodput_mbps).sum();
    let shaped = 10.0 * 1448.0 / 1500.0;
    assert!((0.93..=1.0).contains(&(total / shaped)), "{total}");
    assert!(queueing_ms(&log) < 12.0);
    let jain = log.flows[0].goodput_mbps / log.flows[1].goodput_mbps;
    assert!((0.95..1.06).contains(&jain), "{jain}");
}

#[test]
fn the_geo_gateway_drops_a_quarter_of_what_comes_to_a_half_full_buffer() {
    // Peters et al., section 4: "randomly drops 25% of incoming packets when the queue is over a half of the limit".
    let queue = json!({"kind": "gateway", "bytes": 3_000_000});
    let log = behind(&queue, 20.0, 300.0, 40.0, &["cubic-nohystart"]);
    // Slow start still fills it; afterwards, the flow meets the first drops at half of the buffer.
    let late =
        log.link_series.time_s.iter().zip(&log.link_series.queue_packets).filter(|(time, _)| **time > 15.0);
    let longest = late.map(|(_, &packets)| packets).max().expect("there is a series");
    assert!((900..1_200).contains(&longest), "half of the buffer is 1,000 packets: {longest}");
    assert!(log.links[0].dropped_packets > 20, "{:?}", log.links[0]);
}
