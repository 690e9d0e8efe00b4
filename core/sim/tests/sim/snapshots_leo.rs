//! Named scenarios in whole packets for the schemes made for LEO paths: a change of behaviour shows here and is reviewed.

use std::sync::Arc;

use crate::support::{MS, SECOND, alone, digest, simulation, trace};
use leo_sim::{TraceSet, run_many};
use serde_json::{Value, json};

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
    cwnd 34 35 34 34 35 34 32 34 34 35 34 36 35 35 34 34 35 34 34 35
    leotcp: sent 16063 delivered 16012 lost 33 retransmitted 33 timeouts 0
    leotcp: sent 16255 delivered 16203 lost 34 retransmitted 34 timeouts 0
    link: offered 32318 delivered 32215 dropped 0 lost 67 queued 3 in flight 33
    ");
}

#[test]
fn satcp_over_handovers() {
    insta::assert_snapshot!(reconfigured("satcp"), @r"
    cwnd 110 118 132 103 110 115 115 116 120 130 107 123 132 100 109 113 113 114 118 128
    satcp: sent 33145 delivered 32971 lost 80 retransmitted 80 timeouts 0
    link: offered 33145 delivered 32971 dropped 11 lost 69 queued 60 in flight 34
    ");
}

#[test]
fn starquic_over_reconfigurations() {
    insta::assert_snapshot!(reconfigured("starquic"), @r"
    cwnd 110 118 132 103 110 115 121 128 95 115 127 133 107 123 131 96 116 128 133 108
    starquic: sent 33109 delivered 32954 lost 81 retransmitted 81 timeouts 0
    link: offered 33109 delivered 32954 dropped 12 lost 69 queued 40 in flight 34
    ");
}

#[test]
fn starquic_with_bbr3_over_reconfigurations() {
    insta::assert_snapshot!(reconfigured("starquic-bbr3"), @r"
    cwnd 114 114 114 115 115 136 116 116 115 115 115 115 115 115 115 115 115 115 115 116
    starquic-bbr3: sent 32776 delivered 32530 lost 211 retransmitted 211 timeouts 0
    link: offered 32776 delivered 32530 dropped 143 lost 68 queued 2 in flight 33
    ");
}

#[test]
fn leocc_alone() {
    insta::assert_snapshot!(alone("leocc"), @r"
    cwnd 148 148 148 146 146 146 146 146 146 146 146 146 146 146 146 146 146 146 144 144
    leocc: sent 33344 delivered 33152 lost 150 retransmitted 150 timeouts 0
    link: offered 33344 delivered 33152 dropped 150 lost 0 queued 8 in flight 34
    ");
}

#[test]
fn leocc_over_reconfigurations() {
    insta::assert_snapshot!(reconfigured("leocc"), @r"
    cwnd 148 148 148 146 146 34 146 146 146 146 146 146 146 146 146 34 144 144 144 144
    leocc: sent 33034 delivered 32505 lost 492 retransmitted 492 timeouts 0
    link: offered 33034 delivered 32505 dropped 478 lost 14 queued 3 in flight 34
    ");
}
