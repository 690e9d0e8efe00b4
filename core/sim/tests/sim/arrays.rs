//! Batches of simulations for tests, with their output arrays.

use crate::support::policies;
use leo_control::{AgentSpec, GLOBAL_DIM, Report, Reward};
use leo_sim::{Batch, BatchSettings, Nanos, PATH_FIELDS, RUN_ON, Scenario, TraceSet, View};

/// Settings of agents without series, normalisation or known ranges, on one thread.
pub fn settings(slots: usize, spec: AgentSpec, reward: Reward, interval: Nanos) -> BatchSettings {
    BatchSettings {
        slots,
        spec,
        reward,
        interval,
        series_interval: 0,
        threads: 1,
        normalize_observations: false,
        known_ranges: None,
        watches: false,
        holds: 0,
    }
}

/// The place of a report's field.
pub fn field(name: &str) -> usize {
    Report::FIELDS.iter().position(|field| *field == name).expect("it is reported")
}

/// A batch and its output arrays, initialized with garbage.
#[derive(Clone)]
pub struct Arrays {
    pub batch: Batch,
    pub observations: Vec<f32>,
    pub rewards: Vec<f32>,
    pub global_states: Vec<f32>,
    pub active: Vec<bool>,
    pub finished: Vec<bool>,
    pub reports: Vec<f64>,
    pub paths: Vec<f64>,
    pub time_s: Vec<f64>,
}

impl Arrays {
    pub fn new(batch: Batch) -> Self {
        let (size, settings) = (batch.size(), batch.settings());
        let flows = size * settings.slots;
        Self {
            observations: vec![9.0; flows * settings.spec.observation_dim()],
            rewards: vec![9.0; flows],
            global_states: vec![9.0; size * GLOBAL_DIM],
            active: vec![true; flows],
            finished: vec![true; size],
            reports: vec![9.0; flows * Report::FIELDS.len()],
            paths: vec![9.0; flows * PATH_FIELDS],
            time_s: vec![9.0; size],
            batch,
        }
    }

    pub fn split(&mut self) -> (&mut Batch, View<'_>) {
        let Self { batch, observations, rewards, global_states, active, finished, reports, paths, time_s } =
            self;
        (batch, View { observations, rewards, global_states, active, finished, reports, paths, time_s })
    }

    pub fn reset(&mut self, index: usize, scenario: &Scenario) -> Result<(), String> {
        let (batch, view) = self.split();
        batch
            .reset(index, scenario, &TraceSet::new(), &policies(), view, RUN_ON)
            .map_err(|error| error.to_string())
    }

    /// Step with the action of each row and slot.
    pub fn step(&mut self, action: impl Fn(usize, usize) -> f32) {
        let slots = self.slots();
        let actions: Vec<f32> =
            (0..self.batch.size() * slots).map(|flow| action(flow / slots, flow % slots)).collect();
        let (batch, view) = self.split();
        batch.step(&actions, view, RUN_ON).expect("nobody stops it");
    }

    /// Return all bits of row `index`.
    pub fn row(&self, index: usize) -> (Vec<u32>, Vec<u64>, Vec<bool>) {
        fn part<T>(values: &[T], index: usize, size: usize) -> &[T] {
            let width = values.len() / size;
            &values[index * width..(index + 1) * width]
        }
        let size = self.batch.size();
        let singles = [&self.observations, &self.rewards, &self.global_states];
        let doubles = [&self.reports, &self.paths, &self.time_s];
        let flags = [&self.active, &self.finished];
        let singles =
            singles.iter().flat_map(|values| part(values, index, size)).map(|value| value.to_bits());
        let doubles =
            doubles.iter().flat_map(|values| part(values, index, size)).map(|value| value.to_bits());
        let flags = flags.iter().flat_map(|values| part(values, index, size)).copied();
        (singles.collect(), doubles.collect(), flags.collect())
    }

    pub fn active(&self, index: usize) -> &[bool] {
        &self.active[index * self.slots()..][..self.slots()]
    }

    /// The report of the flow in `slot` of the first row.
    pub fn report(&self, slot: usize) -> Vec<f64> {
        self.reports.chunks(Report::FIELDS.len()).nth(slot).expect("there is a slot").to_vec()
    }

    fn slots(&self) -> usize {
        self.batch.settings().slots
    }
}
