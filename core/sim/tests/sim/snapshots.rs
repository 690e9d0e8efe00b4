//! Snapshots of scenarios in whole packets: behavior changes appear here for review (`cargo insta review`).

use crate::support::{MS, SECOND, alone, digest, dumbbell, run, simulation, trace};
use leo_sim::{TraceSet, run_many};
use serde_json::{Value, json};

#[test]
fn cubic_alone() {
    insta::assert_snapshot!(alone("cubic"), @r"
    cwnd 111 118 132 103 110 115 122 129 99 117 129 133 110 125 132 100 118 129 133 111
    cubic: sent 33253 delivered 33165 lost 12 retransmitted 12 timeouts 0
    link: offered 33253 delivered 33165 dropped 12 lost 0 queued 43 in flight 33
    ");
}

#[test]
fn cubic_without_hystart_alone() {
    insta::assert_snapshot!(alone("cubic-nohystart"), @r"
    cwnd 95 108 113 118 126 133 109 124 132 100 118 129 133 111 125 132 101 118 129 134
    cubic-nohystart: sent 33458 delivered 33165 lost 193 retransmitted 193 timeouts 0
    link: offered 33458 delivered 33165 dropped 194 lost 0 queued 66 in flight 33
    ");
}

#[test]
fn cubic_with_half_of_hystart_alone() {
    let both = ["cubic-hystart-delay", "cubic-hystart-train"].map(alone).join("\n");
    insta::assert_snapshot!(both, @r"
    cwnd 114 107 113 118 125 132 108 123 131 98 117 128 133 109 124 132 100 118 129 133
    cubic-hystart-delay: sent 33311 delivered 33165 lost 47 retransmitted 47 timeouts 0
    link: offered 33311 delivered 33165 dropped 47 lost 0 queued 66 in flight 33

    cwnd 111 118 132 103 110 115 122 129 99 117 129 133 110 125 132 100 118 129 133 111
    cubic-hystart-train: sent 33253 delivered 33165 lost 12 retransmitted 12 timeouts 0
    link: offered 33253 delivered 33165 dropped 12 lost 0 queued 43 in flight 33
    ");
}

#[test]
fn cubic_with_hystart_plus_plus_alone() {
    insta::assert_snapshot!(alone("cubic-hystartpp"), @r"
    cwnd 101 109 113 121 128 94 114 127 133 106 122 131 95 115 128 133 107 123 131 97
    cubic-hystartpp: sent 33293 delivered 33165 lost 65 retransmitted 65 timeouts 0
    link: offered 33293 delivered 33165 dropped 65 lost 0 queued 30 in flight 33
    ");
}

#[test]
fn cubic_with_rapid_start_alone() {
    insta::assert_snapshot!(alone("cubic-rapidstart"), @r"
    cwnd 138 110 117 120 127 134 112 126 132 103 120 130 116 113 127 133 105 121 130 93
    cubic-rapidstart: sent 33585 delivered 33186 lost 339 retransmitted 339 timeouts 0
    link: offered 33585 delivered 33186 dropped 339 lost 0 queued 27 in flight 33
    ");
}

#[test]
fn cubic_with_careful_resume_alone() {
    let mut scenario = dumbbell(20.0, 20.0, 20.0, &["cubic-resume"]);
    scenario["flows"][0]["resume"] = json!({"cwnd_packets": 67, "rtt_ms": 40});
    insta::assert_snapshot!(digest(&run(&scenario, SECOND)), @r"
    cwnd 106 115 119 125 132 106 122 131 95 115 128 133 107 123 131 98 116 128 133 109
    cubic-resume: sent 33358 delivered 33203 lost 80 retransmitted 80 timeouts 0
    link: offered 33358 delivered 33203 dropped 80 lost 0 queued 42 in flight 33
    ");
}

#[test]
fn cubic_with_search_alone() {
    insta::assert_snapshot!(alone("cubic-search"), @r"
    cwnd 95 108 113 118 126 133 109 124 132 100 118 129 133 111 125 132 101 118 129 134
    cubic-search: sent 33458 delivered 33165 lost 193 retransmitted 193 timeouts 0
    link: offered 33458 delivered 33165 dropped 194 lost 0 queued 66 in flight 33
    ");
}

#[test]
fn reno_alone() {
    insta::assert_snapshot!(alone("reno"), @r"
    cwnd 74 94 110 124 69 90 107 121 134 85 103 118 131 81 99 115 129 76 95 111
    reno: sent 33358 delivered 33138 lost 143 retransmitted 143 timeouts 0
    link: offered 33358 delivered 33138 dropped 143 lost 0 queued 44 in flight 33
    ");
}

#[test]
fn cubic_and_reno_together() {
    insta::assert_snapshot!(digest(&run(&dumbbell(20.0, 20.0, 20.0, &["cubic", "reno"]), SECOND)), @r"
    cwnd 44 39 47 40 48 54 48 54 43 53 57 50 57 62 70 77 85 92 75 62
    cubic: sent 16833 delivered 16783 lost 10 retransmitted 10 timeouts 0
    reno: sent 16559 delivered 16440 lost 98 retransmitted 98 timeouts 0
    link: offered 33392 delivered 33223 dropped 108 lost 0 queued 27 in flight 34
    ");
}

#[test]
fn oracle_alone() {
    insta::assert_snapshot!(alone("oracle"), @r"
    cwnd 67 67 67 67 67 67 67 67 67 67 67 67 67 67 67 67 67 67 67 67
    oracle: sent 33333 delivered 33299 lost 0 retransmitted 0 timeouts 0
    link: offered 33333 delivered 33299 dropped 0 lost 0 queued 1 in flight 33
    ");
}

#[test]
fn udp_in_bursts_above_the_links_rate() {
    let mut scenario = dumbbell(20.0, 20.0, 20.0, &["udp"]);
    scenario["flows"][0]["rate_mbps"] = json!(30);
    scenario["flows"][0]["on_off"] = json!({"on_s": 0.7, "off_s": 1.3, "distribution": "constant"});
    // Ten bursts of 1,750 packets; the link carries 0.7 s of each (1,167 packets) and the buffer 66.
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
    let without: Vec<_> = leo_sim::SCHEMES
        .iter()
        .chain(&[leo_sim::ORACLE_SCHEME, leo_sim::UDP_SCHEME])
        .filter(|s| !named(s))
        .collect();
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
    cwnd 16 10 16 10 15 9 16 5 7 10 7 9 11 9 11 7 9 11 16 14
    cubic: sent 5651 delivered 5586 lost 54 retransmitted 54 timeouts 0
    link: offered 5651 delivered 5586 dropped 0 lost 54 queued 0 in flight 11
    ");
}

#[test]
fn reno_with_one_percent_of_random_loss() {
    insta::assert_snapshot!(with_loss("reno"), @r"
    cwnd 6 9 16 6 16 9 10 5 6 11 14 5 10 8 12 16 11 21 18 6
    reno: sent 5942 delivered 5879 lost 58 retransmitted 58 timeouts 0
    link: offered 5942 delivered 5879 dropped 0 lost 58 queued 0 in flight 5
    ");
}

/// Every 5 s, the path has an outage of 60 ms and its delay changes by 15 ms.
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
    cwnd 111 118 132 103 110 87 93 97 105 112 95 106 111 112 118 99 111 117 118 118
    cubic: sent 30446 delivered 30259 lost 128 retransmitted 128 timeouts 0
    link: offered 30446 delivered 30259 dropped 8 lost 179 queued 0 in flight 0
    ");
}

#[test]
fn reno_over_hard_handovers() {
    insta::assert_snapshot!(handovers("reno"), @r"
    cwnd 74 94 110 124 67 45 58 72 86 99 70 91 108 122 134 78 92 106 120 132
    reno: sent 27473 delivered 27146 lost 254 retransmitted 254 timeouts 0
    link: offered 27473 delivered 27146 dropped 138 lost 176 queued 13 in flight 0
    ");
}
