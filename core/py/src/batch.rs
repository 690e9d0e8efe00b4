//! `leosim.Batch`: simulations that write NumPy arrays in place.

use leo_control::{AgentSpec, Report, Reward};
use leo_sim::{BatchSettings, Scenario, View};
use numpy::ndarray::Dimension;
use numpy::{
    Element, PyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray3, PyUntypedArrayMethods,
};
use pyo3::prelude::*;

use crate::input_error;
use crate::inputs::{Policies, Traces, interval, policy_set, trace_set};
use crate::run_log::RunLog;

/// Independent simulations that advance together, one monitor interval at a time.
#[pyclass(module = "leosim")]
pub struct Batch {
    inner: leo_sim::Batch,
    observations: Py<PyArray3<f32>>,
    rewards: Py<PyArray2<f32>>,
    global_states: Py<PyArray2<f32>>,
    active: Py<PyArray2<bool>>,
    finished: Py<PyArray1<bool>>,
    reports: Py<PyArray3<f64>>,
    time_s: Py<PyArray1<f64>>,
}

/// Return the array's memory with an arbitrary lifetime.
///
/// # Safety
/// The array must outlive the slice, and nothing else may write it meanwhile. Only `reset` and `step` write,
/// and they hold the batch, which owns the arrays, exclusively. Python code in another thread that writes the
/// arrays during a step breaks the documented contract and races.
unsafe fn memory<'a, T: Element, D: Dimension>(py: Python<'_>, array: &Py<PyArray<T, D>>) -> &'a mut [T] {
    let array = array.bind(py);
    // SAFETY: NumPy arrays made by `zeros` are contiguous; lifetime and exclusivity are the caller's duty.
    unsafe { std::slice::from_raw_parts_mut(array.data(), array.len()) }
}

impl Batch {
    /// Return all arrays without borrowing `self`, so that the simulations can be borrowed, too.
    ///
    /// # Safety
    /// As for [`memory`].
    unsafe fn view<'a>(&self, py: Python<'_>) -> View<'a> {
        // SAFETY: each array is borrowed once.
        unsafe {
            View {
                observations: memory(py, &self.observations),
                rewards: memory(py, &self.rewards),
                global_states: memory(py, &self.global_states),
                active: memory(py, &self.active),
                finished: memory(py, &self.finished),
                reports: memory(py, &self.reports),
                time_s: memory(py, &self.time_s),
            }
        }
    }
}

#[pymethods]
impl Batch {
    #[new]
    #[pyo3(signature = (size, *, slots = 1, agent = "astraea", reward = "astraea", interval_ms = 30.0, series_ms = 0.0, threads = 1, watch = false, hold = 0))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python constructor")]
    fn new(
        py: Python<'_>,
        size: usize,
        slots: usize,
        agent: &str,
        reward: &str,
        interval_ms: f64,
        series_ms: f64,
        threads: usize,
        watch: bool,
        hold: usize,
    ) -> PyResult<Self> {
        if size == 0 || slots == 0 {
            return Err(input_error("arguments: size and slots: must be positive"));
        }
        let spec = AgentSpec::by_name(agent).map_err(input_error)?;
        let settings = BatchSettings {
            slots,
            spec,
            reward: Reward::by_name(reward).map_err(input_error)?,
            interval: interval("interval_ms", interval_ms, 0.1)?,
            series_interval: if series_ms == 0.0 { 0 } else { interval("series_ms", series_ms, 0.1)? },
            threads,
        };
        let batch = leo_sim::Batch::new(size, settings);
        Ok(Self {
            inner: match (watch, hold) {
                (false, 0) => batch,
                (true, 0) => batch.watching_schemes(),
                (_, count) => batch.holding_schemes(count),
            },
            observations: PyArray::zeros(py, [size, slots, spec.observation_dim()], false).unbind(),
            rewards: PyArray::zeros(py, [size, slots], false).unbind(),
            global_states: PyArray::zeros(py, [size, spec.global_dim()], false).unbind(),
            active: PyArray::zeros(py, [size, slots], false).unbind(),
            finished: PyArray::zeros(py, [size], false).unbind(),
            reports: PyArray::zeros(py, [size, slots, Report::FIELDS.len()], false).unbind(),
            time_s: PyArray::zeros(py, [size], false).unbind(),
        })
    }

    #[staticmethod]
    fn agents() -> Vec<&'static str> {
        AgentSpec::names().collect()
    }

    #[staticmethod]
    fn rewards() -> Vec<&'static str> {
        Reward::names().collect()
    }

    #[getter]
    fn observation_dim(&self) -> usize {
        self.inner.settings().spec.observation_dim()
    }

    #[getter]
    fn action_dim(&self) -> usize {
        self.inner.settings().spec.action_dim()
    }

    #[getter]
    fn global_dim(&self) -> usize {
        self.inner.settings().spec.global_dim()
    }

    #[getter]
    fn report_fields(&self) -> Vec<&'static str> {
        Report::FIELDS.to_vec()
    }

    #[getter]
    fn observations(&self, py: Python<'_>) -> Py<PyArray3<f32>> {
        self.observations.clone_ref(py)
    }

    #[getter]
    fn rewards_view(&self, py: Python<'_>) -> Py<PyArray2<f32>> {
        self.rewards.clone_ref(py)
    }

    #[getter]
    fn global_states(&self, py: Python<'_>) -> Py<PyArray2<f32>> {
        self.global_states.clone_ref(py)
    }

    #[getter]
    fn active(&self, py: Python<'_>) -> Py<PyArray2<bool>> {
        self.active.clone_ref(py)
    }

    #[getter]
    fn finished(&self, py: Python<'_>) -> Py<PyArray1<bool>> {
        self.finished.clone_ref(py)
    }

    #[getter]
    fn reports(&self, py: Python<'_>) -> Py<PyArray3<f64>> {
        self.reports.clone_ref(py)
    }

    #[getter]
    fn time_s(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.time_s.clone_ref(py)
    }

    #[pyo3(signature = (index, scenario, traces, policies = None))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts owned arguments")]
    fn reset(
        &mut self,
        py: Python<'_>,
        index: usize,
        scenario: &str,
        traces: Traces<'_>,
        policies: Option<Policies<'_>>,
    ) -> PyResult<()> {
        if index >= self.inner.size() {
            return Err(input_error(format!(
                "arguments: index: must be below {}, not {index}",
                self.inner.size()
            )));
        }
        let traces = trace_set(&traces);
        let policies = policy_set(policies.as_ref());
        // SAFETY: this method holds the batch exclusively.
        let view = unsafe { self.view(py) };
        py.detach(|| {
            let scenario = Scenario::from_json(scenario)?;
            self.inner.reset(index, &scenario, &traces, &policies, view)
        })
        .map_err(input_error)
    }

    #[expect(clippy::needless_pass_by_value, reason = "PyO3 extracts owned arguments")]
    fn step(&mut self, py: Python<'_>, actions: PyReadonlyArray3<'_, f32>) -> PyResult<()> {
        let settings = self.inner.settings();
        let shape = [self.inner.size(), settings.slots, settings.spec.action_dim()];
        if actions.shape() != shape {
            let rule = format!("must have the shape {shape:?}, not {:?}", actions.shape());
            return Err(input_error(format!("arguments: actions: {rule}")));
        }
        let Ok(actions) = actions.as_slice() else {
            return Err(input_error("arguments: actions: must be C-contiguous"));
        };
        if actions.iter().any(|action| action.is_nan()) {
            return Err(input_error("arguments: actions: must not be NaN"));
        }
        // SAFETY: this method holds the batch exclusively.
        let view = unsafe { self.view(py) };
        py.detach(|| self.inner.step(actions, view));
        Ok(())
    }

    fn run_log(&mut self, py: Python<'_>, index: usize) -> PyResult<RunLog> {
        let log = py.detach(|| self.inner.run_log(index));
        let rule = "call reset on this simulation first";
        log.map(|inner| RunLog { inner }).ok_or_else(|| input_error(format!("arguments: index: {rule}")))
    }
}
