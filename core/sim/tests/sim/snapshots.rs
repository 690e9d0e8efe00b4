//! Snapshots of scenarios in whole packets: behavior changes appear in `snapshots/` for review (`cargo insta review`).

use crate::support::{MS, SECOND, digest, dumbbell, run, run_over, trace, traced};
use leo_link::PathTrace;
use serde_json::{Value, json};

/// Flows that start together over 20 Mbit/s, 40 ms and 1 BDP (67 packets).
fn over_20_mbps(schemes: &[&str]) -> Value {
    dumbbell(20.0, 20.0, 20.0, schemes)
}

fn digest_of(scenario: &Value) -> String {
    digest(&run(scenario, SECOND))
}

#[test]
fn every_scheme_alone() {
    let schemes = leo_sim::SCHEMES.iter().chain(&[leo_sim::ORACLE_SCHEME]);
    let digests: Vec<String> = schemes.map(|scheme| digest_of(&over_20_mbps(&[scheme]))).collect();
    insta::assert_snapshot!(digests.join("\n"));
}

#[test]
fn two_schemes_together() {
    let pairs = [["cubic", "reno"], ["copa", "cubic"], ["lp", "cubic"], ["vegas", "reno"], ["cdg", "reno"]];
    insta::assert_snapshot!(pairs.map(|pair| digest_of(&over_20_mbps(&pair))).join("\n"));
}

#[test]
fn schemes_with_one_percent_of_random_loss() {
    let with_loss = |scheme| {
        let mut scenario = over_20_mbps(&[scheme]);
        scenario["links"]["b"]["loss"] = json!(0.01);
        digest_of(&scenario)
    };
    insta::assert_snapshot!(["cubic", "reno", "veno", "copa"].map(with_loss).join("\n"));
}

#[test]
fn cubic_with_careful_resume_alone() {
    let mut scenario = over_20_mbps(&["cubic-resume"]);
    scenario["flows"][0]["resume"] = json!({"cwnd_packets": 67, "rtt_ms": 40});
    insta::assert_snapshot!(digest_of(&scenario));
}

#[test]
fn udp_in_bursts_above_the_links_rate() {
    let mut scenario = over_20_mbps(&["udp"]);
    scenario["flows"][0]["rate_mbps"] = json!(30);
    scenario["flows"][0]["on_off"] = json!({"on_s": 0.7, "off_s": 1.3, "distribution": "constant"});
    // Ten bursts of 1,750 packets; the link carries 0.7 s of each (1,167 packets) and the buffer 66.
    insta::assert_snapshot!(digest_of(&scenario));
}

#[test]
fn cubic_and_reno_over_hard_handovers() {
    // Every 5 s, the path has an outage of 60 ms and its delay changes by 15 ms.
    let handovers = |scheme| {
        let path = trace(&[
            (4_940 * MS, 20 * MS, 20, true),
            (60 * MS, 20 * MS, 20, false),
            (4_940 * MS, 35 * MS, 20, true),
            (60 * MS, 35 * MS, 20, false),
        ]);
        digest(&run_over(path, &traced(json!({"bdp": 1.0}), 20.0, &[scheme]), SECOND))
    };
    insta::assert_snapshot!(["cubic", "reno"].map(handovers).join("\n"));
}

/// 20 s over 20 Mbit/s, 40 ms and 1 BDP with reconfigurations at 6 s and 16 s: 30 ms outages, same path.
fn reconfigured(schemes: &[&str]) -> String {
    let about = json!({"handovers": [{"predicted_s": 6.2}], "reattach_s": 10.0, "reattach_phase_s": 6.0});
    let parts = [
        (6 * SECOND, 20 * MS, 20, true),
        (30 * MS, 20 * MS, 20, false),
        (4 * SECOND - 30 * MS, 20 * MS, 20, true),
    ];
    let path = PathTrace { metadata: about.to_string(), ..trace(&parts) };
    digest(&run_over(path, &traced(json!({"bdp": 1.0}), 20.0, schemes), SECOND))
}

#[test]
fn two_leotcp_flows_with_and_without_a_part_of_the_design_over_reconfigurations() {
    let variants = ["leotcp", "leotcp-ownrtt", "leotcp-noinitial"];
    insta::assert_snapshot!(variants.map(|scheme| reconfigured(&[scheme, scheme])).join("\n"));
}

#[test]
fn schemes_that_know_of_reconfigurations() {
    let satcp_of_every_freeze = ["satcp", "satcp-0.3s", "satcp-0.9s", "satcp-1.3s", "satcp-2.3s"];
    let schemes = [&satcp_of_every_freeze[..], &["starquic", "starquic-bbr3", "leocc"]].concat();
    let digests: Vec<String> = schemes.into_iter().map(|scheme| reconfigured(&[scheme])).collect();
    insta::assert_snapshot!(digests.join("\n"));
}
