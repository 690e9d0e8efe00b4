//! Applications that write less than TCP could send.

use crate::support::{MS, PACKET_BITS, SECOND, dumbbell, run};
use serde_json::{Value, json};

/// A link of 100 Mbit/s and 50 ms with 1 BDP (417 packets) of buffer.
fn application(scheme: &str, rate_mbps: f64, on_off: Option<(f64, f64)>) -> Value {
    let mut scenario = dumbbell(100.0, 25.0, 60.0, &[scheme]);
    scenario["flows"][0]["rate_mbps"] = json!(rate_mbps);
    if let Some((on_s, off_s)) = on_off {
        scenario["flows"][0]["on_off"] = json!({"on_s": on_s, "off_s": off_s, "distribution": "constant"});
    }
    scenario
}

#[test]
fn a_flow_carries_what_its_application_writes_without_a_queue() {
    for scheme in leo_sim::SCHEMES {
        // LeoTCP follows the free capacity in telemetry and starts slower than the application.
        let log = run(&application(scheme, 5.0, None), MS);
        let flow = &log.flows[0];
        let written = 5.0 * 1448.0 / 1500.0;
        assert!((flow.goodput_mbps / written - 1.0).abs() < 0.01, "{scheme}: {flow:?}");
        assert!(flow.lost_packets == 0, "{scheme}: {flow:?}");
        // By Little's law, a packet waits for at most RTT/50.
        let queue = &log.link_series.queue_packets;
        let packets = f64::from(queue.iter().sum::<u32>()) / queue.len() as f64;
        assert!(packets / (5e6 / PACKET_BITS) < 0.02 * 0.05, "{scheme}: {packets} packets");
    }
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    // RFC 7661 §4: "cwnd is not increased" unless it is used; Linux's slow start allows twice the used
    // window. 21 packets fill 5 Mbit/s at 50 ms; round trip 2 adds those that the initial window held back.
    for scheme in ["reno", "cubic"] {
        let log = run(&application(scheme, 5.0, None), SECOND);
        let windows = &log.flow_series.cwnd_packets;
        assert!(windows.iter().all(|&window| (10..=2 * 28).contains(&window)), "{scheme}: {windows:?}");
        // A backlogged flow's window grows to hundreds.
        let endless = run(&dumbbell(100.0, 25.0, 10.0, &[scheme]), SECOND);
        assert!(endless.flow_series.cwnd_packets.iter().any(|&window| window > 400), "{scheme}");
    }
}

#[test]
fn after_a_long_silence_a_flow_starts_slowly_again_and_after_a_short_one_it_goes_on() {
    // RFC 5681 §4.1. A burst of 80 Mbit/s needs 333 packets; with a timeout of 250 ms, Linux's halvings reach
    // the initial window after 1.5 s.
    let windows = |off_s: f64| {
        let log = run(&application("reno", 80.0, Some((2.0, off_s))), 10 * MS);
        let series = &log.flow_series;
        let at = |time: f64| {
            let row = series.time_s.iter().position(|&row| row >= time).expect("the run is long enough");
            series.cwnd_packets[row]
        };
        // The end of the first burst, and 20 ms into the second, before its first ACK.
        (at(2.0), at(2.02 + off_s))
    };
    let (before, after) = windows(3.0);
    assert!(before > 300 && after == 10, "{before}, {after}");
    let (before, after) = windows(0.15);
    assert!(after >= before && before > 300, "{before}, {after}");
    let (before, after) = windows(0.7);
    // One or two timeouts pass after the last packet.
    assert!(after <= before / 2 && after >= before / 8, "{before}, {after}");
}

#[test]
fn bbr_keeps_its_estimate_while_the_application_limits_it() {
    // draft-ietf-ccwg-bbr: "BBR only uses samples that are marked as app-limited if they exceed the current
    // estimate". A flow that measured 100 Mbit/s, then writes 5 Mbit/s for a minute, bursts at the old rate.
    let mut scenario = application("bbr", 90.0, Some((2.0, 1.0)));
    scenario["duration_s"] = json!(12.0);
    let log = run(&scenario, 100 * MS);
    let series = &log.flow_series;
    let late = series.time_s.iter().zip(&series.pacing_mbps).filter(|(time, _)| **time > 3.0);
    let least = late.map(|(_, rate)| *rate).fold(f64::INFINITY, f64::min);
    // Drain phases pace at 3/4.
    assert!(least > 0.7 * 80.0, "{least}");
}
