//! Schemes for LEO paths, on LEO paths.

use crate::support::{MS, SECOND, mean, run_over, trace, traced};
use leo_link::PathTrace;
use leo_sim::RunLog;
use serde_json::{Value, json};

/// Run a flow for 120 s over `path`, whose metadata are `about` if it is `announced`.
fn over(path: PathTrace, about: &Value, scheme: &str, announced: bool, seed: u64) -> RunLog {
    let mut scenario = traced(json!({"bdp": 0.5}), 120.0, &[scheme]);
    scenario["seed"] = json!(seed);
    let metadata = if announced { about.to_string() } else { path.metadata };
    run_over(PathTrace { metadata, ..path }, &scenario, 100 * MS)
}

/// A path of 100 Mbit/s and 40 ms with a handover every 5 s and outages of 20 ms; optionally `announced`.
fn handovers(scheme: &str, announced: bool, seed: u64) -> RunLog {
    let up = 5 * SECOND - 20 * MS;
    let path = trace(&[(up, 20 * MS, 100, true), (20 * MS, 20 * MS, 100, false)]);
    // Announced 0.3 s too early, which SaTCP's report time tolerates.
    over(path, &json!({"handovers": [{"predicted_s": 4.68}]}), scheme, announced, seed)
}

/// 100 Mbit/s and 20 ms, reconfigured every 15 s from 12 s on with 40 ms outages; optionally `announced`.
fn reconfigurations(scheme: &str, announced: bool, seed: u64) -> RunLog {
    let path = trace(&[
        (12 * SECOND, 10 * MS, 100, true),
        (40 * MS, 10 * MS, 100, false),
        (3 * SECOND - 40 * MS, 10 * MS, 100, true),
    ]);
    over(path, &json!({"reattach_s": 15.0, "reattach_phase_s": 12.0}), scheme, announced, seed)
}

#[test]
fn satcp_keeps_its_window_over_announced_handovers_and_with_it_the_throughput() {
    // Cao and Zhang, table I: "1.74 × of CUBIC" on a bent-pipe path; section VI-B: "because of the preserved CWND value,
    // the throughput quickly ramps up".
    let goodput = |scheme: &str, announced| {
        (1..=3).map(|seed| handovers(scheme, announced, seed).flows[0].normalized_goodput).sum::<f64>() / 3.0
    };
    let (cubic, satcp) = (goodput("cubic", true), goodput("satcp", true));
    assert!(satcp > cubic + 0.03, "{satcp} against {cubic}");
    assert!((goodput("satcp", false) - cubic).abs() < 0.02, "without announcements it is CUBIC");
    // Window 1 s after each handover except the first ones, relative to the window before.
    let window_share = |scheme: &str| {
        let log = handovers(scheme, true, 1);
        let window =
            |time_s: f64| f64::from(log.flow_series.cwnd_packets[(time_s * 10.0).round() as usize - 1]);
        let ratios = (30..115).step_by(5).map(f64::from).map(|at| window(at + 1.0) / window(at - 0.2));
        ratios.sum::<f64>() / 17.0
    };
    let (cubic, satcp) = (window_share("cubic"), window_share("satcp"));
    assert!(satcp > 0.9 && satcp - cubic > 0.08, "{satcp} against {cubic}");
}

#[test]
fn starquic_freezes_its_window_over_a_reconfiguration() {
    // Kamel et al. by Valentine and Parisis, section I: it "freezes the congestion window during handovers, for both BBRv3
    // and Cubic"; section IV-D: "avoiding reductions from handover loss, therefore mitigating their underlying CCs
    // throughput degradation".
    for (scheme, frozen) in [("cubic", "starquic"), ("bbr3", "starquic-bbr3")] {
        let runs =
            |scheme: &str| (1..=12).map(|seed| reconfigurations(scheme, true, seed)).collect::<Vec<_>>();
        let (plain, frozen_runs) = (runs(scheme), runs(frozen));
        let goodput = |runs: &[RunLog]| {
            runs.iter().map(|log| log.flows[0].normalized_goodput).sum::<f64>() / runs.len() as f64
        };
        // Window 0.4 s after each reconfiguration, relative to 0.1 s before.
        let window_share = |runs: &[RunLog]| {
            let ratios = runs.iter().flat_map(|log| {
                let window = |time_s: f64| {
                    f64::from(log.flow_series.cwnd_packets[(time_s * 10.0).round() as usize - 1])
                };
                (12..115).step_by(15).map(f64::from).map(move |at| window(at + 0.4) / window(at - 0.1))
            });
            mean(&ratios.collect::<Vec<_>>())
        };
        let (before, after) = (window_share(&plain), window_share(&frozen_runs));
        let message = format!("{frozen} keeps {after} of its window, {scheme} {before}");
        // Losses at a reconfiguration move BBR's model-based window less than they halve CUBIC's.
        let least = if scheme == "bbr3" { 0.05 } else { 0.1 };
        assert!(after > 0.95 && after - before > least, "{message}");
        let (before, after) = (goodput(&plain), goodput(&frozen_runs));
        // CUBIC loses 0.3 %; freezing must save at least a tenth of it.
        assert!(1.0 - after < 0.9 * (1.0 - before), "{frozen} has {after}, {scheme} {before}");
        let unannounced =
            [scheme, frozen].map(|name| reconfigurations(name, false, 1).flow_series.cwnd_packets);
        assert_eq!(unannounced[0], unannounced[1], "without announcements {frozen} is {scheme}");
    }
}

#[test]
fn a_longer_freeze_around_a_handover_that_comes_late_gets_more() {
    // Cao and Zhang, table I: 59.8, 123.4, 138.1 and 139.4 Mbit/s by length of the freeze. This handover
    // comes 0.3 s after its announced time: a freeze of 0.9 s or more tolerates that, one of 0.3 s does not.
    let goodput = |scheme: &str| {
        (1..=3).map(|seed| handovers(scheme, true, seed).flows[0].normalized_goodput).sum::<f64>() / 3.0
    };
    let short = goodput("satcp-0.3s");
    for scheme in ["satcp-0.9s", "satcp-1.3s", "satcp-2.3s"] {
        let long = goodput(scheme);
        assert!(long > short + 0.03, "{scheme}: {long} against {short}");
    }
}

#[test]
fn an_outage_that_drops_takes_the_queue_there_and_back() {
    // 100 Mbit/s of UDP over 100 Mbit/s: no queue; packets of 20 ms in every 5 s are lost.
    let lost = |effect: &str| {
        let path = trace(&[(5 * SECOND - 20 * MS, 20 * MS, 100, true), (20 * MS, 20 * MS, 100, false)]);
        let mut scenario = traced(json!({"packets": 1000}), 9.0, &["udp"]);
        scenario["links"]["b"]["outage"] = json!(effect);
        scenario["flows"][0]["rate_mbps"] = json!(90);
        run_over(path, &scenario, 100 * MS).links[0].lost_packets
    };
    // 20 ms in flight when the outage begins and 20 ms that arrive during it: 150 packets each.
    let (held, dropped) = (lost("hold"), lost("drop"));
    assert!((145..=155).contains(&held), "{held}");
    assert!((295..=305).contains(&dropped), "{dropped}");
}
