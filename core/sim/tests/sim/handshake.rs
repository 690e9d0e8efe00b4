//! Connections with a SYN handshake.

use crate::support::{MS, dumbbell, run};
use serde_json::{Value, json};

fn opening(scheme: &str) -> Value {
    let mut scenario = dumbbell(100.0, 25.0, 20.0, &[scheme]);
    scenario["handshake"] = json!(true);
    scenario["flows"][0]["transfer_bytes"] = json!(1_448);
    scenario
}

#[test]
fn a_handshake_costs_every_scheme_a_round_trip_and_measures_it() {
    for scheme in leo_sim::SCHEMES {
        let mut scenario = opening(scheme);
        let log = run(&scenario, 0);
        let flow = &log.flows[0];
        // 2 × 50 ms, 0.12 ms for the packet, 5 µs for the SYN and up to 20 µs per answer.
        assert!(flow.completion_s.is_some_and(|time| (0.1..0.1003).contains(&time)), "{scheme}: {flow:?}");
        // One sample from the SYN and one from the packet.
        assert!((flow.rtt_mean_ms - 50.06).abs() < 0.05 && flow.base_rtt_mean_ms == 50.0, "{flow:?}");
        assert_eq!((flow.sent_packets, log.links[0].delivered_bytes), (1, 1_500 + 60));
        scenario["handshake"] = json!(false);
        let without = run(&scenario, 0).flows[0].completion_s;
        assert!(without.is_some_and(|time| (0.05..0.0502).contains(&time)), "{scheme}: {without:?}");
    }
}

#[test]
fn a_lost_syn_goes_out_again_after_a_second_and_then_two() {
    // An outage only delays packets, so lose the SYN in a one-packet queue filled by UDP at twice the rate.
    let mut scenario = opening("cubic");
    scenario["links"]["b"] = json!({"rate_mbps": 100, "delay_ms": 25, "queue": {"packets": 1}});
    let jam = json!({"scheme": "udp", "rate_mbps": 100_000, "route": ["b"], "stop_s": 2.5});
    scenario["flows"] =
        json!([{"scheme": "cubic", "route": ["b"], "start_s": 0.2, "transfer_bytes": 1_448}, jam]);
    let log = run(&scenario, 100 * MS);
    let flow = &log.flows[0];
    // SYNs at 0.2, 1.2 and 3.2 s; the last is answered.
    assert!(flow.completion_s.is_some_and(|time| (3.1..3.11).contains(&time)), "{flow:?}");
    assert!(
        log.flow_series
            .flow
            .iter()
            .zip(&log.flow_series.time_s)
            .all(|(flow, time)| *flow == 1 || *time > 3.2)
    );
}

#[test]
fn the_handshake_gives_the_first_sample_to_who_paces_by_it() {
    // BBR's initial pacing rate is 2.89 initial windows per first RTT, or per 1 ms without an RTT sample.
    let rate = |handshake: bool| {
        let mut scenario = opening("bbr");
        scenario["handshake"] = json!(handshake);
        run(&scenario, 10 * MS)
            .flow_series
            .pacing_mbps
            .into_iter()
            .find(|rate| *rate > 0.0)
            .expect("it paces")
    };
    let (with, without) = (rate(true), rate(false));
    assert!((45.0..55.0).contains(&(without / with)), "{with} and {without}");
}

#[test]
fn a_flow_that_stops_while_it_opens_has_sent_nothing() {
    let mut scenario = opening("cubic");
    scenario["flows"][0]["stop_s"] = json!(0.03);
    let log = run(&scenario, 10 * MS);
    assert_eq!((log.flows[0].sent_packets, log.flows[0].completion_s), (0, None));
}
