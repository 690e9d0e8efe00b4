//! Named scenarios in whole packets for the schemes made for LEO paths: a change of behaviour shows here and is reviewed.

mod support;

use std::sync::Arc;

use leo_sim::{TraceSet, run_many};
use serde_json::{Value, json};
use support::{MS, SECOND, alone, digest, simulation, trace};

/// 20 s over 20 Mbit/s, 40 ms and 1 BDP, reconfigured at 6 s and 16 s: down for 30 ms, and then as it was.
fn reconfigured(scheme: &str) -> String {
    reconfigured_for(&[scheme])
}

fn reconfigured_for(schemes: &[&str]) -> String {
    let mut path = Arc::unwrap_or_clone(trace(&[
        (6 * SECOND, 20 * MS, 20, true),
        (30 * MS, 20 * MS, 20, false),
        (4 * SECOND - 30 * MS, 20 * MS, 20, true),
    ]));
    path.metadata =
        json!({"handovers": [{"predicted_s": 6.2}], "reattach_s": 10.0, "reattach_phase_s": 6.0}).to_string();
    let flows: Vec<Value> = schemes.iter().map(|scheme| json!({"scheme": scheme, "route": ["b"]})).collect();
    let scenario = json!({
        "duration_s": 20.0,
        "links": {"b": {"trace": "path", "queue": {"bdp": 1.0}}},
        "flows": flows,
    });
    let traces = TraceSet::from([("path".to_owned(), Arc::new(path))]);
    digest(&run_many(vec![simulation(&scenario, &traces, SECOND)], 1).remove(0))
}

#[test]
fn leotcp_alone() {
    insta::assert_snapshot!(alone("leotcp"), @r"
    cwnd 67 68 68 68 68 68 68 68 68 67 69 68 69 69 68 68 68 68 68 68
    leotcp: sent 32823 delivered 32789 lost 0 retransmitted 0 timeouts 0
    link: offered 32823 delivered 32789 dropped 0 lost 0 queued 1 in flight 33
    ");
}

#[test]
fn two_leotcp_flows_over_reconfigurations() {
    insta::assert_snapshot!(reconfigured_for(&["leotcp", "leotcp"]), @r"
    cwnd 34 35 34 34 35 34 33 35 34 34 35 35 35 34 35 35 34 34 34 34
    leotcp: sent 16007 delivered 15957 lost 33 retransmitted 33 timeouts 0
    leotcp: sent 16215 delivered 16165 lost 34 retransmitted 34 timeouts 0
    link: offered 32222 delivered 32122 dropped 0 lost 67 queued 1 in flight 32
    ");
}

#[test]
fn satcp_over_handovers() {
    insta::assert_snapshot!(reconfigured("satcp"), @r"
    cwnd 110 118 131 102 110 115 120 120 121 130 107 123 131 99 109 114 119 119 120 129
    satcp: sent 33167 delivered 32991 lost 81 retransmitted 81 timeouts 0
    link: offered 33167 delivered 32991 dropped 11 lost 70 queued 62 in flight 33
    ");
}

#[test]
fn starquic_over_reconfigurations() {
    insta::assert_snapshot!(reconfigured("starquic"), @r"
    cwnd 110 118 131 102 110 115 122 129 98 117 128 133 108 123 131 96 115 127 133 106
    starquic: sent 33127 delivered 32973 lost 82 retransmitted 82 timeouts 0
    link: offered 33127 delivered 32973 dropped 12 lost 70 queued 39 in flight 33
    ");
}

#[test]
fn starquic_with_bbr3_over_reconfigurations() {
    insta::assert_snapshot!(reconfigured("starquic-bbr3"), @r"
    cwnd 133 133 133 115 115 136 116 116 115 115 115 115 115 115 115 115 115 115 115 34
    starquic-bbr3: sent 32721 delivered 32397 lost 291 retransmitted 291 timeouts 0
    link: offered 32721 delivered 32422 dropped 198 lost 68 queued 0 in flight 33
    ");
}

#[test]
fn leocc_alone() {
    insta::assert_snapshot!(alone("leocc"), @r"
    cwnd 146 148 148 146 146 146 146 146 146 146 146 146 146 146 146 144 144 146 146 148
    leocc: sent 33347 delivered 33145 lost 150 retransmitted 150 timeouts 0
    link: offered 33347 delivered 33145 dropped 150 lost 0 queued 18 in flight 34
    ");
}

#[test]
fn leocc_over_reconfigurations() {
    insta::assert_snapshot!(reconfigured("leocc"), @r"
    cwnd 146 148 148 146 146 34 148 146 146 146 146 146 146 146 146 34 146 146 146 146
    leocc: sent 33052 delivered 32525 lost 491 retransmitted 491 timeouts 0
    link: offered 33052 delivered 32525 dropped 470 lost 21 queued 3 in flight 33
    ");
}
