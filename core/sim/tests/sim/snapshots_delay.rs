//! Named scenarios in whole packets for the schemes that watch delay: a change of behaviour shows here and is reviewed.

use crate::support::{SECOND, alone, digest, dumbbell, run};
use serde_json::json;

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
    cwnd 73 93 110 124 68 89 106 121 134 85 103 118 131 80 99 115 128 76 95 111
    lp: sent 33359 delivered 33135 lost 146 retransmitted 146 timeouts 0
    link: offered 33359 delivered 33135 dropped 146 lost 0 queued 44 in flight 34
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
    cwnd 73 84 93 101 109 116 123 129 71 82 91 100 108 115 122 128 67 80 89 98
    veno: sent 33352 delivered 33150 lost 139 retransmitted 139 timeouts 0
    link: offered 33352 delivered 33150 dropped 139 lost 0 queued 30 in flight 33
    ");
}

#[test]
fn yeah_alone() {
    insta::assert_snapshot!(alone("yeah"), @r"
    cwnd 132 134 87 104 119 132 83 101 117 130 79 98 114 128 76 95 111 125 71 92
    yeah: sent 33605 delivered 33144 lost 402 retransmitted 402 timeouts 0
    link: offered 33605 delivered 33144 dropped 402 lost 0 queued 25 in flight 34
    ");
}

#[test]
fn copa_and_cubic_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["copa", "cubic"]), SECOND)), @r"
    cwnd 18 50 60 74 68 60 81 71 66 78 74 77 68 63 49 59 68 52 66 71
    copa: sent 18306 delivered 18190 lost 70 retransmitted 70 timeouts 0
    cubic: sent 15120 delivered 15033 lost 30 retransmitted 30 timeouts 0
    link: offered 33426 delivered 33223 dropped 103 lost 0 queued 66 in flight 34
    ");
}

#[test]
fn lp_and_cubic_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["lp", "cubic"]), SECOND)), @r"
    cwnd 67 46 61 75 46 60 38 54 67 45 58 36 54 67 46 61 36 51 35 50
    lp: sent 15456 delivered 15348 lost 76 retransmitted 76 timeouts 0
    cubic: sent 17944 delivered 17875 lost 13 retransmitted 13 timeouts 0
    link: offered 33400 delivered 33223 dropped 89 lost 0 queued 54 in flight 34
    ");
}

#[test]
fn vegas_and_reno_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["vegas", "reno"]), SECOND)), @r"
    cwnd 26 12 8 9 13 8 6 5 12 9 7 5 12 10 7 5 12 10 8 6
    vegas: sent 3145 delivered 3115 lost 27 retransmitted 27 timeouts 0
    reno: sent 30276 delivered 30104 lost 84 retransmitted 84 timeouts 0
    link: offered 33421 delivered 33219 dropped 111 lost 0 queued 58 in flight 33
    ");
}

#[test]
fn cdg_and_reno_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["cdg", "reno"]), SECOND)), @r"
    cwnd 23 27 23 30 21 34 25 23 13 14 15 17 14 17 13 14 21 27 30 22
    cdg: sent 6471 delivered 6445 lost 5 retransmitted 5 timeouts 0
    reno: sent 26936 delivered 26776 lost 96 retransmitted 96 timeouts 0
    link: offered 33407 delivered 33221 dropped 101 lost 0 queued 51 in flight 34
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
    cwnd 29 23 20 23 14 16 12 15 19 19 29 12 28 16 15 19 21 29 16 15
    veno: sent 9883 delivered 9770 lost 91 retransmitted 91 timeouts 0
    link: offered 9883 delivered 9781 dropped 0 lost 91 queued 0 in flight 11
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
