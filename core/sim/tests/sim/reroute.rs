//! Flows that change their routes.

use crate::support::{MS, mean, run};
use leo_sim::RunLog;
use serde_json::json;

/// Two paths of 20 and 50 ms base RTT with two flows each. The second pair moves to the first path and back,
/// as in the LEO paper's "transient hotspots" (Mazilu, Valentine and Parisis, §IV-D), ten times faster.
fn hotspot() -> RunLog {
    let scenario = json!({
        "name": "hotspot", "duration_s": 30,
        "links": {"near": {"rate_mbps": 100, "delay_ms": 10}, "far": {"rate_mbps": 100, "delay_ms": 25}},
        "flows": [{"scheme": "cubic", "route": ["near"], "count": 2}, {"scheme": "cubic", "route": ["far"], "count": 2}],
        "events": [{"at_s": 10, "reroute": {"flows": [1], "route": ["near"]}},
                   {"at_s": 20, "reroute": {"flows": [1], "route": ["far"]}}],
    });
    run(&scenario, 100 * MS)
}

fn mean_of_second_pair(log: &RunLog, column: &[f64], from_s: f64, to_s: f64) -> f64 {
    let series = &log.flow_series;
    let rows = (0..series.time_s.len())
        .filter(|&row| series.flow[row] >= 2 && series.time_s[row] > from_s && series.time_s[row] <= to_s);
    mean(&rows.map(|row| column[row]).filter(|value| value.is_finite()).collect::<Vec<_>>())
}

#[test]
fn a_rerouted_pair_sees_the_new_paths_propagation_and_then_the_old_ones_again() {
    let log = hotspot();
    let base = |from_s, to_s| mean_of_second_pair(&log, &log.flow_series.base_rtt_ms, from_s, to_s);
    assert_eq!((base(1.0, 9.9), base(10.1, 19.9), base(20.1, 30.0)), (50.0, 20.0, 50.0));
}

#[test]
fn a_pair_that_moves_to_a_busy_path_shares_it_and_grows_again_when_it_moves_back() {
    let log = hotspot();
    let goodput = |from_s, to_s| mean_of_second_pair(&log, &log.flow_series.goodput_mbps, from_s, to_s);
    assert!(goodput(5.0, 10.0) > 45.0, "{}", goodput(5.0, 10.0));
    assert!(goodput(15.0, 20.0) < 40.0, "{}", goodput(15.0, 20.0));
    // Back on the longer path, windows sized for the shorter one must grow again.
    assert!(goodput(20.5, 22.0) < goodput(28.0, 30.0), "{}", goodput(28.0, 30.0));
}

#[test]
fn a_change_of_route_itself_loses_nothing() {
    let log = hotspot();
    assert!(log.links.iter().all(|link| link.lost_packets == 0), "{:?}", log.links);
    let sent: u64 = log.flows.iter().map(|flow| flow.sent_packets).sum();
    let offered: u64 = log.links.iter().map(|link| link.offered_packets).sum();
    assert_eq!(sent, offered);
}

#[test]
fn the_bottleneck_of_a_rerouted_flow_is_the_one_it_had_at_the_time() {
    let scenario = json!({
        "duration_s": 10,
        "links": {"slow": {"rate_mbps": 10, "delay_ms": 10}, "fast": {"rate_mbps": 50, "delay_ms": 10}},
        "flows": [{"scheme": "cubic", "route": ["slow"]}],
        "events": [{"at_s": 5, "reroute": {"flows": [0], "route": ["fast"]}}],
    });
    let log = run(&scenario, 100 * MS);
    assert!((log.flows[0].capacity_mbps - 30.0).abs() < 0.01, "{}", log.flows[0].capacity_mbps);
}
