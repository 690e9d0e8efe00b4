//! Announcements in path traces.

use crate::support::{MS, SECOND, parse, run_over, trace, traced, traces};
use leo_link::PathTrace;
use leo_sim::{Announcement, BaseRttSteps, Nanos, RUN_ON, RunLog, missing_announcements};
use serde_json::{Value, json};

fn missing(metadata: &Value, schemes: &[&str]) -> Vec<(usize, Announcement)> {
    let metadata = metadata.to_string();
    let path = PathTrace { metadata, ..trace(&[(20 * SECOND, 10 * MS, 10, true)]) };
    let scenario = traced(json!({}), 5.0, schemes);
    missing_announcements(&parse(&scenario), &traces(path), RUN_ON).unwrap()
}

#[test]
fn a_path_that_announces_nothing_lacks_what_each_scheme_asks_for() {
    let schemes = ["satcp", "cubic", "leocc", "starquic", "leotcp"];
    let expected = vec![
        (0, Announcement::Handovers),
        (2, Announcement::Reconfigurations),
        (3, Announcement::Reconfigurations),
    ];
    assert_eq!(missing(&json!({}), &schemes), expected);
}

#[test]
fn what_is_announced_is_there_even_if_none_of_it_falls_into_the_run() {
    let about = json!({"handovers": [{"predicted_s": 15.0}], "reattach_s": 15.0});
    assert_eq!(missing(&about, &["satcp", "leocc", "starquic-bbr3"]), vec![]);
}

/// Run a flow for 50 s on a path whose RTT steps between 40 and 60 ms at 2 s, 17 s, …, and which announces `about`.
fn stepping(scheme: &str, about: &Value, series: Nanos) -> RunLog {
    let parts = [(2, 20), (15, 30), (15, 20), (15, 30), (15, 20)];
    let parts = parts.map(|(seconds, delay)| (seconds * SECOND, delay * MS, 10, true));
    let path = PathTrace { metadata: about.to_string(), ..trace(&parts) };
    // An application of 2 Mbit/s leaves the queue empty. LeoCC is backlogged: its Startup, which ends a reconfiguration, ends
    // only at a full pipe.
    let mut scenario = traced(json!({}), 50.0, &[scheme]);
    scenario["host_jitter_us"] = json!(0.0);
    scenario["flows"][0]["rate_mbps"] = json!((scheme != "leocc").then_some(2.0));
    run_over(path, &scenario, series)
}

/// Return the distinct times in the column `path_change_s`.
fn path_changes(log: &RunLog) -> Vec<f64> {
    let mut times: Vec<f64> =
        log.flow_series.path_change_s.iter().copied().filter(|at| at.is_finite()).collect();
    times.dedup();
    times
}

#[test]
fn the_run_log_has_the_path_changes_that_schemes_expect_at_the_times_at_which_they_act() {
    let predicted = [2.25, 16.75, 32.0, 33.0, 47.5].map(|at| json!({"predicted_s": at}));
    let about = json!({"handovers": predicted, "reattach_s": 15.0, "reattach_phase_s": 2.0});
    let near = |scheme: &str, expected: &[f64], late_s: f64| {
        let changes = path_changes(&stepping(scheme, &about, 10 * MS));
        assert_eq!(changes.len(), expected.len(), "{scheme}: {changes:?}");
        let late = |(at, expected): (&f64, &f64)| (0.0..=late_s).contains(&(at - expected + 1e-9));
        assert!(changes.iter().zip(expected).all(late), "{scheme}: {changes:?}");
    };
    // 0.1 s before each point of the grid; LeoCC, when the next ACK comes.
    for scheme in ["starquic", "starquic-bbr3"] {
        near(scheme, &[1.9, 16.9, 31.9, 46.9], 1e-6);
    }
    near("leocc", &[1.9, 16.9, 31.9, 46.9], 0.03);
    // As early as the reports of each variant.
    near("satcp", &[1.65, 16.15, 31.4, 32.4, 46.9], 1e-6);
    near("satcp-0.3s", &[2.25, 16.75, 32.0, 33.0, 47.5], 1e-6);
    near("cubic", &[], 0.0);
}

#[test]
fn without_announcements_the_run_log_has_no_path_changes() {
    for scheme in ["starquic", "starquic-bbr3", "leocc", "satcp"] {
        let changes = path_changes(&stepping(scheme, &json!({}), 10 * MS));
        assert!(changes.is_empty(), "{scheme}: {changes:?}");
    }
}

#[test]
fn the_base_rtts_steps_are_in_the_run_logs_rtts_of_a_flow_that_leaves_the_queue_empty() {
    let series = stepping("cubic", &json!({}), 10 * MS).flow_series;
    let mut watch = BaseRttSteps::default();
    let samples = series.time_s.iter().zip(&series.rtt_ms).filter(|(_, rtt)| rtt.is_finite());
    let steps: Vec<f64> = samples
        .filter(|(at, rtt)| watch.update((*at * 1e9) as Nanos, (*rtt * 1e6) as Nanos))
        .map(|(at, _)| *at)
        .collect();
    assert_eq!(steps.len(), 4, "{steps:?}");
    for (at, step) in steps.iter().zip([2.0, 17.0, 32.0, 47.0]) {
        assert!((0.05..0.3).contains(&(at - step)), "{steps:?}");
    }
}
