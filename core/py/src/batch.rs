//! `leosim.Batch`: simulations that write NumPy arrays in place.

use leo_control::{AgentSpec, Command, Report, Reward};
use leo_sim::{BatchSettings, ConstellationSpec, PATH_FIELDS, Scenario, View};
use numpy::ndarray::Dimension;
use numpy::{
    Element, PyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray3, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyEllipsis, PyList};

use crate::agents::{Vector, observation_bounds};
use crate::batch_state::{Begun, Inputs, State, check_arrays, duplicate};
use crate::input_error;
use crate::inputs::{MAX_THREADS, Policies, Traces, count, interval};
use crate::moments::Moments;
use crate::policy::Policy;
use crate::run_log::RunLog;
use crate::signals::{Failure, interruptible};

/// Largest window in packets and rate in bytes/s of a command; both fit their integers.
const MAX_COMMAND: f64 = 4e9;
const MAX_SIZE: i64 = 1_000_000;
const MAX_SLOTS: i64 = 100_000;

/// Independent simulations that advance together, one monitor interval at a time.
#[pyclass(module = "leosim")]
pub struct Batch {
    inner: leo_sim::Batch,
    /// Keyword arguments of the constructor.
    arguments: Py<PyDict>,
    begun: Vec<Option<Begun>>,
    #[pyo3(get)]
    observations: Py<PyArray3<f32>>,
    #[pyo3(get, name = "rewards_view")]
    rewards: Py<PyArray2<f32>>,
    #[pyo3(get)]
    global_states: Py<PyArray2<f32>>,
    #[pyo3(get)]
    active: Py<PyArray2<bool>>,
    #[pyo3(get)]
    finished: Py<PyArray1<bool>>,
    #[pyo3(get)]
    reports: Py<PyArray3<f64>>,
    #[pyo3(get)]
    paths: Py<PyArray3<f64>>,
    #[pyo3(get)]
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
                paths: memory(py, &self.paths),
                time_s: memory(py, &self.time_s),
            }
        }
    }

    /// Check that no simulation stands within a step that a signal interrupted.
    fn check_whole(&self) -> PyResult<()> {
        self.inner.interrupted().map_or(Ok(()), |index| {
            let rule = "a signal interrupted its last step or reset: call reset on it first";
            Err(input_error(format!("arguments: simulation {index}: {rule}")))
        })
    }

    /// Return the arrays that the actions since the resets determine.
    fn determined<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let arrays = PyList::new(py, [self.observations.bind(py)])?;
        arrays.append(&self.global_states)?;
        arrays.append(&self.active)?;
        arrays.append(&self.finished)?;
        arrays.append(&self.reports)?;
        arrays.append(&self.paths)?;
        arrays.append(&self.time_s)?;
        Ok(arrays)
    }
}

#[pymethods]
impl Batch {
    #[new]
    #[pyo3(signature = (size, *, slots = 1, agent = "astraea", reward = "astraea", interval_ms = 30.0, series_ms = 0.0, threads = 1, watch = false, hold = 0, normalize_observations = false, guard = None))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of a Python constructor")]
    fn new(
        py: Python<'_>,
        size: i64,
        slots: i64,
        agent: &str,
        reward: &str,
        interval_ms: f64,
        series_ms: f64,
        threads: i64,
        watch: bool,
        hold: i64,
        normalize_observations: bool,
        guard: Option<Bound<'_, Policy>>,
    ) -> PyResult<Self> {
        let size = count("size", size, 1..=MAX_SIZE)?;
        let slots = count("slots", slots, 1..=MAX_SLOTS)?;
        let threads = count("threads", threads, 0..=MAX_THREADS)?;
        let hold = count("hold", hold, 0..=slots as i64)?;
        let spec = AgentSpec::by_name(agent).map_err(input_error)?;
        let settings = BatchSettings {
            slots,
            spec,
            reward: Reward::by_name(reward).map_err(input_error)?,
            interval: interval("interval_ms", interval_ms, 0.1)?,
            series_interval: if series_ms == 0.0 { 0 } else { interval("series_ms", series_ms, 0.1)? },
            threads,
            normalize_observations,
            known_ranges: guard.as_ref().and_then(|policy| policy.get().inner.known_ranges()),
            watches: watch || hold > 0,
            holds: hold,
        };
        let arguments = PyDict::new(py);
        arguments.set_item("slots", slots)?;
        arguments.set_item("agent", agent)?;
        arguments.set_item("reward", reward)?;
        arguments.set_item("interval_ms", interval_ms)?;
        arguments.set_item("series_ms", series_ms)?;
        arguments.set_item("threads", threads)?;
        arguments.set_item("watch", watch)?;
        arguments.set_item("hold", hold)?;
        arguments.set_item("normalize_observations", normalize_observations)?;
        arguments.set_item("guard", guard)?;
        Ok(Self {
            arguments: arguments.unbind(),
            begun: (0..size).map(|_| None).collect(),
            inner: leo_sim::Batch::new(size, settings),
            observations: PyArray::zeros(py, [size, slots, spec.observation_dim()], false).unbind(),
            rewards: PyArray::zeros(py, [size, slots], false).unbind(),
            global_states: PyArray::zeros(py, [size, spec.global_dim()], false).unbind(),
            active: PyArray::zeros(py, [size, slots], false).unbind(),
            finished: PyArray::zeros(py, [size], false).unbind(),
            reports: PyArray::zeros(py, [size, slots, Report::FIELDS.len()], false).unbind(),
            paths: PyArray::zeros(py, [size, slots, PATH_FIELDS], false).unbind(),
            time_s: PyArray::zeros(py, [size], false).unbind(),
        })
    }

    #[staticmethod]
    fn agents() -> Vec<&'static str> {
        AgentSpec::names().collect()
    }

    #[staticmethod]
    fn spec_version(agent: &str) -> PyResult<u32> {
        Ok(AgentSpec::by_name(agent).map_err(input_error)?.version())
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
    fn observation_bounds<'py>(&self, py: Python<'py>) -> (Vector<'py>, Vector<'py>) {
        let settings = self.inner.settings();
        observation_bounds(py, settings.spec, settings.normalize_observations)
    }

    #[getter]
    fn report_fields(&self) -> Vec<&'static str> {
        Report::FIELDS.to_vec()
    }

    #[pyo3(signature = (index, scenario, traces, policies = None, *, moments = None, first = 0))]
    #[expect(clippy::too_many_arguments, reason = "arguments of a Python method")]
    fn reset(
        &mut self,
        py: Python<'_>,
        index: usize,
        scenario: &str,
        traces: Traces<'_>,
        policies: Option<Policies<'_>>,
        moments: Option<Bound<'_, Moments>>,
        first: usize,
    ) -> PyResult<()> {
        if index >= self.inner.size() {
            return Err(input_error(format!(
                "arguments: index: must be below {}, not {index}",
                self.inner.size()
            )));
        }
        let begun = Begun::new(scenario, traces, policies, moments.map(|moments| (moments.unbind(), first)));
        let (traces, policies) = begun.sets();
        let moments = begun.moments.as_ref().map(|(moments, _)| moments.get());
        // SAFETY: this method holds the batch exclusively.
        let view = unsafe { self.view(py) };
        interruptible(py, |stop| {
            if let Some(moments) = moments {
                let spec = ConstellationSpec::from_json(scenario)?;
                moments.check(&spec, first).map_err(Failure::Input)?;
                let course = (moments.inner.clone(), first);
                return Ok(self.inner.reset_constellation(index, &spec, course, &policies, view, stop)?);
            }
            let scenario = Scenario::from_json(scenario)?;
            Ok(self.inner.reset(index, &scenario, &traces, &policies, view, stop)?)
        })?;
        self.begun[index] = Some(begun);
        Ok(())
    }

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
        // A guarded flow falls back instead.
        if self.inner.settings().known_ranges.is_none() && actions.iter().any(|action| action.is_nan()) {
            return Err(input_error("arguments: actions: must not be NaN"));
        }
        // SAFETY: this method holds the batch exclusively.
        let view = unsafe { self.view(py) };
        self.check_whole()?;
        interruptible(py, |stop| Ok(self.inner.step(actions, view, stop)?))
    }

    fn command(&mut self, py: Python<'_>, commands: PyReadonlyArray3<'_, f64>) -> PyResult<()> {
        let shape = [self.inner.size(), self.inner.settings().slots, 2];
        let valid = |value: &f64| (0.0..=MAX_COMMAND).contains(value);
        let commands =
            commands.as_slice().ok().filter(|values| commands.shape() == shape && values.iter().all(valid));
        let Some(commands) = commands else {
            let rule = format!("must be C-contiguous, of shape {shape:?}, within 0 and {MAX_COMMAND:e}");
            return Err(input_error(format!("arguments: commands: {rule}")));
        };
        let commands: Vec<_> = commands
            .chunks_exact(2)
            .map(|pair| Command { cwnd_packets: pair[0] as u32, pacing_bytes_per_s: pair[1] as u64 })
            .collect();
        // SAFETY: this method holds the batch exclusively.
        let view = unsafe { self.view(py) };
        self.check_whole()?;
        interruptible(py, |stop| Ok(self.inner.command(&commands, view, stop)?))
    }

    fn actions<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyArray3<f32>>> {
        let settings = self.inner.settings();
        let (slots, dim) = (settings.slots, settings.spec.action_dim());
        let actions = self.inner.actions(index).unwrap_or_default();
        PyArray1::from_slice(py, actions).reshape([actions.len() / (slots * dim), slots, dim])
    }

    fn replay(&mut self, py: Python<'_>, index: usize, actions: PyReadonlyArray3<'_, f32>) -> PyResult<()> {
        let settings = self.inner.settings();
        let per_step = [settings.slots, settings.spec.action_dim()];
        if self.inner.actions(index).is_none() {
            return Err(input_error("arguments: index: call reset on this simulation first"));
        }
        let guards = settings.known_ranges.is_some();
        let values = actions.as_slice().ok().filter(|values| {
            actions.shape()[1..] == per_step && (guards || !values.iter().any(|action| action.is_nan()))
        });
        let Some(values) = values else {
            let [slots, dim] = per_step;
            let rule = format!("must be C-contiguous, of shape (steps, {slots}, {dim}), without NaN");
            return Err(input_error(format!("arguments: actions: {rule}")));
        };
        // SAFETY: this method holds the batch exclusively.
        let view = unsafe { self.view(py) };
        self.check_whole()?;
        interruptible(py, |stop| Ok(self.inner.replay(index, values, view, stop)?))
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> Self {
        Self {
            inner: self.inner.clone(),
            arguments: self.arguments.clone_ref(py),
            begun: self.begun.iter().map(|begun| Some(begun.as_ref()?.clone_ref(py))).collect(),
            observations: duplicate(py, &self.observations),
            rewards: duplicate(py, &self.rewards),
            global_states: duplicate(py, &self.global_states),
            active: duplicate(py, &self.active),
            finished: duplicate(py, &self.finished),
            reports: duplicate(py, &self.reports),
            paths: duplicate(py, &self.paths),
            time_s: duplicate(py, &self.time_s),
        }
    }

    fn __getnewargs_ex__(&self, py: Python<'_>) -> ((usize,), Py<PyDict>) {
        ((self.inner.size(),), self.arguments.clone_ref(py))
    }

    fn __getstate__<'py>(&self, py: Python<'py>) -> PyResult<State<'py>> {
        self.check_whole()?;
        let inputs = PyList::empty(py);
        for (index, begun) in self.begun.iter().enumerate() {
            if self.inner.is_commanded(index) {
                return Err(input_error("arguments: a batch that commands steered cannot be pickled"));
            }
            let actions = self.actions(py, index)?;
            inputs.append(begun.as_ref().map(|begun| begun.inputs(py, actions)).transpose()?)?;
        }
        Ok((inputs, self.determined(py)?, self.rewards.bind(py).clone()))
    }

    fn __setstate__(&mut self, py: Python<'_>, state: State<'_>) -> PyResult<()> {
        let (inputs, arrays, rewards) = state;
        for (index, inputs) in inputs.iter().enumerate() {
            let inputs: Option<Inputs<'_>> = inputs.extract()?;
            let Some((scenario, traces, policies, moments, first, actions)) = inputs else { continue };
            self.reset(py, index, &scenario, traces, Some(policies), moments, first)?;
            self.replay(py, index, actions)?;
        }
        check_arrays(&self.determined(py)?, &arrays)?;
        // A step sets the rewards of simulations that ended before it to 0 and is no part of their actions.
        self.rewards.bind(py).set_item(PyEllipsis::get(py), rewards)
    }

    fn run_log(&mut self, py: Python<'_>, index: usize) -> PyResult<RunLog> {
        let log = py.detach(|| self.inner.run_log(index));
        let rule = "call reset on this simulation first";
        log.map(|inner| RunLog { inner }).ok_or_else(|| input_error(format!("arguments: index: {rule}")))
    }
}
