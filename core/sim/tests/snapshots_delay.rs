//! Named scenarios in whole packets for the schemes that watch delay: a change of behaviour shows here and is reviewed.

mod support;

use serde_json::json;
use support::{SECOND, alone, digest, dumbbell, run};

#[test]
fn cdg_alone() {
    insta::assert_snapshot!(alone("cdg"), @r"
    cwnd 70 69 69 68 64 64 64 63 63 59 60 59 56 44 61 60 59 82 77 73
    cdg: sent 30477 delivered 30437 lost 0 retransmitted 0 timeouts 0
    link: offered 30477 delivered 30437 dropped 0 lost 0 queued 6 in flight 34
    ");
}

#[test]
fn copa_alone() {
    insta::assert_snapshot!(alone("copa"), @r"
    cwnd 66 72 71 70 69 68 69 70 71 72 72 70 69 68 68 70 71 72 72 70
    copa: sent 32802 delivered 32765 lost 0 retransmitted 0 timeouts 0
    link: offered 32802 delivered 32765 dropped 0 lost 0 queued 3 in flight 34
    ");
}

#[test]
fn lp_alone() {
    insta::assert_snapshot!(alone("lp"), @r"
    cwnd 2 1 1 8 1 1 1 1 1 1 1 89 1 1 1 1 3 33 1 1
    lp: sent 3096 delivered 3095 lost 0 retransmitted 0 timeouts 0
    link: offered 3096 delivered 3095 dropped 0 lost 0 queued 0 in flight 1
    ");
}

#[test]
fn nv_alone() {
    insta::assert_snapshot!(alone("nv"), @r"
    cwnd 77 77 77 77 77 77 77 85 85 85 85 85 85 85 85 85 93 93 93 93
    nv: sent 33223 delivered 33165 lost 0 retransmitted 0 timeouts 0
    link: offered 33223 delivered 33165 dropped 0 lost 0 queued 25 in flight 33
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
    cwnd 74 84 93 101 109 116 123 130 73 83 92 101 108 116 123 129 71 82 91 100
    veno: sent 33365 delivered 33162 lost 137 retransmitted 137 timeouts 0
    link: offered 33365 delivered 33162 dropped 137 lost 0 queued 32 in flight 34
    ");
}

#[test]
fn yeah_alone() {
    insta::assert_snapshot!(alone("yeah"), @r"
    cwnd 133 119 89 106 121 134 87 104 119 132 85 102 118 131 83 101 116 130 81 99
    yeah: sent 33622 delivered 33160 lost 397 retransmitted 397 timeouts 0
    link: offered 33622 delivered 33160 dropped 397 lost 0 queued 32 in flight 33
    ");
}

#[test]
fn copa_and_cubic_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["copa", "cubic"]), SECOND)), @r"
    cwnd 18 54 62 60 70 57 68 57 70 61 75 79 69 60 70 63 68 52 70 69
    copa: sent 19354 delivered 19255 lost 39 retransmitted 39 timeouts 0
    cubic: sent 14016 delivered 13968 lost 38 retransmitted 38 timeouts 0
    link: offered 33370 delivered 33223 dropped 77 lost 0 queued 36 in flight 34
    ");
}

#[test]
fn lp_and_cubic_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["lp", "cubic"]), SECOND)), @r"
    cwnd 1 1 12 19 21 20 13 19 20 1 15 18 18 4 16 17 3 10 13 12
    lp: sent 3315 delivered 3294 lost 9 retransmitted 9 timeouts 0
    cubic: sent 29980 delivered 29893 lost 13 retransmitted 13 timeouts 0
    link: offered 33295 delivered 33187 dropped 22 lost 0 queued 53 in flight 33
    ");
}

#[test]
fn vegas_and_reno_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["vegas", "reno"]), SECOND)), @r"
    cwnd 26 12 8 10 13 9 7 5 12 9 6 5 10 9 7 5 12 10 7 6
    vegas: sent 3041 delivered 3010 lost 28 retransmitted 28 timeouts 0
    reno: sent 30392 delivered 30212 lost 86 retransmitted 86 timeouts 0
    link: offered 33433 delivered 33222 dropped 114 lost 0 queued 64 in flight 33
    ");
}

#[test]
fn cdg_and_reno_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["cdg", "reno"]), SECOND)), @r"
    cwnd 15 15 14 23 25 23 36 26 18 22 20 12 18 31 24 20 16 23 27 26
    cdg: sent 6702 delivered 6667 lost 10 retransmitted 10 timeouts 0
    reno: sent 26711 delivered 26556 lost 89 retransmitted 89 timeouts 0
    link: offered 33413 delivered 33223 dropped 99 lost 0 queued 57 in flight 34
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
    cwnd 27 22 21 20 19 17 21 18 23 29 30 25 21 21 26 22 16 15 18 18
    veno: sent 11012 delivered 10894 lost 107 retransmitted 107 timeouts 0
    link: offered 11012 delivered 10894 dropped 0 lost 107 queued 0 in flight 11
    ");
}

#[test]
fn copa_with_one_percent_of_random_loss() {
    insta::assert_snapshot!(with_loss("copa"), @r"
    cwnd 99 73 73 69 69 70 73 71 68 69 71 69 69 72 69 70 70 72 70 70
    copa: sent 32660 delivered 32309 lost 301 retransmitted 301 timeouts 0
    link: offered 32660 delivered 32321 dropped 0 lost 302 queued 4 in flight 33
    ");
}
