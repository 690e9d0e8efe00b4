//! Snapshots of scenarios in whole packets: behavior changes appear here for review (`cargo insta review`).

use crate::support::{
    MS, SECOND, alone, digest, dumbbell, run, run_over, together, trace, traced, with_loss,
};
use serde_json::json;

#[test]
fn cubic_alone_with_each_start() {
    let starts = alone([
        "cubic",
        "cubic-nohystart",
        "cubic-hystart-delay",
        "cubic-hystart-train",
        "cubic-hystartpp",
        "cubic-rapidstart",
        "cubic-search",
    ]);
    insta::assert_snapshot!(starts, @r"
    cwnd 111 118 132 103 110 115 122 129 99 117 129 133 110 125 132 100 118 129 133 111
    cubic: sent 33254 delivered 33165 lost 12 retransmitted 12 timeouts 0
    link: offered 33254 delivered 33165 dropped 12 lost 0 queued 44 in flight 33

    cwnd 95 108 113 118 126 133 109 124 132 100 118 129 133 111 125 132 102 119 130 134
    cubic-nohystart: sent 33458 delivered 33165 lost 193 retransmitted 193 timeouts 0
    link: offered 33458 delivered 33165 dropped 194 lost 0 queued 66 in flight 33

    cwnd 114 107 113 118 125 132 108 123 131 98 117 129 133 109 125 132 100 118 129 133
    cubic-hystart-delay: sent 33310 delivered 33165 lost 47 retransmitted 47 timeouts 0
    link: offered 33310 delivered 33165 dropped 47 lost 0 queued 65 in flight 33

    cwnd 111 118 132 103 110 115 122 129 99 117 129 133 110 125 132 100 118 129 133 111
    cubic-hystart-train: sent 33254 delivered 33165 lost 12 retransmitted 12 timeouts 0
    link: offered 33254 delivered 33165 dropped 12 lost 0 queued 44 in flight 33

    cwnd 101 109 113 121 128 94 114 127 133 106 122 131 95 115 128 133 107 123 131 98
    cubic-hystartpp: sent 33294 delivered 33165 lost 65 retransmitted 65 timeouts 0
    link: offered 33294 delivered 33165 dropped 65 lost 0 queued 31 in flight 33

    cwnd 138 109 116 119 126 133 111 125 132 102 119 130 134 112 126 132 103 120 130 118
    cubic-rapidstart: sent 33607 delivered 33100 lost 338 retransmitted 338 timeouts 0
    link: offered 33607 delivered 33186 dropped 338 lost 0 queued 50 in flight 33

    cwnd 95 108 113 118 126 133 109 124 132 100 118 129 133 111 125 132 102 119 130 134
    cubic-search: sent 33458 delivered 33165 lost 193 retransmitted 193 timeouts 0
    link: offered 33458 delivered 33165 dropped 194 lost 0 queued 66 in flight 33
    ");
}

#[test]
fn cubic_with_careful_resume_alone() {
    let mut scenario = dumbbell(20.0, 20.0, 20.0, &["cubic-resume"]);
    scenario["flows"][0]["resume"] = json!({"cwnd_packets": 67, "rtt_ms": 40});
    insta::assert_snapshot!(digest(&run(&scenario, SECOND)), @r"
    cwnd 106 115 119 125 132 106 122 131 95 116 128 133 107 123 131 98 116 128 133 109
    cubic-resume: sent 33357 delivered 33203 lost 80 retransmitted 80 timeouts 0
    link: offered 33357 delivered 33203 dropped 80 lost 0 queued 41 in flight 33
    ");
}

#[test]
fn reno_and_the_oracle_alone() {
    insta::assert_snapshot!(alone(["reno", "oracle"]), @r"
    cwnd 74 94 110 124 69 90 107 121 134 86 103 118 132 81 100 115 129 76 96 112
    reno: sent 33360 delivered 33138 lost 143 retransmitted 143 timeouts 0
    link: offered 33360 delivered 33138 dropped 143 lost 0 queued 45 in flight 34

    cwnd 67 67 67 67 67 67 67 67 67 67 67 67 67 67 67 67 67 67 67 67
    oracle: sent 33333 delivered 33299 lost 0 retransmitted 0 timeouts 0
    link: offered 33333 delivered 33299 dropped 0 lost 0 queued 1 in flight 33
    ");
}

#[test]
fn cubic_and_reno_together() {
    insta::assert_snapshot!(together(&["cubic", "reno"]), @r"
    cwnd 44 38 46 39 48 53 62 69 60 67 70 78 66 76 80 83 71 81 64 70
    cubic: sent 18157 delivered 18102 lost 9 retransmitted 9 timeouts 0
    reno: sent 15269 delivered 15121 lost 105 retransmitted 105 timeouts 0
    link: offered 33426 delivered 33223 dropped 114 lost 0 queued 55 in flight 34
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
    let others = [leo_sim::ORACLE_SCHEME, leo_sim::UDP_SCHEME];
    let without: Vec<_> = leo_sim::SCHEMES.iter().chain(&others).filter(|scheme| !named(scheme)).collect();
    assert!(without.is_empty(), "no snapshot has a line of {without:?}");
}

#[test]
fn cubic_and_reno_with_one_percent_of_random_loss() {
    insta::assert_snapshot!(with_loss(["cubic", "reno"]), @r"
    cwnd 16 10 16 10 15 9 14 5 8 11 8 11 8 12 13 8 8 13 19 17
    cubic: sent 5735 delivered 5664 lost 54 retransmitted 54 timeouts 0
    link: offered 5735 delivered 5664 dropped 0 lost 54 queued 0 in flight 17

    cwnd 6 9 16 6 17 9 5 6 6 11 12 6 5 9 9 17 12 23 21 9
    reno: sent 5966 delivered 5906 lost 58 retransmitted 58 timeouts 0
    link: offered 5966 delivered 5906 dropped 0 lost 58 queued 0 in flight 2
    ");
}

/// Every 5 s, the path has an outage of 60 ms and its delay changes by 15 ms.
fn handovers(scheme: &str) -> String {
    let path = trace(&[
        (4_940 * MS, 20 * MS, 20, true),
        (60 * MS, 20 * MS, 20, false),
        (4_940 * MS, 35 * MS, 20, true),
        (60 * MS, 35 * MS, 20, false),
    ]);
    digest(&run_over(path, &traced(json!({"bdp": 1.0}), 20.0, &[scheme]), SECOND))
}

#[test]
fn cubic_and_reno_over_hard_handovers() {
    insta::assert_snapshot!(["cubic", "reno"].map(handovers).join("\n"), @r"
    cwnd 111 118 132 103 110 87 93 97 105 112 95 106 111 112 118 99 111 117 118 118
    cubic: sent 30450 delivered 30254 lost 136 retransmitted 136 timeouts 0
    link: offered 30450 delivered 30254 dropped 10 lost 185 queued 1 in flight 0

    cwnd 74 94 110 124 67 43 57 71 85 98 69 90 107 121 134 78 92 106 119 132
    reno: sent 27337 delivered 26999 lost 266 retransmitted 266 timeouts 0
    link: offered 27337 delivered 26999 dropped 138 lost 187 queued 13 in flight 0
    ");
}
