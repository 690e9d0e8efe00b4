//! Start-up on a GEO path (Peters et al., "TCP HyStart Performance over a Satellite Network", 2021).

use crate::support::{MS, dumbbell, mean, run, run_over, trace, traced};
use serde_json::json;

/// Section "Methodology": 140 Mbit/s; "99% of round-trip times are from 560 and 625 milliseconds (... mean 597.5 ms,
/// standard deviation 16.9 ms)"; a gateway with 36 MB that drops a quarter of what comes when it is half full.
fn megabytes_by_tenth(scheme: &str, seed: u64) -> Vec<f64> {
    // A new one-way delay every 50 ms, like slots from a shared channel's scheduler.
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut beyond_the_least = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) % (32 * MS)
    };
    let parts: Vec<_> = (0..600).map(|_| (50 * MS, 280 * MS + beyond_the_least(), 140, true)).collect();
    let mut scenario = traced(json!({"kind": "gateway"}), 30.0, &[scheme]);
    scenario["seed"] = json!(seed);
    let log = run_over(trace(&parts), &scenario, 100 * MS);
    let total = |sum: &mut f64, mbps: &f64| {
        *sum += mbps * 0.1 / 8.0;
        Some(*sum)
    };
    log.flow_series.goodput_mbps.iter().scan(0.0, total).collect()
}

#[test]
fn hystart_takes_a_varying_delay_for_a_queue_and_start_up_lasts_twice_as_long() {
    // Section "HyStart", figure 6: "For an average Web page download (5 MBytes), HyStart on takes about 2x longer (8 versus
    // 16 seconds), a ratio similar for ... the largest Web pages (30 MBytes) (11 versus 22 seconds)"; figure 7: "the delay
    // mechanism is what causes HyStart to exit".
    let runs = |scheme: &str| (1..=10).map(|seed| megabytes_by_tenth(scheme, seed)).collect::<Vec<_>>();
    let (with, without) = (runs("cubic"), runs("cubic-nohystart"));
    let (delay, train) = (runs("cubic-hystart-delay"), runs("cubic-hystart-train"));
    // Its recommendation: "Remove the maximum limit, allowing the HyStart threshold trigger to be only determined by the
    // relative deviation from the base latency (currently, 1/8th of the base latency)".
    let unlimited = runs("cubic-hystart-nomax");
    let mean_s = |runs: &[Vec<f64>], size: f64| {
        let of_run = |run: &Vec<f64>| run.iter().position(|&sum| sum >= size).expect("in 30 s") as f64 * 0.1;
        mean(&runs.iter().map(of_run).collect::<Vec<_>>())
    };
    for megabytes in [5.0, 30.0, 50.0] {
        let (with, without) = (mean_s(&with, megabytes), mean_s(&without, megabytes));
        assert!(
            (1.6..3.0).contains(&(with / without)),
            "{megabytes} MB: {with} s with HyStart, {without} s without"
        );
        // Figure 7: "the packet-train method does not cause an early exit".
        let (delay, train) = (mean_s(&delay, megabytes), mean_s(&train, megabytes));
        assert!((delay / with - 1.0).abs() < 0.1, "{megabytes} MB: {delay} s with delays alone, {with} s");
        assert!(
            (train / without - 1.0).abs() < 0.1,
            "{megabytes} MB: {train} s with trains alone, {without} s"
        );
        let unlimited = mean_s(&unlimited, megabytes);
        assert!(
            (unlimited / without - 1.0).abs() < 0.1,
            "{megabytes} MB: {unlimited} s with no maximum, {without} s without"
        );
        // Only the initial window and its doubling: 10 · 2^n packets after n round trips.
        let doublings = (megabytes * 1e6 / 1448.0 / 10.0 + 1.0).log2();
        assert!(without < (doublings + 1.5) * 0.625 + megabytes * 8.0 / 130.0, "{megabytes} MB: {without} s");
    }
}

#[test]
fn hystart_stays_in_slow_start_to_half_the_bandwidth_delay_product_where_the_delay_is_steady() {
    // Ha and Rhee (Computer Networks 55, 2011), section 4.1: slow start ends once the ACK train is as long as
    // half the minimum RTT. Figure 7: "the packet-train method does not cause an early exit".
    let largest = |scheme: &str| {
        let mut scenario = dumbbell(140.0, 300.0, 8.0, &[scheme]);
        scenario["links"]["b"]["queue"] = json!({"kind": "gateway"});
        let log = run(&scenario, 100 * MS);
        let window = log.flow_series.cwnd_packets.iter().max().copied().expect("a row");
        (window, log.flows[0].lost_packets)
    };
    let bdp = 140e6 * 0.6 / 12_000.0;
    let ((with, lost), (without, _)) = (largest("cubic"), largest("cubic-nohystart"));
    assert!(f64::from(with) > 0.5 * bdp && lost == 0, "{with} of {bdp} packets, {lost} lost");
    assert!(f64::from(without) > 2.0 * bdp, "without HyStart only the gateway's drops stop it: {without}");
}
