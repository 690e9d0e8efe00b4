//! What Vivace does on a path: its paper (Dong et al., NSDI 2018), and what the LEO paper found.

mod support;

use leo_sim::RunLog;
use serde_json::json;
use support::{MS, dumbbell, run};

/// Payload that 100 Mbit/s carry, in Mbit/s.
const FULL_MBPS: f64 = 100.0 * 1_448.0 / 1_500.0;
const VARIANTS: [&str; 3] = ["vivace", "vivace-proteus", "vivace-kernel"];

/// Mean goodput of a flow in a span of seconds, of a run with a row a second.
fn goodput(log: &RunLog, flow: u32, seconds: std::ops::Range<usize>) -> f64 {
    let series = &log.flow_series;
    let rows = series.goodput_mbps.iter().zip(&series.flow).filter(|row| *row.1 == flow).map(|row| *row.0);
    let length = seconds.len() as f64;
    rows.skip(seconds.start).take(seconds.len()).sum::<f64>() / length
}

#[test]
fn vivace_alone_fills_the_link_within_seconds_and_keeps_the_queue_empty() {
    // Theorem 2: with b ≥ t·n^(2−t)·C^(t−1) "the latency in the unique stable configuration is the base RTT".
    for scheme in VARIANTS {
        let log = run(&dumbbell(100.0, 25.0, 60.0, &[scheme]), 1_000 * MS);
        let mean = goodput(&log, 0, 8..60) / FULL_MBPS;
        assert!((0.9..1.0).contains(&mean), "{scheme}: {mean}");
        let rtts = &log.flow_series.rtt_ms[8..];
        let rtt = rtts.iter().sum::<f64>() / rtts.len() as f64;
        assert!(rtt < 54.0, "{scheme}: {rtt} ms");
        assert!(log.flows[0].loss_rate < 0.005, "{scheme}: {:?}", log.flows[0]);
    }
}

#[test]
fn flows_of_equal_rtt_converge_to_equal_rates() {
    // Theorem 1: "the senders' sending rates converge to a fixed configuration such that x1 = x2 = … = xn". The LEO paper,
    // section III-B: "Vivace achieves very high fairness, particularly on stable ISL paths"; "a noisy convergence profile".
    for (scheme, least) in [("vivace", 0.9), ("vivace-proteus", 0.85), ("vivace-kernel", 0.9)] {
        let ratios: Vec<f64> = (0..8)
            .map(|seed| {
                let mut scenario = dumbbell(100.0, 25.0, 120.0, &[scheme, scheme]);
                scenario["seed"] = json!(seed);
                let log = run(&scenario, 1_000 * MS);
                let (one, other) = (goodput(&log, 0, 60..120), goodput(&log, 1, 60..120));
                assert!(one + other > 0.9 * FULL_MBPS, "{scheme}: {one} {other}");
                one.min(other) / one.max(other)
            })
            .collect();
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        assert!(mean >= least, "{scheme}: {mean} {ratios:?}");
    }
}

#[test]
fn random_loss_of_a_few_percent_costs_little_and_of_a_tenth_nearly_all() {
    // §3.2: c = 11.35 makes a sender resilient to 5 % of random loss at 100 Mbit/s; the LEO paper, section IV-A: "Vivace
    // tracks the available bandwidth well in the presence of non-congestive loss". In noise, some of it goes earlier.
    let rate = |scheme: &str, loss: f64| {
        let mut scenario = dumbbell(100.0, 15.0, 60.0, &[scheme]);
        scenario["links"]["b"]["loss"] = json!(loss);
        run(&scenario, 0).flows[0].normalized_goodput
    };
    for scheme in VARIANTS {
        let [one, two, ten] = [0.01, 0.02, 0.1].map(|loss| rate(scheme, loss));
        assert!(one > 0.87 && two > 0.8 && ten < 0.2, "{scheme}: {one} {two} {ten}");
    }
    assert!(rate("cubic", 0.01) < 0.3);
}
