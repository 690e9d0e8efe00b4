//! Named scenarios in whole packets: a change of behaviour shows here and is reviewed (`cargo insta review`).

mod support;

use leo_sim::{TraceSet, run_many};
use serde_json::{Value, json};
use support::{MS, SECOND, alone, digest, dumbbell, run, simulation, trace};

#[test]
fn cubic_alone() {
    insta::assert_snapshot!(alone("cubic"), @r"
    cwnd 110 118 131 102 110 115 123 130 100 118 129 133 109 124 131 97 117 128 133 107
    cubic: sent 33250 delivered 33165 lost 12 retransmitted 12 timeouts 0
    link: offered 33250 delivered 33165 dropped 12 lost 0 queued 40 in flight 33
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
    cwnd 75 95 111 125 71 91 108 122 73 88 105 120 133 84 102 117 131 81 99 115
    reno: sent 33365 delivered 33137 lost 147 retransmitted 147 timeouts 0
    link: offered 33365 delivered 33137 dropped 147 lost 0 queued 48 in flight 33
    ");
}

#[test]
fn cubic_and_reno_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["cubic", "reno"]), SECOND)), @r"
    cwnd 45 40 48 55 63 52 62 66 73 60 71 76 80 66 77 61 69 53 66 66
    cubic: sent 18342 delivered 18242 lost 9 retransmitted 9 timeouts 0
    reno: sent 15086 delivered 14945 lost 104 retransmitted 104 timeouts 0
    link: offered 33428 delivered 33223 dropped 114 lost 0 queued 57 in flight 34
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
    cwnd 16 13 14 16 17 14 8 7 11 10 11 11 15 11 11 11 17 12 17 22
    cubic: sent 6580 delivered 6507 lost 60 retransmitted 60 timeouts 0
    link: offered 6580 delivered 6515 dropped 0 lost 61 queued 0 in flight 4
    ");
}

#[test]
fn reno_with_one_percent_of_random_loss() {
    insta::assert_snapshot!(with_loss("reno"), @r"
    cwnd 9 15 23 17 17 17 7 11 11 14 16 10 10 9 14 13 10 25 13 8
    reno: sent 7047 delivered 6980 lost 66 retransmitted 66 timeouts 0
    link: offered 7047 delivered 6980 dropped 0 lost 66 queued 0 in flight 1
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
    cubic: sent 30562 delivered 30366 lost 136 retransmitted 136 timeouts 0
    link: offered 30562 delivered 30366 dropped 8 lost 187 queued 1 in flight 0
    ");
}

#[test]
fn reno_over_hard_handovers() {
    insta::assert_snapshot!(handovers("reno"), @r"
    cwnd 75 95 111 125 69 47 60 74 88 101 72 93 109 123 67 43 57 71 85 98
    reno: sent 25396 delivered 25094 lost 252 retransmitted 252 timeouts 0
    link: offered 25396 delivered 25094 dropped 143 lost 158 queued 1 in flight 0
    ");
}
