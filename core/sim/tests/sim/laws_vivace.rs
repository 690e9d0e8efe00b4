//! Vivace's behavior: its paper (Dong et al., NSDI 2018) and the LEO paper's findings.

use crate::support::{MS, dumbbell, goodput, mean, run, run_over, trace, traced};
use serde_json::{Value, json};

/// Payload rate of 100 Mbit/s, in Mbit/s.
const FULL_MBPS: f64 = 100.0 * 1_448.0 / 1_500.0;
const VARIANTS: [&str; 3] = ["vivace", "vivace-proteus", "vivace-kernel"];

#[test]
fn vivace_alone_fills_the_link_within_seconds_and_keeps_the_queue_empty() {
    // Theorem 2: with b ≥ t·n^(2−t)·C^(t−1) "the latency in the unique stable configuration is the base RTT".
    for scheme in VARIANTS {
        let log = run(&dumbbell(100.0, 25.0, 60.0, &[scheme]), 1_000 * MS);
        let share = goodput(&log, 0, 8.0, 60.0) / FULL_MBPS;
        assert!((0.9..1.0).contains(&share), "{scheme}: {share}");
        let rtt = mean(&log.flow_series.rtt_ms[8..]);
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
                let (first, second) = (goodput(&log, 0, 60.0, 120.0), goodput(&log, 1, 60.0, 120.0));
                assert!(first + second > 0.9 * FULL_MBPS, "{scheme}: {first} {second}");
                first.min(second) / first.max(second)
            })
            .collect();
        assert!(mean(&ratios) >= least, "{scheme}: {} {ratios:?}", mean(&ratios));
    }
}

#[test]
fn random_loss_of_a_few_percent_costs_little_and_of_a_tenth_nearly_all() {
    // §3.2: c = 11.35 makes a sender resilient to 5 % of random loss at 100 Mbit/s; the LEO paper, section
    // IV-A: "Vivace tracks the available bandwidth well in the presence of non-congestive loss". With noise,
    // the resilience ends earlier.
    let rate = |scheme: &str, loss: f64| {
        let mut scenario = dumbbell(100.0, 15.0, 60.0, &[scheme]);
        scenario["links"]["b"]["loss"] = json!(loss);
        let goodput = |seed: u64| {
            scenario["seed"] = json!(seed);
            run(&scenario, 0).flows[0].normalized_goodput
        };
        // Some runs take 30 s to find their rate, so use the median of three.
        let mut runs = [1, 2, 3].map(goodput);
        runs.sort_by(f64::total_cmp);
        runs[1]
    };
    for scheme in VARIANTS {
        let [at_1, at_2, at_10] = [0.01, 0.02, 0.1].map(|loss| rate(scheme, loss));
        assert!(at_1 > 0.87 && at_2 > 0.8 && at_10 < 0.2, "{scheme}: {at_1} {at_2} {at_10}");
    }
    assert!(rate("cubic", 0.01) < 0.3);
}

const RUNS: u32 = 6;

/// The LEO paper's inter-RTT benchmark (section IV-B): a flow of 20 ms runs for 2,000 RTTs of the other,
/// which joins after 500. Returns the ratio of lower to higher goodput and both goodputs over the last 500
/// RTTs, as means over runs.
fn unequal_rtts(scheme: &str, rtt_ms: f64, burst_bytes: u32, queue: &Value) -> (f64, [f64; 2]) {
    let seconds = 2.0 * rtt_ms;
    let (mut ratio, mut goodputs) = (0.0, [0.0; 2]);
    for seed in 0..RUNS {
        let mut scenario = dumbbell(100.0, 10.0, seconds, &[scheme, scheme]);
        scenario["seed"] = json!(seed);
        scenario["flows"][1]["extra_delay_ms"] = json!((rtt_ms - 20.0) / 2.0);
        scenario["flows"][1]["start_s"] = json!(seconds / 4.0);
        scenario["links"]["b"]["burst_bytes"] = json!(burst_bytes);
        scenario["links"]["b"]["queue"] = queue.clone();
        let log = run(&scenario, 1_000 * MS);
        let of = [0, 1].map(|flow| goodput(&log, flow, 0.75 * seconds, seconds));
        ratio += of[0].min(of[1]) / of[0].max(of[1]) / f64::from(RUNS);
        goodputs = [0, 1].map(|flow| goodputs[flow] + of[flow] / f64::from(RUNS));
    }
    (ratio, goodputs)
}

/// The `burst` of tc's tbf in the LEO paper's testbed at 100 Mbit/s: 42 ms of the rate.
const TESTBED_BURST_BYTES: u32 = 524_288;

#[test]
fn behind_the_leo_papers_shaper_the_flow_of_the_shorter_rtt_takes_everything() {
    // The LEO paper, section IV-B: "Vivace exhibits the weakest performance of all tested CC schemes … the lower RTT flow
    // always dominates the other flow", while (section III-B) it is "fair when the two flows experience the same base RTT".
    let fifo = json!({"bdp": 1.0});
    for rtt_ms in [60.0, 140.0] {
        let (ratio, [short, long]) = unequal_rtts("vivace", rtt_ms, TESTBED_BURST_BYTES, &fifo);
        assert!(ratio < 0.1 && short > 80.0, "{rtt_ms}: {ratio}, {short} {long}");
    }
    let (equal, _) = unequal_rtts("vivace", 20.0, TESTBED_BURST_BYTES, &fifo);
    assert!(equal > 0.7, "{equal}");
    // Section IV-D: SFQ gives each flow its share, "nullifying the inter-RTT unfairness".
    let (ratio, _) = unequal_rtts("vivace", 60.0, TESTBED_BURST_BYTES, &json!({"kind": "sfq"}));
    assert!(ratio > 0.85, "{ratio}");
}

#[test]
fn it_is_the_token_bucket_that_does_this_for_on_an_exact_link_neither_flow_dominates() {
    // A probe of 20 ms at 5 % above a share of 50 Mbit/s is 6 KB too much. The token bucket absorbs it, so
    // the RTT does not grow and the utility favors the higher rate. The longer flow's probes outlast the
    // bucket. Without a bucket, both see the same slope.
    for rtt_ms in [60.0, 140.0] {
        let (ratio, goodputs) = unequal_rtts("vivace", rtt_ms, 0, &json!({"bdp": 1.0}));
        assert!(ratio > 0.65, "{rtt_ms}: {ratio}, {goodputs:?}");
    }
}

/// Goodput in Mbit/s, one row per `series_ms`, over two path parts (delay in ms, Mbit/s) of 60 s each.
fn after_a_change(scheme: &str, parts: [(u64, u64); 2], series_ms: u64, seed: u64) -> Vec<f64> {
    let parts = parts.map(|(delay_ms, mbps)| (60_000 * MS, delay_ms * MS, mbps, true));
    let mut scenario = traced(json!({"packets": 800}), 120.0, &[scheme]);
    scenario["seed"] = json!(seed);
    let log = run_over(trace(&parts), &scenario, series_ms * MS);
    log.flow_series.goodput_mbps[(60_000 / series_ms) as usize..].to_vec()
}

#[test]
fn the_longer_the_rtt_the_longer_it_takes_to_find_new_bandwidth() {
    // The LEO paper, section IV-A: "Vivace's responsiveness deficit is attributed to (1) its monitoring interval being
    // based on the underlying RTT, (2) the bandwidth growth cap".
    let seconds = |scheme: &str, delay_ms: u64| {
        let times = (0..3).map(|seed| {
            let goodputs = after_a_change(scheme, [(delay_ms, 20), (delay_ms, 100)], 100, seed);
            goodputs.iter().position(|&goodput| goodput > 80.0).map_or(60.0, |rows| rows as f64 * 0.1)
        });
        times.sum::<f64>() / 3.0
    };
    let [short, medium, long] = [5, 25, 90].map(|delay_ms| seconds("vivace", delay_ms));
    assert!(short < 1.5 && (2.0..5.0).contains(&medium) && long > 7.0, "{short} {medium} {long}");
    assert!(long > 1.5 * seconds("bbr3", 90), "{long} {}", seconds("bbr3", 90));
    assert!(long > 1.2 * seconds("vivace-proteus", 90), "{long} {}", seconds("vivace-proteus", 90));
}

#[test]
fn a_base_rtt_that_grows_costs_a_second_or_two_for_no_minimum_is_remembered() {
    // The utility uses only the RTT's slope, so a jump disturbs one interval. BBRv3 mistakes it for a queue
    // for 10 s (the LEO paper, section IV-A).
    for scheme in VARIANTS {
        let goodputs = after_a_change(scheme, [(10, 100), (90, 100)], 1_000, 1);
        assert!(mean(&goodputs[3..13]) > 80.0, "{scheme}: {goodputs:?}");
    }
    let goodputs = after_a_change("bbr3", [(10, 100), (90, 100)], 1_000, 1);
    assert!(mean(&goodputs[3..8]) < 50.0, "{goodputs:?}");
}
