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
    cwnd 75 95 111 125 73 93 109 124 70 91 108 122 82 89 106 121 134 87 105 120
    lp: sent 33389 delivered 33160 lost 143 retransmitted 143 timeouts 0
    link: offered 33389 delivered 33160 dropped 143 lost 0 queued 52 in flight 34
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
    veno: sent 33368 delivered 33162 lost 140 retransmitted 140 timeouts 0
    link: offered 33368 delivered 33162 dropped 140 lost 0 queued 32 in flight 34
    ");
}

#[test]
fn yeah_alone() {
    insta::assert_snapshot!(alone("yeah"), @r"
    cwnd 132 70 91 107 122 105 88 105 120 133 86 104 119 132 84 102 117 131 82 100
    yeah: sent 33630 delivered 33160 lost 403 retransmitted 403 timeouts 0
    link: offered 33630 delivered 33160 dropped 403 lost 0 queued 34 in flight 33
    ");
}

#[test]
fn copa_and_cubic_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["copa", "cubic"]), SECOND)), @r"
    cwnd 18 37 54 60 61 79 81 59 56 71 46 59 74 77 64 78 68 76 91 56
    copa: sent 18636 delivered 18571 lost 17 retransmitted 17 timeouts 0
    cubic: sent 14686 delivered 14652 lost 25 retransmitted 25 timeouts 0
    link: offered 33322 delivered 33223 dropped 42 lost 0 queued 24 in flight 33
    ");
}

#[test]
fn lp_and_cubic_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["lp", "cubic"]), SECOND)), @r"
    cwnd 67 48 63 76 51 66 50 57 71 84 59 74 47 63 76 51 31 46 59 42
    lp: sent 17064 delivered 16956 lost 75 retransmitted 75 timeouts 0
    cubic: sent 16315 delivered 16267 lost 18 retransmitted 18 timeouts 0
    link: offered 33379 delivered 33223 dropped 93 lost 0 queued 29 in flight 34
    ");
}

#[test]
fn vegas_and_reno_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["vegas", "reno"]), SECOND)), @r"
    cwnd 26 12 8 8 13 9 7 5 12 9 6 5 10 9 7 5 12 10 7 6
    vegas: sent 3049 delivered 3016 lost 28 retransmitted 28 timeouts 0
    reno: sent 30381 delivered 30206 lost 85 retransmitted 85 timeouts 0
    link: offered 33430 delivered 33222 dropped 113 lost 0 queued 62 in flight 33
    ");
}

#[test]
fn cdg_and_reno_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["cdg", "reno"]), SECOND)), @r"
    cwnd 23 27 23 29 21 34 33 24 24 22 22 17 22 15 17 14 16 14 20 25
    cdg: sent 7180 delivered 7157 lost 4 retransmitted 4 timeouts 0
    reno: sent 26238 delivered 26066 lost 93 retransmitted 93 timeouts 0
    link: offered 33418 delivered 33223 dropped 97 lost 0 queued 64 in flight 34
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
    cwnd 27 23 21 18 19 17 19 19 26 29 31 25 19 21 26 22 16 16 19 18
    veno: sent 11014 delivered 10905 lost 107 retransmitted 107 timeouts 0
    link: offered 11014 delivered 10905 dropped 0 lost 107 queued 0 in flight 2
    ");
}

#[test]
fn copa_with_one_percent_of_random_loss() {
    insta::assert_snapshot!(with_loss("copa"), @r"
    cwnd 94 69 69 71 69 70 73 73 70 70 71 72 69 70 70 68 70 69 69 69
    copa: sent 32669 delivered 32309 lost 301 retransmitted 301 timeouts 0
    link: offered 32669 delivered 32331 dropped 0 lost 303 queued 2 in flight 33
    ");
}
