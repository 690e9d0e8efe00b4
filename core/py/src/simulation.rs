//! `leosim.Simulation`.

use leo_sim::{Nanos, Scenario};
use pyo3::prelude::*;

use crate::input_error;
use crate::inputs::{Policies, Traces, interval, policy_set, trace_set};
use crate::run_log::{RunLog, SeriesDicts, series_dicts};
use crate::signals::{checked, interruptible};

const NANOS_PER_S: f64 = 1e9;

/// A simulation that the caller advances.
#[pyclass(module = "leosim")]
pub struct Simulation {
    inner: leo_sim::Simulation,
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (scenario, traces, policies = None, *, interval_ms = 30.0, series_ms = 100.0))]
    fn new(
        py: Python<'_>,
        scenario: &str,
        traces: Traces<'_>,
        policies: Option<Policies<'_>>,
        interval_ms: f64,
        series_ms: f64,
    ) -> PyResult<Self> {
        let interval_ns = interval("interval_ms", interval_ms, 0.1)?;
        let series = if series_ms == 0.0 { 0 } else { interval("series_ms", series_ms, 0.1)? };
        let (traces, policies) = (trace_set(&traces), policy_set(policies.as_ref()));
        let built = interruptible(py, |stop| {
            let scenario = Scenario::from_json(scenario)?;
            Ok(leo_sim::Simulation::new(&scenario, &traces, &policies, interval_ns, series, stop)?)
        });
        built.map(|inner| Self { inner })
    }

    #[getter]
    fn time_s(&self) -> f64 {
        self.inner.now() as f64 / NANOS_PER_S
    }

    #[getter]
    fn finished(&self) -> bool {
        self.inner.is_finished()
    }

    #[getter]
    fn flow_schemes(&self) -> Vec<&str> {
        self.inner.flow_schemes().collect()
    }

    #[getter]
    fn link_names(&self) -> Vec<&str> {
        self.inner.link_names().collect()
    }

    #[pyo3(signature = (seconds, *, check = None))]
    fn advance<'py>(
        &mut self,
        py: Python<'py>,
        seconds: f64,
        check: Option<Py<PyAny>>,
    ) -> PyResult<SeriesDicts<'py>> {
        if !(seconds > 0.0 && seconds <= 1e9) {
            return Err(input_error(format!(
                "arguments: seconds: must be positive and at most 1e9, not {seconds}"
            )));
        }
        let until = self.inner.now() + ((seconds * NANOS_PER_S).round() as Nanos).max(1);
        let series = checked(py, check, |stop| {
            self.inner.advance(until, stop)?;
            Ok(self.inner.take_series())
        })?;
        series_dicts(py, series)
    }

    fn run_log(&mut self, py: Python<'_>) -> RunLog {
        RunLog { inner: py.detach(|| self.inner.run_log()) }
    }
}
