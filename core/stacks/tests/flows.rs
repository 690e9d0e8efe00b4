//! QUIC flows over the simulator's links.

use leo_sim::{FlowSummary, PolicySet, RUN_ON, RunLog, Scenario, Simulation, TraceSet};
use serde_json::{Value, json};

fn scenario(flows: &Value) -> Value {
    json!({
        "name": "quic",
        "seed": 1,
        "duration_s": 10.0,
        "links": {"bottleneck": {"delay_ms": 20.0, "rate_mbps": 20.0, "queue": {"bdp": 1.0}}},
        "flows": flows,
    })
}

fn run(scenario: &Value) -> RunLog {
    let scenario = Scenario::from_json(&scenario.to_string()).expect("a valid scenario");
    let mut simulation =
        Simulation::new(&scenario, &TraceSet::new(), &PolicySet::new(), 30_000_000, 100_000_000, RUN_ON)
            .expect("a simulation");
    simulation.run(RUN_ON).expect("no interruption");
    simulation.run_log()
}

fn alone(scheme: &str) -> FlowSummary {
    run(&scenario(&json!([{"scheme": scheme, "route": ["bottleneck"]}]))).flows.swap_remove(0)
}

#[test]
fn quinn_fills_a_link_alone() {
    for scheme in ["quic:quinn-cubic", "quic:quinn-newreno"] {
        let flow = alone(scheme);
        // At most 1,425 bytes of the stream in 1,480 bytes as IP packets.
        assert!((18.0..19.3).contains(&flow.goodput_mbps), "{flow:?}");
        assert!(flow.base_rtt_mean_ms > 39.999 && flow.base_rtt_mean_ms < 40.001, "{flow:?}");
        // A queue of one bandwidth-delay product at most doubles the RTT.
        assert!((40.0..82.0).contains(&flow.rtt_mean_ms), "{flow:?}");
    }
}

#[test]
fn a_seed_fixes_every_value_of_the_run_log() {
    let scenario = scenario(&json!([
        {"scheme": "quic:quinn-cubic", "route": ["bottleneck"]},
        {"scheme": "cubic", "route": ["bottleneck"], "start_s": 1.0},
        {"scheme": "quic:quinn-newreno", "route": ["bottleneck"], "transfer_bytes": 1_000_000, "start_s": 2.0},
    ]));
    // As text, because values that are not there are no numbers.
    assert_eq!(format!("{:?}", run(&scenario)), format!("{:?}", run(&scenario)));
}

#[test]
fn links_keep_every_packet_of_quic_and_tcp_flows_that_compete() {
    let log = run(&scenario(&json!([
        {"scheme": "quic:quinn-cubic", "route": ["bottleneck"]},
        {"scheme": "cubic", "route": ["bottleneck"]},
    ])));
    let link = &log.links[0];
    let gone = link.delivered_packets + link.dropped_packets + link.lost_packets;
    assert_eq!(link.offered_packets, gone + link.queued_packets + link.in_flight_packets);
    let sent: u64 = log.flows.iter().map(|flow| flow.sent_packets).sum();
    // QUIC's first packets share datagrams.
    assert!((sent - 4..=sent).contains(&link.offered_packets), "{sent} {link:?}");
    assert!(log.flows.iter().all(|flow| flow.goodput_mbps > 3.0), "{:?}", log.flows);
    let goodput: f64 = log.flows.iter().map(|flow| flow.goodput_mbps).sum();
    assert!((18.0..19.4).contains(&goodput), "{goodput}");
}

#[test]
fn a_small_transfer_completes_two_and_a_half_round_trips_after_its_start() {
    let flows = json!([{"scheme": "quic:quinn-cubic", "route": ["bottleneck"], "transfer_bytes": 2_000}]);
    let flow = run(&scenario(&flows)).flows.swap_remove(0);
    // RFC 9000 §7: a round trip of 40 ms for the handshake, half of one for the request, one for the data and their
    // acknowledgement; and 1 to 3 ms to transmit some packets of up to 1,480 bytes at 20 Mbit/s.
    let seconds = flow.completion_s.expect("it completes");
    assert!((0.101..0.103).contains(&seconds), "{seconds}");
    assert!((flow.goodput_mbps - 2_000.0 * 8e-6 / seconds).abs() < 1e-9, "{flow:?}");
}

#[test]
fn no_losses_of_a_window_end_a_connection() {
    // Slow start overflows a queue of four bandwidth-delay products: without a smaller window, every other of 4,400 packets.
    let mut deep = scenario(&json!([{"scheme": "quic:quinn-cubic", "route": ["bottleneck"]}]));
    deep["links"]["bottleneck"] = json!({"delay_ms": 50.0, "rate_mbps": 100.0, "queue": {"bdp": 4.0}});
    deep["duration_s"] = json!(4.0);
    assert_eq!(run(&deep).invalid, None);
    deep["links"]["bottleneck"]["loss"] = json!(0.3);
    assert_eq!(run(&deep).invalid, None);
}

#[test]
fn marks_reduce_the_window_without_losses() {
    let mut marked = scenario(&json!([{"scheme": "quic:quinn-newreno", "route": ["bottleneck"]}]));
    marked["links"]["bottleneck"]["queue"] = json!({"kind": "fq_codel"});
    let log = run(&marked);
    assert!(log.links[0].marked_packets > 0, "{:?}", log.links);
    assert!(log.flows[0].rtt_mean_ms < 60.0, "{:?}", log.flows);
}

#[test]
fn a_lost_connection_makes_the_run_invalid() {
    let mut dead = scenario(&json!([
        {"scheme": "cubic", "route": ["bottleneck"]},
        {"scheme": "quic:quinn-cubic", "route": ["bottleneck"]},
    ]));
    dead["links"]["bottleneck"]["loss"] = json!(1.0);
    dead["duration_s"] = json!(31.0);
    // RFC 9000 §10.1, with quinn's idle timeout of 30 s.
    let why = "flow 1, quic:quinn-cubic: its receiver lost the connection at 30.001 s: timed out";
    assert_eq!(run(&dead).invalid.as_deref(), Some(why));
}

#[test]
fn fields_that_have_no_meaning_for_quic_are_errors() {
    for (field, value) in [("ecn", json!(true)), ("tcp_rmem", json!([4096, 8192, 16384]))] {
        let mut flow = json!({"scheme": "quic:quinn-cubic", "route": ["bottleneck"]});
        flow[field] = value;
        let scenario = Scenario::from_json(&scenario(&json!([flow])).to_string()).expect("a valid scenario");
        let built = Simulation::new(&scenario, &TraceSet::new(), &PolicySet::new(), 1_000_000, 0, RUN_ON);
        let error = built.err().expect("an error").to_string();
        assert!(error.starts_with(&format!("quic: flows.0.{field}: ")), "{error}");
    }
}
