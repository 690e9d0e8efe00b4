//! Flows that end when all bytes have arrived.

use crate::support::{MS, dumbbell, goodput, run};
use serde_json::{Value, json};

fn transfer(scheme: &str, bytes: u64) -> Value {
    let mut scenario = dumbbell(100.0, 25.0, 60.0, &[scheme]);
    scenario["flows"][0]["transfer_bytes"] = json!(bytes);
    scenario
}

#[test]
fn a_transfer_stops_when_its_last_byte_is_acknowledged_and_counts_its_bytes_exactly() {
    for bytes in [1_u64, 1_448, 1_449, 14_480, 100_000, 3_000_001] {
        let log = run(&transfer("cubic", bytes), 100 * MS);
        let flow = &log.flows[0];
        assert_eq!(flow.transfer_bytes, Some(bytes));
        let completion_s = flow.completion_s.expect("a minute is enough");
        assert!((flow.stop_s - flow.start_s - completion_s).abs() < 1e-9, "{flow:?}");
        let counted = flow.goodput_mbps * completion_s * 1e6 / 8.0;
        assert!((counted - bytes as f64).abs() < 1e-3, "{counted} of {bytes}");
        assert_eq!(flow.delivered_packets, bytes.div_ceil(1_448));
        assert_eq!((flow.lost_packets, flow.rtos), (0, 0), "{flow:?}");
        // Only payload and 52 bytes of headers per packet crossed the link.
        assert_eq!(log.links[0].delivered_bytes, bytes + 52 * flow.sent_packets);
        // The series include the part after the last full interval.
        let in_series: f64 = log.flow_series.goodput_mbps.iter().map(|rate| rate * 0.1e6 / 8.0).sum();
        assert!((in_series - bytes as f64).abs() < 1e-3, "{in_series} of {bytes}");
    }
}

#[test]
fn slow_start_completes_a_short_transfer_in_as_many_round_trips_as_its_doublings_take() {
    // RFC 6928: ten packets in the first round trip. RFC 5681: twice as many in each later one: 10, 20, 40,
    // 80. 0.12 ms per packet and the noise of start and ACKs are small compared to 50 ms.
    for (packets, round_trips) in [(1, 1), (10, 1), (11, 2), (30, 2), (31, 3), (70, 3), (150, 4)] {
        let log = run(&transfer("reno", packets * 1_448), 0);
        let completion_s = log.flows[0].completion_s.expect("a minute is enough");
        // After the 16 quick ACKs, a lone last packet may wait 40 ms for a delayed ACK.
        let waits = if packets > 16 { 0.04 } else { 0.0 };
        let least = 0.05 * f64::from(round_trips);
        assert!(
            (least..least + 0.012 + waits).contains(&completion_s),
            "{packets} packets took {completion_s} s"
        );
    }
}

#[test]
fn every_scheme_completes_a_transfer_and_a_lossy_path_only_delays_it() {
    for scheme in leo_sim::SCHEMES {
        let mut scenario = transfer(scheme, 500_000);
        let clean = run(&scenario, 0).flows[0].completion_s;
        scenario["links"]["b"]["loss"] = json!(0.05);
        let lossy = run(&scenario, 0).flows[0].completion_s;
        assert!(clean.is_some_and(|clean| clean < 2.0), "{scheme}: {clean:?}");
        // Vivace tries random rates and may be lucky. LeoTCP's window does not react to losses.
        let luck = if scheme.starts_with("vivace") || *scheme == "leotcp-noinitial" { 0.9 } else { 1.0 };
        assert!(lossy.is_some() && clean.map(|clean| luck * clean) < lossy, "{scheme}: {clean:?}, {lossy:?}");
    }
}

#[test]
fn a_transfer_that_its_stop_or_the_end_cuts_off_has_no_completion_time() {
    let mut scenario = transfer("cubic", 100_000_000);
    scenario["flows"][0]["stop_s"] = json!(2.0);
    let log = run(&scenario, 0);
    assert_eq!(log.flows[0].completion_s, None);
    assert!((log.flows[0].stop_s - 2.0).abs() < 1e-9);
}

#[test]
fn a_transfer_leaves_the_link_to_whoever_runs_on() {
    let mut scenario = dumbbell(20.0, 10.0, 20.0, &["cubic", "cubic"]);
    scenario["flows"][0]["transfer_bytes"] = json!(2_000_000);
    let log = run(&scenario, 1_000 * MS);
    assert!(log.flows[0].completion_s.is_some_and(|completion_s| completion_s < 5.0), "{:?}", log.flows[0]);
    let late = goodput(&log, 1, 10.0, 20.0);
    assert!(late > 0.98 * 20.0 * 1448.0 / 1500.0, "{late}");
}

fn short_flows() -> Value {
    let mut scenario = dumbbell(50.0, 10.0, 60.0, &["cubic", "reno"]);
    scenario["flows"][1]["arrivals"] = json!({"rate_per_s": 20.0, "mean_bytes": 30_000});
    scenario
}

#[test]
fn transfers_that_arrive_offer_their_load_and_have_a_row_each() {
    let mut scenario = short_flows();
    scenario["flows"][1]["stop_s"] = json!(50.0);
    scenario["flows"][1]["extra_delay_ms"] = json!(5.0);
    let log = run(&scenario, 100 * MS);
    let (endless, short) = log.flows.split_first().expect("there are flows");
    // Expected: 1,000; standard deviation: 32.
    assert!(short.len().abs_diff(1_000) < 130, "{}", short.len());
    assert!(endless.transfer_bytes.is_none() && endless.completion_s.is_none());
    assert!(short.iter().all(|flow| flow.scheme == "reno" && flow.start_s < 50.0));
    // The last ones arrive 10 s before the end: all complete, in at least one round trip of 30 ms.
    assert!(short.iter().all(|flow| flow.completion_s.is_some_and(|completion_s| completion_s > 0.03)));
    let carried: u64 = short.iter().filter_map(|flow| flow.transfer_bytes).sum();
    // Expected: 30 MB; standard deviation: 1.3 MB.
    assert!(carried.abs_diff(30_000_000) < 6_000_000, "{carried}");
    assert!(endless.normalized_goodput > 0.85, "{endless:?}");
}

#[test]
fn arrivals_come_from_the_seed() {
    let starts = |seed: u64| {
        let mut scenario = short_flows();
        scenario["seed"] = json!(seed);
        run(&scenario, 0).flows.iter().map(|flow| flow.start_s).collect::<Vec<_>>()
    };
    assert_eq!(starts(5), starts(5));
    assert_ne!(starts(5), starts(6));
}
