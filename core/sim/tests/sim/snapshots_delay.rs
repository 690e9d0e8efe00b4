//! Snapshots of delay-based schemes, in whole packets.

use crate::support::{SECOND, alone, digest, dumbbell, run};
use serde_json::json;

#[test]
fn cdg_alone() {
    insta::assert_snapshot!(alone("cdg"), @r"
    cwnd 70 69 69 69 67 44 67 65 87 59 57 56 79 58 58 57 80 74 70 68
    cdg: sent 30522 delivered 30486 lost 0 retransmitted 0 timeouts 0
    link: offered 30522 delivered 30486 dropped 0 lost 0 queued 3 in flight 33
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
    cwnd 74 94 110 124 69 90 107 121 134 85 103 118 131 81 99 115 129 76 95 111
    lp: sent 33358 delivered 33138 lost 143 retransmitted 143 timeouts 0
    link: offered 33358 delivered 33138 dropped 143 lost 0 queued 44 in flight 33
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
    cwnd 73 84 93 101 109 116 123 129 71 82 92 100 108 115 122 129 68 81 90 99
    veno: sent 33352 delivered 33150 lost 137 retransmitted 137 timeouts 0
    link: offered 33352 delivered 33150 dropped 137 lost 0 queued 32 in flight 33
    ");
}

#[test]
fn yeah_alone() {
    insta::assert_snapshot!(alone("yeah"), @r"
    cwnd 133 133 85 103 118 131 81 100 115 129 77 97 113 127 73 93 110 124 69 90
    yeah: sent 33607 delivered 33156 lost 396 retransmitted 396 timeouts 0
    link: offered 33607 delivered 33156 dropped 396 lost 0 queued 22 in flight 33
    ");
}

#[test]
fn copa_and_cubic_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["copa", "cubic"]), SECOND)), @r"
    cwnd 18 50 55 72 68 64 81 85 72 77 81 46 60 85 70 86 76 36 56 78
    copa: sent 19157 delivered 19070 lost 28 retransmitted 28 timeouts 0
    cubic: sent 14164 delivered 14104 lost 29 retransmitted 29 timeouts 0
    link: offered 33321 delivered 33174 dropped 57 lost 0 queued 56 in flight 34
    ");
}

#[test]
fn lp_and_cubic_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["lp", "cubic"]), SECOND)), @r"
    cwnd 66 45 61 38 52 37 51 33 47 34 48 33 46 32 46 31 47 37 43 31
    lp: sent 12502 delivered 12405 lost 75 retransmitted 75 timeouts 0
    cubic: sent 20871 delivered 20818 lost 11 retransmitted 11 timeouts 0
    link: offered 33373 delivered 33223 dropped 86 lost 0 queued 30 in flight 34
    ");
}

#[test]
fn vegas_and_reno_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["vegas", "reno"]), SECOND)), @r"
    cwnd 26 12 8 3 11 9 7 5 13 9 7 6 8 10 7 5 6 10 8 6
    vegas: sent 2928 delivered 2891 lost 32 retransmitted 32 timeouts 0
    reno: sent 30480 delivered 30311 lost 83 retransmitted 83 timeouts 0
    link: offered 33408 delivered 33202 dropped 115 lost 0 queued 58 in flight 33
    ");
}

#[test]
fn cdg_and_reno_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["cdg", "reno"]), SECOND)), @r"
    cwnd 23 27 18 29 23 21 17 15 17 21 19 16 16 16 11 13 20 17 16 18
    cdg: sent 5764 delivered 5742 lost 8 retransmitted 8 timeouts 0
    reno: sent 27642 delivered 27477 lost 96 retransmitted 96 timeouts 0
    link: offered 33406 delivered 33219 dropped 104 lost 0 queued 49 in flight 34
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
    cwnd 29 22 20 23 10 16 12 15 17 19 27 13 28 16 15 21 21 29 16 15
    veno: sent 9881 delivered 9770 lost 91 retransmitted 91 timeouts 0
    link: offered 9881 delivered 9784 dropped 0 lost 91 queued 0 in flight 6
    ");
}

#[test]
fn copa_with_one_percent_of_random_loss() {
    insta::assert_snapshot!(with_loss("copa"), @r"
    cwnd 94 66 68 71 70 69 68 79 69 71 71 70 77 75 69 69 71 74 70 68
    copa: sent 32449 delivered 32114 lost 300 retransmitted 300 timeouts 0
    link: offered 32449 delivered 32114 dropped 0 lost 300 queued 2 in flight 33
    ");
}
