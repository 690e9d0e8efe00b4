//! `leosim.run`.

use leo_sim::{Scenario, Simulation, run_many};
use pyo3::prelude::*;

use crate::inputs::{MAX_THREADS, Policies, Traces, count, interval, policy_set, trace_set};
use crate::run_log::RunLog;
use crate::signals::checked;

/// Run scenarios to their end on `threads` threads; 0 means one per core.
#[pyfunction]
#[pyo3(signature = (scenarios, traces, policies = None, *, interval_ms = 30.0, series_ms = 100.0, threads = 1, check = None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python function")]
pub fn run(
    py: Python<'_>,
    scenarios: Vec<String>,
    traces: Traces<'_>,
    policies: Option<Policies<'_>>,
    interval_ms: f64,
    series_ms: f64,
    threads: i64,
    check: Option<Py<PyAny>>,
) -> PyResult<Vec<RunLog>> {
    let threads = count("threads", threads, 0..=MAX_THREADS)?;
    let interval_ns = interval("interval_ms", interval_ms, 0.1)?;
    let series = if series_ms == 0.0 { 0 } else { interval("series_ms", series_ms, 0.1)? };
    let traces = trace_set(&traces);
    let policies = policy_set(policies.as_ref());
    let logs = checked(py, check, |stop| {
        let simulations = scenarios.iter().map(|json| {
            let scenario = Scenario::from_json(json)?;
            Simulation::new(&scenario, &traces, &policies, interval_ns, series, stop)
        });
        Ok(run_many(simulations.collect::<Result<_, _>>()?, threads, stop)?)
    })?;
    Ok(logs.into_iter().map(|inner| RunLog { inner }).collect())
}
