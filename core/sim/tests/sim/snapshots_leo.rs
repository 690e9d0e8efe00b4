//! Snapshots of schemes for LEO paths, in whole packets.

use crate::support::{MS, SECOND, alone, digest, run_over, trace, traced};
use leo_link::PathTrace;
use serde_json::json;

/// 20 s over 20 Mbit/s, 40 ms and 1 BDP with reconfigurations at 6 s and 16 s: 30 ms outages, same path.
fn reconfigured(schemes: &[&str]) -> String {
    let about = json!({"handovers": [{"predicted_s": 6.2}], "reattach_s": 10.0, "reattach_phase_s": 6.0});
    let parts = [
        (6 * SECOND, 20 * MS, 20, true),
        (30 * MS, 20 * MS, 20, false),
        (4 * SECOND - 30 * MS, 20 * MS, 20, true),
    ];
    let path = PathTrace { metadata: about.to_string(), ..trace(&parts) };
    digest(&run_over(path, &traced(json!({"bdp": 1.0}), 20.0, schemes), SECOND))
}

#[test]
fn leotcp_and_leocc_alone() {
    insta::assert_snapshot!(alone(["leotcp", "leocc"]), @r"
    cwnd 67 68 68 68 68 68 68 68 68 67 69 68 69 69 68 68 68 68 68 68
    leotcp: sent 32823 delivered 32789 lost 0 retransmitted 0 timeouts 0
    link: offered 32823 delivered 32789 dropped 0 lost 0 queued 1 in flight 33

    cwnd 148 148 148 146 146 146 146 146 146 146 146 146 146 146 146 146 146 146 144 144
    leocc: sent 33344 delivered 33153 lost 152 retransmitted 152 timeouts 0
    link: offered 33344 delivered 33153 dropped 152 lost 0 queued 6 in flight 33
    ");
}

#[test]
fn two_leotcp_flows_with_and_without_a_part_of_the_design_over_reconfigurations() {
    let variants = ["leotcp", "leotcp-ownrtt", "leotcp-noinitial"];
    insta::assert_snapshot!(variants.map(|scheme| reconfigured(&[scheme, scheme])).join("\n"), @r"
    cwnd 34 35 34 34 35 34 32 34 34 35 34 36 35 35 34 34 35 34 34 35
    leotcp: sent 16063 delivered 16012 lost 33 retransmitted 33 timeouts 0
    leotcp: sent 16255 delivered 16203 lost 34 retransmitted 34 timeouts 0
    link: offered 32318 delivered 32215 dropped 0 lost 67 queued 3 in flight 33

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
fn satcp_of_every_freeze_over_handovers() {
    let freezes = ["satcp", "satcp-0.3s", "satcp-0.9s", "satcp-1.3s", "satcp-2.3s"];
    insta::assert_snapshot!(freezes.map(|scheme| reconfigured(&[scheme])).join("\n"), @r"
    cwnd 111 118 132 103 110 115 115 116 120 130 107 123 132 100 109 113 113 114 118 128
    satcp: sent 33146 delivered 32970 lost 81 retransmitted 81 timeouts 0
    link: offered 33146 delivered 32970 dropped 11 lost 70 queued 62 in flight 33

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
fn starquic_and_leocc_over_reconfigurations() {
    let schemes = ["starquic", "starquic-bbr3", "leocc"];
    insta::assert_snapshot!(schemes.map(|scheme| reconfigured(&[scheme])).join("\n"), @r"
    cwnd 111 118 132 103 110 115 121 128 96 115 128 133 107 123 131 97 117 128 133 109
    starquic: sent 33112 delivered 32954 lost 82 retransmitted 82 timeouts 0
    link: offered 33112 delivered 32954 dropped 12 lost 70 queued 43 in flight 33

    cwnd 114 114 114 115 115 115 115 115 117 117 117 115 115 115 115 115 115 135 115 34
    starquic-bbr3: sent 32434 delivered 32221 lost 194 retransmitted 194 timeouts 0
    link: offered 32434 delivered 32221 dropped 126 lost 68 queued 0 in flight 19

    cwnd 148 148 148 146 146 34 146 146 146 146 144 144 144 142 142 34 144 144 144 144
    leocc: sent 33106 delivered 32554 lost 517 retransmitted 517 timeouts 0
    link: offered 33106 delivered 32554 dropped 494 lost 23 queued 2 in flight 33
    ");
}
