//! Start-up: SEARCH, Rapid Start and Careful Resume beside HyStart.

use crate::support::{MS, dumbbell, run};
use leo_sim::RunLog;
use serde_json::json;

fn starts(scheme: &str, rate_mbps: f64, rtt_ms: f64, bdp: f64, seconds: f64) -> RunLog {
    let mut scenario = dumbbell(rate_mbps, rtt_ms / 2.0, seconds, &[scheme]);
    let window = (rate_mbps * rtt_ms / 12.0).round() as u32;
    scenario["links"]["b"]["queue"] = json!({"bdp": bdp});
    scenario["flows"][0]["resume"] = json!({"cwnd_packets": window, "rtt_ms": rtt_ms});
    run(&scenario, 20 * MS)
}

/// The RTTs until 90 % of the capacity arrives, over 100 ms.
fn rtts_to_90_percent(log: &RunLog, rate_mbps: f64, rtt_ms: f64) -> f64 {
    let full = 0.9 * rate_mbps * 1448.0 / 1500.0;
    let goodput = &log.flow_series.goodput_mbps;
    let end = goodput
        .windows(5)
        .position(|window| window.iter().sum::<f64>() / 5.0 >= full)
        .expect("it fills the path")
        + 5;
    end as f64 * 20.0 / rtt_ms
}

#[test]
fn careful_resume_fills_a_geo_path_within_three_round_trips_where_slow_start_takes_twice_as_long() {
    let [cubic, resumed] = ["cubic", "cubic-resume"]
        .map(|scheme| rtts_to_90_percent(&starts(scheme, 50.0, 600.0, 1.0, 12.0), 50.0, 600.0));
    assert!(resumed <= 3.0 && cubic > 5.0, "{resumed} {cubic}");
}

#[test]
fn search_ends_slow_start_before_a_deep_buffer_overflows() {
    // The draft: "reliably exits from slow start after the congestion point is reached but before inducing packet loss".
    let [search, plain] = ["cubic-search", "cubic-nohystart"]
        .map(|scheme| starts(scheme, 100.0, 50.0, 4.0, 10.0).flows.remove(0));
    assert!(search.loss_rate < 0.01, "{search:?}");
    assert!(plain.loss_rate > 0.02, "{plain:?}");
    assert!(search.normalized_goodput > 0.95, "{search:?}");
}

#[test]
fn rapid_start_fills_a_path_two_round_trips_sooner_than_slow_start() {
    let [cubic, rapid] = ["cubic-nohystart", "cubic-rapidstart"]
        .map(|scheme| rtts_to_90_percent(&starts(scheme, 100.0, 100.0, 1.0, 5.0), 100.0, 100.0));
    assert!(rapid < cubic - 1.5, "{rapid} {cubic}");
}
