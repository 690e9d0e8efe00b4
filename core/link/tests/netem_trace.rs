//! Plays the project's netem-trace exports with netem-trace and compares them row by row with the path trace.
//!
//! `leogym traces export trace.csv --format netem-trace` writes the JSON; a Python test checks that.

use std::time::Duration;

use leo_link::PathTrace;
use netem_trace::model::{BwTraceConfig, DelayTraceConfig, LossTraceConfig};

/// Periods to play; the pattern repeats forever.
const ROUNDS: u32 = 3;

fn trace() -> PathTrace {
    PathTrace::parse(include_str!("fixtures/netem_trace/trace.csv"), "trace.csv").unwrap()
}

/// The values of `trace` with their durations; equal neighbours within a period are joined.
fn spans<T: PartialEq>(trace: &PathTrace, value: impl Fn(&leo_link::Row) -> T) -> Vec<(T, Duration)> {
    let mut spans: Vec<(T, Duration)> = Vec::new();
    for (index, row) in trace.rows.iter().enumerate() {
        let end_ns = trace.rows.get(index + 1).map_or(trace.period_ns, |next| next.time_ns);
        let length = Duration::from_nanos(end_ns - row.time_ns);
        match spans.last_mut() {
            Some((last, held)) if *last == value(row) => *held += length,
            _ => spans.push((value(row), length)),
        }
    }
    spans
}

fn capacity_plays(json: &str, bps: impl Fn(&leo_link::Row) -> u64) {
    let config: Box<dyn BwTraceConfig> = serde_json::from_str(json).unwrap();
    let mut model = config.into_model();
    for _ in 0..ROUNDS {
        for expected in spans(&trace(), |row| if row.up.connected { bps(row) } else { 0 }) {
            let (bandwidth, length) = model.next_bw().unwrap();
            assert_eq!((bandwidth.as_bps(), length), (u128::from(expected.0), expected.1));
        }
    }
}

#[test]
fn the_capacity_of_both_directions_plays_as_the_trace_says() {
    capacity_plays(include_str!("fixtures/netem_trace/uplink.bw.json"), |row| row.up.rate_bps);
    capacity_plays(include_str!("fixtures/netem_trace/downlink.bw.json"), |row| row.down.rate_bps);
}

#[test]
fn the_delay_plays_as_the_trace_says() {
    let config: Box<dyn DelayTraceConfig> =
        serde_json::from_str(include_str!("fixtures/netem_trace/delay.json")).unwrap();
    let mut model = config.into_model();
    for _ in 0..ROUNDS {
        for (delay_ns, length) in spans(&trace(), |row| row.up.delay_ns) {
            assert_eq!(model.next_delay(), Some((Duration::from_nanos(delay_ns), length)));
        }
    }
}

#[test]
fn the_loss_plays_as_the_trace_says() {
    let config: Box<dyn LossTraceConfig> =
        serde_json::from_str(include_str!("fixtures/netem_trace/loss.json")).unwrap();
    let mut model = config.into_model();
    for _ in 0..ROUNDS {
        for (loss, length) in spans(&trace(), |row| row.up.loss) {
            assert_eq!(model.next_loss(), Some((vec![loss], length)));
        }
    }
}
