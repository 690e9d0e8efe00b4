//! `leosim.Agents`: observations, rewards and commands for flows outside the simulator.

use leo_control::{
    AgentSpec, AgentState, FlowState, GLOBAL_DIM, Judgement, Report, Reward, World, normalize,
};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::input_error;

/// Numbers of one flow.
pub type Vector<'py> = Bound<'py, PyArray1<f32>>;

/// Return the smallest and largest value of each number in an observation.
pub fn observation_bounds(py: Python<'_>, spec: AgentSpec, normalized: bool) -> (Vector<'_>, Vector<'_>) {
    let (mut low, mut high): (Vec<f32>, Vec<f32>) = spec.observation_bounds().into_iter().unzip();
    if normalized {
        normalize(&mut low);
        normalize(&mut high);
    }
    (PyArray1::from_vec(py, low), PyArray1::from_vec(py, high))
}

struct Agent {
    state: AgentState,
    history: FlowState,
}

/// Observations, rewards and commands for flows outside the simulator.
#[pyclass(module = "leosim")]
pub struct Agents {
    spec: AgentSpec,
    normalize_observations: bool,
    reward: Reward,
    slots: Vec<Option<Agent>>,
}

impl Agents {
    fn agent(&self, slot: usize) -> PyResult<&Agent> {
        let started = self.slots.get(slot).and_then(Option::as_ref);
        started.ok_or_else(|| not_started(slot))
    }

    fn agent_mut(&mut self, slot: usize) -> PyResult<&mut Agent> {
        let started = self.slots.get_mut(slot).and_then(Option::as_mut);
        started.ok_or_else(|| not_started(slot))
    }
}

fn not_started(slot: usize) -> PyErr {
    input_error(format!("arguments: slot: {slot} has no flow; call start first"))
}

#[pymethods]
impl Agents {
    #[new]
    #[pyo3(signature = (slots, *, agent = "astraea", reward = "astraea", normalize_observations = false))]
    fn new(slots: usize, agent: &str, reward: &str, normalize_observations: bool) -> PyResult<Self> {
        let spec = AgentSpec::by_name(agent).map_err(input_error)?;
        Ok(Self {
            spec,
            normalize_observations,
            reward: Reward::by_name(reward).map_err(input_error)?,
            slots: (0..slots).map(|_| None).collect(),
        })
    }

    #[getter]
    fn observation_dim(&self) -> usize {
        self.spec.observation_dim()
    }

    #[getter]
    fn observation_bounds<'py>(&self, py: Python<'py>) -> (Vector<'py>, Vector<'py>) {
        observation_bounds(py, self.spec, self.normalize_observations)
    }

    #[getter]
    fn action_dim(&self) -> usize {
        self.spec.action_dim()
    }

    #[getter]
    fn sets_intervals(&self) -> bool {
        self.spec.observation.sets_intervals()
    }

    #[getter]
    fn global_dim(&self) -> usize {
        self.spec.global_dim()
    }

    fn start(&mut self, slot: usize, extra_delay_ns: u64) -> PyResult<()> {
        let rule = format!("must be below {}, not {slot}", self.slots.len());
        let place =
            self.slots.get_mut(slot).ok_or_else(|| input_error(format!("arguments: slot: {rule}")))?;
        *place = Some(Agent { state: AgentState::new(self.spec), history: FlowState::new(extra_delay_ns) });
        Ok(())
    }

    fn observe(&mut self, slot: usize, report: PyReadonlyArray1<'_, f64>) -> PyResult<()> {
        let agent = self.agent_mut(slot)?;
        let fields = report.as_array();
        if fields.len() != Report::FIELDS.len() {
            let rule = format!("must have {} fields, not {}", Report::FIELDS.len(), fields.len());
            return Err(input_error(format!("arguments: report: {rule}")));
        }
        let report = Report::read_f64(&fields.to_vec());
        agent.state.observe(&report);
        agent.history.observe(&report);
        Ok(())
    }

    fn next_interval_ns(&self, slot: usize) -> PyResult<Option<u64>> {
        Ok(self.spec.observation.next_interval_ns(&self.agent(slot)?.history.report))
    }

    fn observation<'py>(&self, py: Python<'py>, slot: usize) -> PyResult<Vector<'py>> {
        let mut out = vec![0.0; self.spec.observation_dim()];
        self.agent(slot)?.state.write_observation(&mut out);
        if self.normalize_observations {
            normalize(&mut out);
        }
        Ok(PyArray1::from_vec(py, out))
    }

    #[pyo3(signature = (slots, capacity_bytes_per_s, base_rtt_ns, buffer_bytes, flows_on_path = 0))]
    fn judge<'py>(
        &mut self,
        py: Python<'py>,
        slots: Vec<usize>,
        capacity_bytes_per_s: f64,
        base_rtt_ns: u64,
        buffer_bytes: u64,
        flows_on_path: u32,
    ) -> PyResult<(Vector<'py>, Vector<'py>)> {
        for &slot in &slots {
            self.agent(slot)?;
        }
        for agent in self.slots.iter_mut().flatten() {
            agent.history.flows_on_path = flows_on_path;
        }
        let world = World { capacity_bytes_per_s, base_rtt_ns, buffer_bytes };
        let flows = slots.iter().filter_map(|&slot| self.slots[slot].as_ref().map(|agent| &agent.history));
        let mut global_state = vec![0.0; GLOBAL_DIM];
        let judgement = Judgement::new(self.reward, world, flows, &mut global_state);
        let own = |agent: &Option<Agent>| judgement.of(agent.as_ref().map(|agent| &agent.history));
        let rewards = self.slots.iter().map(own).collect();
        Ok((PyArray1::from_vec(py, rewards), PyArray1::from_vec(py, global_state)))
    }

    fn act(&mut self, slot: usize, action: PyReadonlyArray1<'_, f32>) -> PyResult<(u32, u64)> {
        let dim = self.spec.action_dim();
        let agent = self.agent_mut(slot)?;
        let action = action.as_array().to_vec();
        if action.len() != dim || action.iter().any(|component| component.is_nan()) {
            let rule = format!("must be {dim} numbers, none of them NaN");
            return Err(input_error(format!("arguments: action: {rule}")));
        }
        let command = agent.state.act(&action, &agent.history.report);
        Ok((command.cwnd_packets, command.pacing_bytes_per_s))
    }
}
