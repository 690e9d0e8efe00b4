//! Named scenarios in whole packets: a change of behaviour shows here and is reviewed (`cargo insta review`).

mod support;

use leo_sim::{TraceSet, run_many};
use serde_json::{Value, json};
use support::{MS, SECOND, alone, digest, dumbbell, run, simulation, trace};

#[test]
fn cubic_alone() {
    insta::assert_snapshot!(alone("cubic"), @r"
    cwnd 116 118 131 102 110 115 123 130 99 118 128 133 109 124 131 97 116 128 133 107
    cubic: sent 33250 delivered 33165 lost 12 retransmitted 12 timeouts 0
    link: offered 33250 delivered 33165 dropped 12 lost 0 queued 40 in flight 33
    ");
}

#[test]
fn cubic_without_hystart_alone() {
    insta::assert_snapshot!(alone("cubic-nohystart"), @r"
    cwnd 95 107 113 119 127 133 111 125 132 100 118 129 133 109 124 131 97 117 128 133
    cubic-nohystart: sent 33457 delivered 33165 lost 193 retransmitted 193 timeouts 0
    link: offered 33457 delivered 33165 dropped 193 lost 0 queued 66 in flight 33
    ");
}

#[test]
fn cubic_with_hystart_plus_plus_alone() {
    insta::assert_snapshot!(alone("cubic-hystartpp"), @r"
    cwnd 102 112 116 123 130 102 119 129 133 111 125 132 99 118 128 133 109 124 131 97
    cubic-hystartpp: sent 33301 delivered 33165 lost 73 retransmitted 73 timeouts 0
    link: offered 33301 delivered 33165 dropped 73 lost 0 queued 30 in flight 33
    ");
}

#[test]
fn reno_alone() {
    insta::assert_snapshot!(alone("reno"), @r"
    cwnd 74 94 110 124 72 92 109 123 69 90 107 122 116 88 106 120 134 87 104 119
    reno: sent 33381 delivered 33157 lost 140 retransmitted 140 timeouts 0
    link: offered 33381 delivered 33157 dropped 140 lost 0 queued 51 in flight 33
    ");
}

#[test]
fn cubic_and_reno_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["cubic", "reno"]), SECOND)), @r"
    cwnd 48 43 50 58 65 55 64 50 58 65 73 59 70 54 63 70 61 68 54 45
    cubic: sent 17191 delivered 17152 lost 15 retransmitted 15 timeouts 0
    reno: sent 16198 delivered 16071 lost 91 retransmitted 91 timeouts 0
    link: offered 33389 delivered 33223 dropped 106 lost 0 queued 26 in flight 34
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
    cwnd 16 13 14 17 11 15 7 8 12 7 12 12 16 8 12 13 18 14 18 17
    cubic: sent 6635 delivered 6567 lost 61 retransmitted 61 timeouts 0
    link: offered 6635 delivered 6567 dropped 0 lost 61 queued 1 in flight 6
    ");
}

#[test]
fn reno_with_one_percent_of_random_loss() {
    insta::assert_snapshot!(with_loss("reno"), @r"
    cwnd 9 13 21 15 17 15 5 10 11 12 14 15 9 7 21 15 14 26 22 15
    reno: sent 7034 delivered 6958 lost 65 retransmitted 65 timeouts 0
    link: offered 7034 delivered 6958 dropped 0 lost 66 queued 0 in flight 10
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
    cwnd 116 118 131 102 110 87 92 98 106 113 96 107 112 113 120 101 113 119 120 120
    cubic: sent 30562 delivered 30366 lost 136 retransmitted 136 timeouts 0
    link: offered 30562 delivered 30366 dropped 8 lost 187 queued 1 in flight 0
    ");
}

#[test]
fn reno_over_hard_handovers() {
    insta::assert_snapshot!(handovers("reno"), @r"
    cwnd 74 94 110 124 70 47 61 74 88 101 69 90 107 121 134 78 92 106 120 133
    reno: sent 27498 delivered 27177 lost 247 retransmitted 247 timeouts 0
    link: offered 27498 delivered 27177 dropped 138 lost 168 queued 15 in flight 0
    ");
}
