//! Named scenarios in whole packets for the schemes that watch delay: a change of behaviour shows here and is reviewed.

mod support;

use serde_json::json;
use support::{SECOND, alone, digest, dumbbell, run};

#[test]
fn cdg_alone() {
    insta::assert_snapshot!(alone("cdg"), @r"
    cwnd 70 69 69 67 63 63 60 59 59 82 55 74 77 75 74 70 69 67 66 66
    cdg: sent 31136 delivered 31103 lost 0 retransmitted 0 timeouts 0
    link: offered 31136 delivered 31103 dropped 0 lost 0 queued 2 in flight 31
    ");
}

#[test]
fn copa_alone() {
    insta::assert_snapshot!(alone("copa"), @r"
    cwnd 85 72 72 71 69 68 69 68 70 71 72 72 70 70 68 68 69 70 71 72
    copa: sent 32788 delivered 32751 lost 0 retransmitted 0 timeouts 0
    link: offered 32788 delivered 32751 dropped 0 lost 0 queued 4 in flight 33
    ");
}

#[test]
fn lp_alone() {
    insta::assert_snapshot!(alone("lp"), @r"
    cwnd 75 95 111 125 71 91 108 122 73 88 105 120 133 84 102 117 131 81 99 115
    lp: sent 33365 delivered 33137 lost 147 retransmitted 147 timeouts 0
    link: offered 33365 delivered 33137 dropped 147 lost 0 queued 48 in flight 33
    ");
}

#[test]
fn nv_alone() {
    insta::assert_snapshot!(alone("nv"), @r"
    cwnd 77 77 77 77 77 77 77 85 85 85 85 85 85 85 85 85 93 93 93 93
    nv: sent 33224 delivered 33165 lost 0 retransmitted 0 timeouts 0
    link: offered 33224 delivered 33165 dropped 0 lost 0 queued 26 in flight 33
    ");
}

#[test]
fn vegas_alone() {
    insta::assert_snapshot!(alone("vegas"), @r"
    cwnd 73 73 73 73 73 73 73 73 73 73 73 73 73 73 73 73 73 73 73 73
    vegas: sent 33230 delivered 33165 lost 27 retransmitted 27 timeouts 0
    link: offered 33230 delivered 33165 dropped 27 lost 0 queued 5 in flight 33
    ");
}

#[test]
fn veno_alone() {
    insta::assert_snapshot!(alone("veno"), @r"
    cwnd 74 84 93 101 109 116 123 130 73 83 92 101 108 116 123 129 70 82 91 100
    veno: sent 33364 delivered 33157 lost 140 retransmitted 140 timeouts 0
    link: offered 33364 delivered 33157 dropped 140 lost 0 queued 34 in flight 33
    ");
}

#[test]
fn yeah_alone() {
    insta::assert_snapshot!(alone("yeah"), @r"
    cwnd 132 70 91 107 122 105 89 106 121 134 87 104 119 132 85 103 118 131 83 101
    yeah: sent 33624 delivered 33154 lost 402 retransmitted 402 timeouts 0
    link: offered 33624 delivered 33154 dropped 402 lost 0 queued 35 in flight 33
    ");
}

#[test]
fn copa_and_cubic_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["copa", "cubic"]), SECOND)), @r"
    cwnd 18 36 54 55 83 51 82 74 53 72 58 75 67 67 61 87 48 62 62 64
    copa: sent 18538 delivered 18461 lost 26 retransmitted 26 timeouts 0
    cubic: sent 14812 delivered 14762 lost 30 retransmitted 30 timeouts 0
    link: offered 33350 delivered 33223 dropped 56 lost 0 queued 37 in flight 34
    ");
}

#[test]
fn lp_and_cubic_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["lp", "cubic"]), SECOND)), @r"
    cwnd 67 48 63 76 50 66 40 58 71 84 58 73 46 62 76 52 34 50 64 44
    lp: sent 17133 delivered 17039 lost 76 retransmitted 76 timeouts 0
    cubic: sent 16263 delivered 16184 lost 13 retransmitted 13 timeouts 0
    link: offered 33396 delivered 33223 dropped 89 lost 0 queued 50 in flight 34
    ");
}

#[test]
fn vegas_and_reno_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["vegas", "reno"]), SECOND)), @r"
    cwnd 26 12 8 8 13 9 7 5 11 9 6 5 12 9 7 6 12 9 7 6
    vegas: sent 3068 delivered 3036 lost 27 retransmitted 27 timeouts 0
    reno: sent 30362 delivered 30184 lost 84 retransmitted 84 timeouts 0
    link: offered 33430 delivered 33220 dropped 111 lost 0 queued 65 in flight 34
    ");
}

#[test]
fn cdg_and_reno_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["cdg", "reno"]), SECOND)), @r"
    cwnd 23 27 23 29 21 34 33 32 27 31 23 16 7 22 20 19 17 13 14 17
    cdg: sent 7091 delivered 7075 lost 4 retransmitted 4 timeouts 0
    reno: sent 26320 delivered 26148 lost 94 retransmitted 94 timeouts 0
    link: offered 33411 delivered 33223 dropped 98 lost 0 queued 56 in flight 34
    ");
}

fn with_loss(scheme: &str) -> String {
    let mut scenario = dumbbell(20.0, 20.0, 20.0, &[scheme]);
    scenario["links"]["b"]["loss"] = json!(0.01);
    digest(&run(&scenario, SECOND))
}

#[test]
fn veno_with_one_percent_of_random_loss() {
    insta::assert_snapshot!(with_loss("veno"), @r"
    cwnd 27 23 21 18 18 16 20 17 25 27 28 23 19 25 24 26 22 12 19 18
    veno: sent 10921 delivered 10800 lost 105 retransmitted 105 timeouts 0
    link: offered 10921 delivered 10811 dropped 0 lost 106 queued 0 in flight 4
    ");
}

#[test]
fn copa_with_one_percent_of_random_loss() {
    insta::assert_snapshot!(with_loss("copa"), @r"
    cwnd 94 68 72 73 72 71 73 70 71 70 72 74 72 72 72 71 69 70 73 70
    copa: sent 32651 delivered 32309 lost 301 retransmitted 301 timeouts 0
    link: offered 32651 delivered 32314 dropped 0 lost 302 queued 2 in flight 33
    ");
}
