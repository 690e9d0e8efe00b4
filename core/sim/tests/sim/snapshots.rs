//! Named scenarios in whole packets: a change of behaviour shows here and is reviewed (`cargo insta review`).

use crate::support::{MS, SECOND, alone, digest, dumbbell, run, simulation, trace};
use leo_sim::{TraceSet, run_many};
use serde_json::{Value, json};

#[test]
fn cubic_alone() {
    insta::assert_snapshot!(alone("cubic"), @r"
    cwnd 110 118 132 103 110 115 122 129 99 117 129 133 109 124 132 100 118 129 133 111
    cubic: sent 33254 delivered 33165 lost 12 retransmitted 12 timeouts 0
    link: offered 33254 delivered 33165 dropped 12 lost 0 queued 44 in flight 33
    ");
}

#[test]
fn cubic_without_hystart_alone() {
    insta::assert_snapshot!(alone("cubic-nohystart"), @r"
    cwnd 94 107 113 118 125 132 108 124 131 99 117 129 133 110 125 132 100 118 129 133
    cubic-nohystart: sent 33458 delivered 33165 lost 195 retransmitted 195 timeouts 0
    link: offered 33458 delivered 33165 dropped 195 lost 0 queued 65 in flight 33
    ");
}

#[test]
fn cubic_with_hystart_plus_plus_alone() {
    insta::assert_snapshot!(alone("cubic-hystartpp"), @r"
    cwnd 102 110 114 122 129 96 116 128 133 108 123 131 98 117 128 133 109 124 132 100
    cubic-hystartpp: sent 33298 delivered 33165 lost 67 retransmitted 67 timeouts 0
    link: offered 33298 delivered 33165 dropped 67 lost 0 queued 33 in flight 33
    ");
}

#[test]
fn reno_alone() {
    insta::assert_snapshot!(alone("reno"), @r"
    cwnd 73 93 110 124 68 89 106 121 134 85 103 118 131 80 99 115 128 76 95 111
    reno: sent 33359 delivered 33135 lost 146 retransmitted 146 timeouts 0
    link: offered 33359 delivered 33135 dropped 146 lost 0 queued 44 in flight 34
    ");
}

#[test]
fn cubic_and_reno_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["cubic", "reno"]), SECOND)), @r"
    cwnd 45 40 48 41 49 55 33 42 50 58 65 54 64 46 37 31 40 48 41 49
    cubic: sent 14197 delivered 14149 lost 14 retransmitted 14 timeouts 0
    reno: sent 19222 delivered 19074 lost 99 retransmitted 99 timeouts 0
    link: offered 33419 delivered 33223 dropped 113 lost 0 queued 49 in flight 34
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
    cwnd 16 10 16 10 15 9 16 5 7 10 8 10 9 11 13 8 8 13 18 16
    cubic: sent 5707 delivered 5653 lost 54 retransmitted 54 timeouts 0
    link: offered 5707 delivered 5653 dropped 0 lost 54 queued 0 in flight 0
    ");
}

#[test]
fn reno_with_one_percent_of_random_loss() {
    insta::assert_snapshot!(with_loss("reno"), @r"
    cwnd 6 9 14 8 15 7 14 3 5 9 13 11 8 12 17 14 8 18 16 4
    reno: sent 5928 delivered 5870 lost 58 retransmitted 58 timeouts 0
    link: offered 5928 delivered 5870 dropped 0 lost 58 queued 0 in flight 0
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
    cwnd 110 118 132 103 110 87 92 97 105 112 95 106 111 112 118 100 112 118 119 119
    cubic: sent 30457 delivered 30261 lost 136 retransmitted 136 timeouts 0
    link: offered 30457 delivered 30261 dropped 8 lost 187 queued 1 in flight 0
    ");
}

#[test]
fn reno_over_hard_handovers() {
    insta::assert_snapshot!(handovers("reno"), @r"
    cwnd 73 93 110 124 67 44 57 71 85 98 69 90 107 121 134 78 92 106 120 132
    reno: sent 27377 delivered 27035 lost 269 retransmitted 269 timeouts 0
    link: offered 27377 delivered 27035 dropped 141 lost 188 queued 13 in flight 0
    ");
}
