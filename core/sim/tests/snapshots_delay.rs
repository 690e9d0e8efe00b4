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
    cwnd 75 95 111 125 71 91 108 123 70 90 107 121 134 88 105 120 133 86 103 118
    lp: sent 33385 delivered 33156 lost 144 retransmitted 144 timeouts 0
    link: offered 33385 delivered 33156 dropped 144 lost 0 queued 52 in flight 33
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
    vegas: sent 33231 delivered 33165 lost 27 retransmitted 27 timeouts 0
    link: offered 33231 delivered 33165 dropped 27 lost 0 queued 6 in flight 33
    ");
}

#[test]
fn veno_alone() {
    insta::assert_snapshot!(alone("veno"), @r"
    cwnd 74 84 93 102 109 117 123 130 73 83 93 101 109 116 123 129 72 82 92 100
    veno: sent 33369 delivered 33162 lost 140 retransmitted 140 timeouts 0
    link: offered 33369 delivered 33162 dropped 140 lost 0 queued 33 in flight 34
    ");
}

#[test]
fn yeah_alone() {
    insta::assert_snapshot!(alone("yeah"), @r"
    cwnd 133 70 91 107 122 105 88 105 120 133 86 104 119 132 84 102 117 131 82 100
    yeah: sent 33630 delivered 33160 lost 403 retransmitted 403 timeouts 0
    link: offered 33630 delivered 33160 dropped 403 lost 0 queued 34 in flight 33
    ");
}

#[test]
fn copa_and_cubic_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["copa", "cubic"]), SECOND)), @r"
    cwnd 18 37 54 35 57 46 74 72 65 80 86 88 73 49 66 85 78 72 49 62
    copa: sent 18450 delivered 18359 lost 34 retransmitted 34 timeouts 0
    cubic: sent 14901 delivered 14862 lost 26 retransmitted 26 timeouts 0
    link: offered 33351 delivered 33221 dropped 60 lost 0 queued 36 in flight 34
    ");
}

#[test]
fn lp_and_cubic_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["lp", "cubic"]), SECOND)), @r"
    cwnd 67 47 62 41 55 40 30 22 19 34 29 44 31 29 38 28 44 57 35 54
    lp: sent 12064 delivered 11938 lost 73 retransmitted 73 timeouts 0
    cubic: sent 21319 delivered 21285 lost 12 retransmitted 12 timeouts 0
    link: offered 33383 delivered 33223 dropped 85 lost 0 queued 41 in flight 34
    ");
}

#[test]
fn vegas_and_reno_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["vegas", "reno"]), SECOND)), @r"
    cwnd 26 13 8 8 13 9 7 5 12 9 6 5 10 9 7 5 12 10 7 6
    vegas: sent 3051 delivered 3018 lost 28 retransmitted 28 timeouts 0
    reno: sent 30378 delivered 30204 lost 85 retransmitted 85 timeouts 0
    link: offered 33429 delivered 33222 dropped 113 lost 0 queued 61 in flight 33
    ");
}

#[test]
fn cdg_and_reno_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["cdg", "reno"]), SECOND)), @r"
    cwnd 23 27 23 29 21 34 33 32 22 20 17 17 16 17 16 16 15 21 27 23
    cdg: sent 6871 delivered 6844 lost 4 retransmitted 4 timeouts 0
    reno: sent 26543 delivered 26379 lost 92 retransmitted 92 timeouts 0
    link: offered 33414 delivered 33223 dropped 96 lost 0 queued 61 in flight 34
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
    cwnd 27 22 21 19 19 18 20 18 25 28 30 24 20 22 25 21 15 15 18 17
    veno: sent 10999 delivered 10888 lost 107 retransmitted 107 timeouts 0
    link: offered 10999 delivered 10888 dropped 0 lost 107 queued 0 in flight 4
    ");
}

#[test]
fn copa_with_one_percent_of_random_loss() {
    insta::assert_snapshot!(with_loss("copa"), @r"
    cwnd 94 77 70 69 68 71 71 70 71 72 72 72 70 69 69 70 69 73 71 69
    copa: sent 32627 delivered 32290 lost 301 retransmitted 301 timeouts 0
    link: offered 32627 delivered 32290 dropped 0 lost 301 queued 2 in flight 34
    ");
}
