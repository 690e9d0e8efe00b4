//! Named scenarios in whole packets: a change of behaviour shows here and is reviewed (`cargo insta review`).

mod support;

use leo_sim::{TraceSet, run_many};
use serde_json::{Value, json};
use support::{MS, SECOND, alone, digest, dumbbell, run, simulation, trace};

#[test]
fn cubic_alone() {
    insta::assert_snapshot!(alone("cubic"), @r"
    cwnd 110 118 131 102 110 115 123 130 100 118 129 133 109 124 131 97 117 128 133 107
    cubic: sent 33249 delivered 33165 lost 12 retransmitted 12 timeouts 0
    link: offered 33249 delivered 33165 dropped 12 lost 0 queued 39 in flight 33
    ");
}

#[test]
fn cubic_without_hystart_alone() {
    insta::assert_snapshot!(alone("cubic-nohystart"), @r"
    cwnd 95 107 113 119 126 133 110 124 131 99 117 128 133 108 123 131 96 116 127 133
    cubic-nohystart: sent 33459 delivered 33165 lost 195 retransmitted 195 timeouts 0
    link: offered 33459 delivered 33165 dropped 195 lost 0 queued 66 in flight 33
    ");
}

#[test]
fn cubic_with_hystart_plus_plus_alone() {
    insta::assert_snapshot!(alone("cubic-hystartpp"), @r"
    cwnd 101 111 115 123 130 99 118 128 133 109 124 131 97 116 128 133 107 122 131 95
    cubic-hystartpp: sent 33293 delivered 33165 lost 67 retransmitted 67 timeouts 0
    link: offered 33293 delivered 33165 dropped 67 lost 0 queued 28 in flight 33
    ");
}

#[test]
fn reno_alone() {
    insta::assert_snapshot!(alone("reno"), @r"
    cwnd 75 95 111 125 73 93 109 124 70 91 108 122 82 89 106 121 134 87 105 120
    reno: sent 33389 delivered 33160 lost 143 retransmitted 143 timeouts 0
    link: offered 33389 delivered 33160 dropped 143 lost 0 queued 52 in flight 34
    ");
}

#[test]
fn cubic_and_reno_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["cubic", "reno"]), SECOND)), @r"
    cwnd 45 40 48 55 63 71 78 47 56 63 54 62 49 59 64 72 79 86 73 82
    cubic: sent 17610 delivered 17536 lost 9 retransmitted 9 timeouts 0
    reno: sent 15820 delivered 15687 lost 98 retransmitted 98 timeouts 0
    link: offered 33430 delivered 33223 dropped 107 lost 0 queued 66 in flight 34
    ");
}

#[test]
fn udp_in_bursts_above_the_links_rate() {
    let mut scenario = dumbbell(20.0, 20.0, 20.0, &["udp"]);
    scenario["flows"][0]["rate_mbps"] = json!(30);
    scenario["flows"][0]["on_off"] = json!({"on_s": 0.7, "off_s": 1.3, "distribution": "constant"});
    // Ten bursts of 1,750 packets, of each of which the link carries 0.7 s and a buffer's worth: 1,167 and 66 packets.
    insta::assert_snapshot!(digest(&run(&scenario, SECOND)), @r"
    cwnd 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10 10
    udp: sent 17500 delivered 12330 lost 0 retransmitted 0 timeouts 0
    link: offered 17500 delivered 12330 dropped 5170 lost 0 queued 0 in flight 0
    ");
}

#[test]
fn every_scheme_has_a_named_scenario() {
    let files = [
        include_str!("snapshots.rs"),
        include_str!("snapshots_delay.rs"),
        include_str!("snapshots_leo.rs"),
        include_str!("snapshots_rate.rs"),
    ];
    let named = |scheme: &&&str| files.iter().any(|file| file.contains(&format!("\n    {scheme}: sent ")));
    let without: Vec<_> =
        leo_sim::SCHEMES.iter().chain(&[leo_sim::UDP_SCHEME]).filter(|s| !named(s)).collect();
    assert!(without.is_empty(), "no snapshot has a line of {without:?}");
}

fn with_loss(scheme: &str) -> String {
    let mut scenario = dumbbell(20.0, 20.0, 20.0, &[scheme]);
    scenario["links"]["b"]["loss"] = json!(0.01);
    digest(&run(&scenario, SECOND))
}

#[test]
fn cubic_with_one_percent_of_random_loss() {
    insta::assert_snapshot!(with_loss("cubic"), @r"
    cwnd 16 13 14 17 11 15 6 8 12 7 12 12 16 8 12 13 17 14 18 17
    cubic: sent 6637 delivered 6567 lost 61 retransmitted 61 timeouts 0
    link: offered 6637 delivered 6567 dropped 0 lost 61 queued 2 in flight 7
    ");
}

#[test]
fn reno_with_one_percent_of_random_loss() {
    insta::assert_snapshot!(with_loss("reno"), @r"
    cwnd 9 15 22 17 19 17 6 11 11 14 15 10 12 9 14 13 10 25 13 10
    reno: sent 7052 delivered 6980 lost 66 retransmitted 66 timeouts 0
    link: offered 7052 delivered 6980 dropped 0 lost 66 queued 0 in flight 6
    ");
}

/// Every 5 s the path changes: an outage of 60 ms, and 15 ms of delay more or less.
fn handovers(scheme: &str) -> String {
    let parts = [
        (4_940 * MS, 20 * MS, 20, true),
        (60 * MS, 20 * MS, 20, false),
        (4_940 * MS, 35 * MS, 20, true),
        (60 * MS, 35 * MS, 20, false),
    ];
    let scenario: Value = json!({
        "duration_s": 20.0,
        "links": {"b": {"trace": "path", "queue": {"bdp": 1.0}}},
        "flows": [{"scheme": scheme, "route": ["b"]}],
    });
    let traces = TraceSet::from([("path".to_owned(), trace(&parts))]);
    digest(&run_many(vec![simulation(&scenario, &traces, SECOND)], 1)[0])
}

#[test]
fn cubic_over_hard_handovers() {
    insta::assert_snapshot!(handovers("cubic"), @r"
    cwnd 110 118 131 102 110 87 92 98 106 113 96 107 112 113 120 101 113 119 120 120
    cubic: sent 30572 delivered 30379 lost 133 retransmitted 133 timeouts 0
    link: offered 30572 delivered 30379 dropped 8 lost 184 queued 1 in flight 0
    ");
}

#[test]
fn reno_over_hard_handovers() {
    insta::assert_snapshot!(handovers("reno"), @r"
    cwnd 75 95 111 125 71 46 60 73 87 100 70 91 108 122 134 79 93 107 121 133
    reno: sent 27603 delivered 27259 lost 270 retransmitted 270 timeouts 0
    link: offered 27603 delivered 27259 dropped 141 lost 188 queued 15 in flight 0
    ");
}
