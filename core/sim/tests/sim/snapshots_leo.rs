//! Snapshots of schemes for LEO paths, in whole packets.

use std::sync::Arc;

use crate::support::{MS, SECOND, alone, digest, run_many, simulation, trace};
use leo_sim::TraceSet;
use serde_json::{Value, json};

/// 20 s over 20 Mbit/s, 40 ms and 1 BDP with reconfigurations at 6 s and 16 s: 30 ms outages, same path.
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
    cwnd 111 118 132 103 110 115 115 116 120 130 107 123 132 100 109 113 113 114 118 128
    satcp: sent 33146 delivered 32970 lost 81 retransmitted 81 timeouts 0
    link: offered 33146 delivered 32970 dropped 11 lost 70 queued 62 in flight 33
    ");
}

#[test]
fn satcp_of_every_freeze_over_handovers() {
    let all = ["satcp-0.3s", "satcp-0.9s", "satcp-1.3s", "satcp-2.3s"].map(reconfigured).join("\n");
    insta::assert_snapshot!(all, @r"
    cwnd 111 118 132 103 110 115 97 109 114 115 120 127 134 112 126 132 104 110 115 123
    satcp-0.3s: sent 33161 delivered 32993 lost 79 retransmitted 79 timeouts 0
    link: offered 33161 delivered 32993 dropped 9 lost 70 queued 56 in flight 33

    cwnd 111 118 132 103 110 115 115 116 120 130 107 123 132 100 109 113 113 114 118 128
    satcp-0.9s: sent 33146 delivered 32970 lost 81 retransmitted 81 timeouts 0
    link: offered 33146 delivered 32970 dropped 11 lost 70 queued 62 in flight 33

    cwnd 111 118 132 103 110 115 115 116 120 130 107 123 132 100 109 113 113 114 118 128
    satcp-1.3s: sent 33146 delivered 32970 lost 81 retransmitted 81 timeouts 0
    link: offered 33146 delivered 32970 dropped 11 lost 70 queued 62 in flight 33

    cwnd 111 118 132 103 110 115 115 116 120 130 107 123 132 100 109 113 113 114 118 128
    satcp-2.3s: sent 33146 delivered 32970 lost 81 retransmitted 81 timeouts 0
    link: offered 33146 delivered 32970 dropped 11 lost 70 queued 62 in flight 33
    ");
}

#[test]
fn two_leotcp_flows_without_a_part_of_the_design_over_reconfigurations() {
    let without = |name| reconfigured_for(&[name, name]);
    let all = ["leotcp-ownrtt", "leotcp-noinitial"].map(without).join("\n");
    insta::assert_snapshot!(all, @r"
    cwnd 35 34 34 35 34 34 36 35 34 35 35 35 34 34 34 34 34 35 34 36
    leotcp-ownrtt: sent 16143 delivered 16094 lost 33 retransmitted 33 timeouts 0
    leotcp-ownrtt: sent 16151 delivered 16098 lost 35 retransmitted 35 timeouts 0
    link: offered 32294 delivered 32192 dropped 0 lost 68 queued 2 in flight 32

    cwnd 35 35 34 35 35 34 33 35 34 35 35 35 34 34 34 34 33 35 34 34
    leotcp-noinitial: sent 15847 delivered 15796 lost 33 retransmitted 33 timeouts 0
    leotcp-noinitial: sent 16048 delivered 15996 lost 34 retransmitted 34 timeouts 0
    link: offered 31895 delivered 31792 dropped 0 lost 67 queued 3 in flight 33
    ");
}

#[test]
fn starquic_over_reconfigurations() {
    insta::assert_snapshot!(reconfigured("starquic"), @r"
    cwnd 111 118 132 103 110 115 121 128 96 115 128 133 107 123 131 97 117 128 133 109
    starquic: sent 33112 delivered 32954 lost 82 retransmitted 82 timeouts 0
    link: offered 33112 delivered 32954 dropped 12 lost 70 queued 43 in flight 33
    ");
}

#[test]
fn starquic_with_bbr3_over_reconfigurations() {
    insta::assert_snapshot!(reconfigured("starquic-bbr3"), @r"
    cwnd 114 114 114 115 115 115 115 115 117 117 117 115 115 115 115 115 115 135 115 34
    starquic-bbr3: sent 32434 delivered 32221 lost 194 retransmitted 194 timeouts 0
    link: offered 32434 delivered 32221 dropped 126 lost 68 queued 0 in flight 19
    ");
}

#[test]
fn leocc_alone() {
    insta::assert_snapshot!(alone("leocc"), @r"
    cwnd 148 148 148 146 146 146 146 146 146 146 146 146 146 146 146 146 146 146 144 144
    leocc: sent 33344 delivered 33153 lost 152 retransmitted 152 timeouts 0
    link: offered 33344 delivered 33153 dropped 152 lost 0 queued 6 in flight 33
    ");
}

#[test]
fn leocc_over_reconfigurations() {
    insta::assert_snapshot!(reconfigured("leocc"), @r"
    cwnd 148 148 148 146 146 34 146 146 146 146 144 144 144 142 142 34 144 144 144 144
    leocc: sent 33106 delivered 32554 lost 517 retransmitted 517 timeouts 0
    link: offered 33106 delivered 32554 dropped 494 lost 23 queued 2 in flight 33
    ");
}
