//! LeoTCP's claims (Valentine and Parisis, "LeoTCP: Low-Latency and High-Throughput Data Transport for LEO
//! Satellite Networks", 2025), on paths like those of its evaluation.

use crate::support::{MS, SECOND, dumbbell, goodput, jain, mean, run, run_over, trace, traced};
use serde_json::{Value, json};

#[test]
fn leotcp_alone_meets_its_target_and_leaves_the_queue_empty() {
    // Section III-C: "This target is chosen to ensure high link utilisation while keeping buffer occupancy
    // low." The window falls above U = 0.95; equation 4 is stable at η / U + 1 - η = 1: full link, no queue.
    for delay_ms in [2.5, 10.0, 25.0, 50.0] {
        let log = run(&dumbbell(100.0, delay_ms, 30.0, &["leotcp"]), 100 * MS);
        let flow = &log.flows[0];
        assert!(flow.normalized_goodput > 0.95, "{flow:?}");
        assert_eq!(flow.lost_packets, 0, "{flow:?}");
        // Section IV-D: 1.5 ms above base RTTs of 20 and 50 ms with four flows; a packet takes 0.12 ms.
        let mean = mean(&log.flow_series.rtt_ms[50..]);
        assert!(mean - 2.0 * delay_ms < 0.5, "{mean} ms");
    }
}

#[test]
fn two_leotcp_flows_converge_to_equal_shares_whatever_their_rtts() {
    // Section IV-C: "goodput ratios close to 1 regardless of RTT disparity". The first flow has 20 ms.
    for rtt_ms in [20.0, 50.0, 100.0] {
        let mut scenario = dumbbell(100.0, 10.0, 40.0, &["leotcp", "leotcp"]);
        scenario["flows"][1]["start_s"] = json!(15.0);
        scenario["flows"][1]["extra_delay_ms"] = json!((rtt_ms - 20.0) / 2.0);
        let log = run(&scenario, SECOND);
        let (first, second) = (goodput(&log, 0, 30.0, 40.0), goodput(&log, 1, 30.0, 40.0));
        assert!((first / second - 1.0).abs() < 0.03, "{first} and {second} with {rtt_ms} ms");
        assert!(first + second > 0.95 * 96.5, "{first} and {second} with {rtt_ms} ms");
        // The flow takes its share at once: section III-C, "Initial Phase".
        let early = goodput(&log, 1, 16.0, 18.0);
        assert!(early > 0.9 * second, "{early} of {second} with {rtt_ms} ms");
    }
}

#[test]
fn a_flow_over_three_bottlenecks_has_the_max_min_share_with_leotcp_and_far_less_with_cubic() {
    // Section IV-C: "bandwidth allocations that approximate max-min fairness"; all RTTs are equal.
    let ratio = |scheme: &str| {
        let link = json!({"rate_mbps": 100, "delay_ms": 10, "queue": {"bdp": 1.0}});
        let short = |link: &str| json!({"scheme": scheme, "route": [link], "extra_delay_ms": 20.0});
        let scenario = json!({
            "duration_s": 60.0,
            "links": {"a": link, "b": link, "c": link},
            "flows": [{"scheme": scheme, "route": ["a", "b", "c"]}, short("a"), short("b"), short("c")],
        });
        let log = run(&scenario, 0);
        let short = log.flows[1..].iter().map(|flow| flow.goodput_mbps).fold(0.0, f64::max);
        log.flows[0].goodput_mbps / short
    };
    let (leotcp, cubic) = (ratio("leotcp"), ratio("cubic"));
    assert!(leotcp > 0.85 && cubic < 0.5, "{leotcp} {cubic}");
}

#[test]
fn hard_handovers_of_any_length_do_not_slow_leotcp_down() {
    // Section IV-D: outages of 20 to 200 ms every 5 s on a path of 50 ms; goodput over the next 50 RTTs.
    let after = |scheme: &str, down: u64| {
        let path = trace(&[(5 * SECOND - down, 25 * MS, 100, true), (down, 25 * MS, 100, false)]);
        let log = run_over(path, &traced(json!({"bdp": 1.0}), 60.0, &[scheme]), 500 * MS);
        (5..60).step_by(5).map(|at| goodput(&log, 0, f64::from(at), f64::from(at) + 2.5)).sum::<f64>() / 11.0
    };
    for down in [20 * MS, 200 * MS] {
        let (leotcp, cubic) = (after("leotcp", down), after("cubic", down));
        assert!(leotcp > 0.92 * 96.5, "{leotcp} after {down} ns");
        assert!(cubic < 0.8 * 96.5, "{cubic} after {down} ns");
    }
}

#[test]
fn random_loss_does_not_slow_leotcp_down() {
    // Section III-C: "LeoTCP adjusts its window solely based on INT telemetry"
    let mut scenario = dumbbell(100.0, 25.0, 30.0, &["leotcp"]);
    scenario["links"]["b"]["loss"] = json!(0.01);
    let log = run(&scenario, 0);
    assert!(log.flows[0].normalized_goodput > 0.95, "{:?}", log.flows[0]);
    assert!(log.flows[0].lost_packets > 1_000, "{:?}", log.flows[0]);
}

#[test]
fn telemetry_takes_the_share_of_the_wire_that_its_bytes_have() {
    // Section III-A, Fig. 2: three fields in the header and seven in each hop's record, here of 4 bytes each. The last link
    // is the bottleneck: packets arrive there with the header and two records.
    let run_with = |header: u32, hop: u32, reverse: Value| {
        let mut scenario = dumbbell(100.0, 5.0, 30.0, &["leotcp"]);
        let wide = json!({"rate_mbps": 1_000, "delay_ms": 5, "queue": {"bdp": 1.0}});
        let last = json!({"rate_mbps": 100, "delay_ms": 5, "queue": {"bdp": 1.0}, "reverse": reverse});
        scenario["links"] = json!({"a": wide, "b": wide, "c": last});
        scenario["flows"][0]["route"] = json!(["a", "b", "c"]);
        (scenario["telemetry_header_bytes"], scenario["telemetry_hop_bytes"]) = (json!(header), json!(hop));
        let log = run(&scenario, SECOND);
        (goodput(&log, 0, 10.0, 30.0), mean(&log.flow_series.rtt_ms[10..]))
    };
    let (free, _) = run_with(0, 0, Value::Null);
    let (counted, _) = run_with(12, 28, Value::Null);
    let expected = 1_500.0 / (1_500.0 + 12.0 + 2.0 * 28.0);
    assert!((counted / free / expected - 1.0).abs() < 0.003, "{counted} of {free}");
    // ACKs echo header and records: 148 bytes instead of 52, for every second of 8,000 packets a second, overfill a reverse
    // path of 3 Mbit/s.
    let reverse = json!({"rate_mbps": 3.0, "queue": {"packets": 100}});
    let (small_ms, large_ms) = (run_with(0, 0, reverse.clone()).1, run_with(12, 28, reverse).1);
    assert!(small_ms < 35.0 && large_ms > 50.0, "{small_ms} and {large_ms} ms");
}

#[test]
fn newcomers_take_their_share_from_fifty_flows_at_once_without_a_loss() {
    // Section IV-E: 200 Mbit/s and 100 ms; "Using 95% as the AI allows newly arriving flows to converge
    // rapidly". Without the initial phase, the 5 % of a share of 1/58 take many RTTs.
    let flow = |count: u32, start_s: f64| json!({"scheme": "leotcp", "route": ["b"], "count": count, "start_s": start_s});
    let scenario = json!({
        "duration_s": 30.0,
        "links": {"b": {"rate_mbps": 200, "delay_ms": 50, "queue": {"bdp": 1.0}}},
        "flows": [flow(50, 0.0), flow(8, 10.0)],
    });
    let log = run(&scenario, SECOND);
    let share = 200.0 * 1_448.0 / 1_500.0 / 58.0;
    for newcomer in 50..58 {
        let newcomer_goodput = goodput(&log, newcomer, 11.0, 13.0);
        assert!((newcomer_goodput / share - 1.0).abs() < 0.15, "{newcomer_goodput} of {share}");
    }
    assert_eq!(log.flows.iter().map(|flow| flow.lost_packets).sum::<u64>(), 0);
    // "The average RTT of the first 50 flows, measured over 100 RTTs at the start of the simulation, is 113.50 ms"
    let series = &log.flow_series;
    let early = series.rtt_ms.iter().zip(&series.time_s).filter(|(_, time)| **time <= 10.0);
    let mean = mean(&early.map(|(&rtt, _)| rtt).collect::<Vec<_>>());
    assert!((100.0..114.0).contains(&mean), "{mean} ms");
}

#[test]
fn flows_that_are_rerouted_share_the_new_path_fairly_and_with_short_queues() {
    // Section IV-D: two flows move from a path of 20 ms to one of 50 ms that serves two, and back.
    let flow = |link: &str| json!({"scheme": "leotcp", "route": [link], "count": 2});
    let reroute = |at_s: f64, link: &str| json!({"at_s": at_s, "reroute": {"flows": [0], "route": [link]}});
    let scenario = json!({
        "duration_s": 60.0,
        "links": {
            "short": {"rate_mbps": 100, "delay_ms": 10, "queue": {"bdp": 1.0}},
            "long": {"rate_mbps": 100, "delay_ms": 25, "queue": {"bdp": 1.0}},
        },
        "flows": [flow("short"), flow("long")],
        "events": [reroute(20.0, "long"), reroute(40.0, "short")],
    });
    let log = run(&scenario, SECOND);
    // 100 RTTs after each change.
    for (from, to, share) in [(20.0, 25.0, 24.1), (40.0, 45.0, 48.2)] {
        let goodputs = [0, 1, 2, 3].map(|number| goodput(&log, number, from, to));
        assert!(jain(&goodputs) > 0.97 && mean(&goodputs) > 0.85 * share, "{goodputs:?}");
    }
    assert!(log.flows.iter().all(|flow| flow.delay_inflation < 1.1), "{:?}", log.flows);
}

#[test]
fn frames_of_capacity_are_not_taken_for_the_bandwidth_of_the_link() {
    // Idle for 9 ms, then 3 ms at 200 Mbit/s, like Starlink's frames: the link carries 50 Mbit/s. Table I:
    // "bw, Bandwidth of the outgoing link". With the rate within a frame, utilization would seem low and the
    // window would grow without limit.
    let path = trace(&[(9 * MS, 12 * MS, 0, true), (3 * MS, 12 * MS, 200, true)]);
    let log = run_over(path, &traced(json!({"packets": 500}), 30.0, &["leotcp"]), 500 * MS);
    let flow = &log.flows[0];
    assert!(flow.normalized_goodput > 0.65 && flow.delay_inflation < 1.5, "{flow:?}");
    assert_eq!(flow.lost_packets, 0, "{flow:?}");
}

#[test]
fn leotcp_reads_the_queues_of_managed_links_too() {
    for kind in ["fq_codel", "pie", "cake"] {
        let mut scenario = dumbbell(100.0, 25.0, 20.0, &["leotcp", "leotcp"]);
        scenario["links"]["b"]["queue"] = json!({"kind": kind});
        let log = run(&scenario, SECOND);
        let (first, second) = (goodput(&log, 0, 10.0, 20.0), goodput(&log, 1, 10.0, 20.0));
        assert!(
            (first / second - 1.0).abs() < 0.05 && first + second > 0.9 * 96.5,
            "{first} {second} {kind}"
        );
        assert!(log.flows[0].delay_inflation < 1.05, "{kind}: {:?}", log.flows[0]);
    }
}

fn line_of_links(scheme: &str, count: usize) -> Value {
    let names: Vec<String> = (0..count).map(|number| format!("l{number:03}")).collect();
    let links: serde_json::Map<String, Value> = names
        .iter()
        .map(|name| (name.clone(), json!({"rate_mbps": 100, "delay_ms": 2, "queue": {"bdp": 1.0}})))
        .collect();
    json!({"duration_s": 3.0, "links": links, "flows": [{"scheme": scheme, "route": names}]})
}

#[test]
fn leotcp_fills_a_route_of_many_links() {
    let log = run(&line_of_links("leotcp", 40), 0);
    assert!(log.flows[0].goodput_mbps > 75.0, "{:?}", log.flows[0]);
    assert!(log.flows[0].delay_inflation < 1.1, "{:?}", log.flows[0]);
}
