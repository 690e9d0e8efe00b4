//! Test helpers: scenarios from JSON, traces from rows, comparison of run logs.

use std::path::Path;
use std::sync::Arc;

use leo_control::Policy;
use leo_link::{Event, OneWay, PathTrace, Row};
use leo_sim::{Nanos, PolicySet, RUN_ON, RunLog, Scenario, Simulation, TraceSet};
use serde_json::{Value, json};

pub const MS: Nanos = 1_000_000;
pub const SECOND: Nanos = 1_000 * MS;
/// The monitor interval of all tests.
pub const INTERVAL: Nanos = 30 * MS;
/// Bits of a full packet.
pub const PACKET_BITS: f64 = 12_000.0;

pub fn parse(scenario: &Value) -> Scenario {
    Scenario::from_json(&scenario.to_string()).expect("the scenario is valid")
}

pub fn simulation(scenario: &Value, traces: &TraceSet, series: Nanos) -> Simulation {
    Simulation::new(&parse(scenario), traces, &policies(), INTERVAL, series, RUN_ON)
        .expect("the scenario can be built")
}

/// Run simulations to their end, and assert that no packet is unaccounted for.
pub fn run_many(simulations: Vec<Simulation>, threads: usize) -> Vec<RunLog> {
    let logs = leo_sim::run_many(simulations, threads, RUN_ON).expect("nobody stops them");
    logs.iter().for_each(assert_conserved);
    logs
}

/// Run a scenario without traces, with a series row every `series`.
pub fn run(scenario: &Value, series: Nanos) -> RunLog {
    run_many(vec![simulation(scenario, &TraceSet::new(), series)], 1).remove(0)
}

/// Run a scenario whose links follow `path`, with a series row every `series`.
pub fn run_over(path: PathTrace, scenario: &Value, series: Nanos) -> RunLog {
    run_many(vec![simulation(scenario, &traces(path), series)], 1).remove(0)
}

/// A bottleneck of 1 BDP and flows of the given schemes that start together.
pub fn dumbbell(rate_mbps: f64, delay_ms: f64, duration_s: f64, schemes: &[&str]) -> Value {
    through(json!({"rate_mbps": rate_mbps, "delay_ms": delay_ms, "queue": {"bdp": 1.0}}), duration_s, schemes)
}

/// A bottleneck that follows the trace `path`, and flows of the given schemes that start together.
pub fn traced(queue: Value, duration_s: f64, schemes: &[&str]) -> Value {
    through(json!({"trace": "path", "queue": queue}), duration_s, schemes)
}

/// Flows of the given schemes that start together and share the link `b`.
fn through(link: Value, duration_s: f64, schemes: &[&str]) -> Value {
    let flows: Vec<Value> = schemes.iter().map(|scheme| json!({"scheme": scheme, "route": ["b"]})).collect();
    json!({"duration_s": duration_s, "links": {"b": link}, "flows": flows})
}

/// The scheme `policy` is a small network with fixed weights.
pub fn policies() -> PolicySet {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../control/tests/fixtures/perceptron");
    let policy = Policy::load(&folder).expect("the fixture can be read");
    PolicySet::from([("policy".to_owned(), Arc::new(policy))])
}

/// Build a trace from rows of duration, delay, rate in Mbit/s and connectivity.
pub fn trace(parts: &[(Nanos, Nanos, u64, bool)]) -> PathTrace {
    let mut period_ns = 0;
    let mut rows = Vec::new();
    for &(duration, delay_ns, mbps, connected) in parts {
        let way = OneWay { delay_ns, rate_bps: mbps * 1_000_000, loss: 0.0, connected };
        let event = if connected { Event::None } else { Event::HardHandover };
        rows.push(Row { event, ..Row::alike(period_ns, way) });
        period_ns += duration;
    }
    PathTrace { rows, period_ns, ..PathTrace::default() }
}

/// The set with `path` alone.
pub fn traces(path: PathTrace) -> TraceSet {
    TraceSet::from([("path".to_owned(), Arc::new(path))])
}

/// Mean goodput of `flow` in Mbit/s over the rows that close within `from_s..=to_s`, without the first time.
pub fn goodput(log: &RunLog, flow: u32, from_s: f64, to_s: f64) -> f64 {
    let series = &log.flow_series;
    let rows = series.time_s.iter().zip(&series.flow).zip(&series.goodput_mbps);
    let rows = rows.filter(|((time, number), _)| **number == flow && **time > from_s && **time <= to_s);
    mean(&rows.map(|(_, &goodput)| goodput).collect::<Vec<_>>())
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Goodput of each flow in Mbit/s.
pub fn goodputs(log: &RunLog) -> Vec<f64> {
    log.flows.iter().map(|flow| flow.goodput_mbps).collect()
}

/// Jain's index (Jain, Chiu and Hawe, DEC-TR-301, 1984).
pub fn jain(goodputs: &[f64]) -> f64 {
    let (sum, squares) = goodputs.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    sum * sum / (goodputs.len() as f64 * squares)
}

/// Return a log as exact text; unlike `==`, it treats NaN as equal to itself.
pub fn text(log: &RunLog) -> String {
    format!("{log:?}")
}

/// Assert that every packet offered to a link is accounted for.
pub fn assert_conserved(log: &RunLog) {
    for link in &log.links {
        let gone = link.delivered_packets + link.dropped_packets + link.lost_packets;
        let inside = link.queued_packets + link.in_flight_packets;
        assert_eq!(link.offered_packets, gone + inside, "{link:?}");
    }
}

/// Return the first flow's window at each second and the totals of all flows and links.
pub fn digest(log: &RunLog) -> String {
    let series = &log.flow_series;
    let windows = series.cwnd_packets.iter().zip(&series.flow).filter(|(_, flow)| **flow == 0);
    let windows: Vec<String> = windows.map(|(cwnd, _)| cwnd.to_string()).collect();
    let mut text = format!("cwnd {}\n", windows.join(" "));
    for flow in &log.flows {
        text += &format!(
            "{}: sent {} delivered {} lost {} retransmitted {} timeouts {}\n",
            flow.scheme,
            flow.sent_packets,
            flow.delivered_packets,
            flow.lost_packets,
            flow.retransmitted_packets,
            flow.rtos
        );
    }
    for link in &log.links {
        text += &format!(
            "link: offered {} delivered {} dropped {} lost {} queued {} in flight {}\n",
            link.offered_packets,
            link.delivered_packets,
            link.dropped_packets,
            link.lost_packets,
            link.queued_packets,
            link.in_flight_packets
        );
    }
    text
}
