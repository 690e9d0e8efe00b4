//! Batches of simulations with learning flows that advance together, one monitor interval at a time.

use std::sync::Arc;

use leo_control::{
    AgentSpec, Command, FlowState, GLOBAL_DIM, KnownRanges, Report, Reward, normalize, write_global_state,
};
use leo_link::{Interrupted, Nanos, Stop};
use rayon::prelude::*;

use crate::bottlenecks::{Bottlenecks, PathWorld, crosses};
use crate::constellation::Moments;
use crate::control_loop;
use crate::flow::{Phase, Steering};
use crate::interrupted::Unbuilt;
use crate::network::{PolicySet, TraceSet};
use crate::run_log::RunLog;
use crate::scenario::{AGENT_SCHEME, ConstellationSpec, Scenario, ScenarioError};
use crate::simulation::Simulation;
use crate::workers::{Workers, attended};

/// Settings that all simulations of a batch share.
#[derive(Clone, Debug)]
pub struct BatchSettings {
    /// Maximum number of learning flows in a simulation.
    pub slots: usize,
    /// Observation and action of the learning flows.
    pub spec: AgentSpec,
    /// Reward of the learning flows.
    pub reward: Reward,
    /// Monitor interval.
    pub interval: Nanos,
    /// Interval of the run log's time series; 0 disables them.
    pub series_interval: Nanos,
    /// Number of threads; 0 means one per core.
    pub threads: usize,
    /// Whether observations are scaled to [-1, 1], see [`normalize`].
    pub normalize_observations: bool,
    /// Where the learning flows obey actions; beyond, they fall back. `None`: anywhere.
    pub known_ranges: Option<KnownRanges>,
    /// Observe the flows of classic schemes: write the observations, rewards and reports that an agent in the
    /// scheme's place would get. Actions are ignored.
    pub watches: bool,
    /// Number of leading slots whose watched flows hold their windows between intervals, paced like an agent's. A
    /// window changes only after an interval with a delivery, so actions derived from the windows reproduce the flow
    /// exactly.
    pub holds: usize,
}

/// Numbers about a flow's path in [`View::paths`].
pub const PATH_FIELDS: usize = 2;

/// The output arrays of a batch: row-major, one row per simulation.
#[derive(Debug)]
pub struct View<'a> {
    /// (size, slots, observation_dim)
    pub observations: &'a mut [f32],
    /// (size, slots)
    pub rewards: &'a mut [f32],
    /// (size, global_dim)
    pub global_states: &'a mut [f32],
    /// (size, slots)
    pub active: &'a mut [bool],
    /// (size,)
    pub finished: &'a mut [bool],
    /// (size, slots, report fields)
    pub reports: &'a mut [f64],
    /// (size, slots, [`PATH_FIELDS`]): the capacity of the flow's path in Mbit/s and its base RTT in ms
    pub paths: &'a mut [f64],
    /// (size,)
    pub time_s: &'a mut [f64],
}

/// The arrays of one simulation: a view of size 1.
type Row<'a> = View<'a>;

#[derive(Clone)]
struct Environment {
    simulation: Simulation,
    /// The actions of all slots in each step since the reset.
    actions: Vec<f32>,
    /// The flow index of each slot.
    learners: Vec<usize>,
    /// The flows on each link.
    bottlenecks: Bottlenecks,
    /// Commands steered it, which `actions` does not have.
    is_commanded: bool,
    /// The caller stopped its last step or reset: its row does not show an interval's end.
    interrupted: bool,
}

/// A batch of independent simulations. A clone runs on as the original does.
#[derive(Clone)]
pub struct Batch {
    settings: BatchSettings,
    environments: Vec<Option<Environment>>,
    workers: Workers,
}

impl Batch {
    /// Create `size` simulations that have not started.
    pub fn new(size: usize, settings: BatchSettings) -> Self {
        let workers = Workers::new(settings.threads);
        Self { settings, environments: (0..size).map(|_| None).collect(), workers }
    }

    /// Return the shared settings.
    pub const fn settings(&self) -> &BatchSettings {
        &self.settings
    }

    /// Return the number of simulations.
    pub fn size(&self) -> usize {
        self.environments.len()
    }

    /// Restart simulation `index` and run it until its first learning flow has a report.
    ///
    /// # Errors
    /// The scenario lacks a trace, a scheme or a learning flow, or has more learning flows than slots. Or `stop`
    /// returned true: the simulation before, if there is one, is [`Self::interrupted`].
    ///
    /// # Panics
    /// When `index` is out of range or `view` has other dimensions.
    pub fn reset(
        &mut self,
        index: usize,
        scenario: &Scenario,
        traces: &TraceSet,
        policies: &PolicySet,
        view: View<'_>,
        stop: Stop<'_>,
    ) -> Result<(), Unbuilt> {
        let (interval, series) = (self.settings.interval, self.settings.series_interval);
        let simulation = Simulation::new(scenario, traces, policies, interval, series, stop)?;
        self.begin(index, (&scenario.name, simulation), view, stop)
    }

    /// As [`Self::reset`], with a constellation whose links are `moments`, from moment `first` on.
    ///
    /// # Errors
    /// As for [`Self::reset`].
    ///
    /// # Panics
    /// As for [`Self::reset`], and when the moments end before the simulation.
    pub fn reset_constellation(
        &mut self,
        index: usize,
        spec: &ConstellationSpec,
        (moments, first): (Arc<Moments>, usize),
        policies: &PolicySet,
        view: View<'_>,
        stop: Stop<'_>,
    ) -> Result<(), Unbuilt> {
        let (interval, series) = (self.settings.interval, self.settings.series_interval);
        let mut simulation = Simulation::of_constellation(spec, policies, interval, series, stop)?;
        simulation.follow_all(moments, first);
        self.begin(index, (&spec.name, simulation), view, stop)
    }

    fn begin(
        &mut self,
        index: usize,
        (name, mut simulation): (&str, Simulation),
        view: View<'_>,
        stop: Stop<'_>,
    ) -> Result<(), Unbuilt> {
        let settings @ &BatchSettings { watches, holds, .. } = &self.settings;
        let learners: Vec<usize> = (0..)
            .zip(simulation.flows())
            .filter(|(_, flow)| match flow.steering {
                Steering::Outside => !watches,
                Steering::Scheme => watches && !flow.sends_datagrams(),
                Steering::Policy(_) => false,
            })
            .map(|(flow, _)| flow)
            .collect();
        let which = if watches { "a classic scheme" } else { AGENT_SCHEME };
        let refuse = |rule| Err(ScenarioError::new(name, "flows", rule).into());
        match learners.len() {
            _ if !simulation.copies() => return refuse("environments run no QUIC stacks".to_owned()),
            0 => return refuse(format!("at least one flow needs the scheme {which:?}")),
            count if count <= settings.slots => {}
            _ => return refuse(format!("at most {} flows of the scheme {which:?}", settings.slots)),
        }
        for (slot, &flow) in learners.iter().enumerate() {
            if watches {
                simulation.flow_mut(flow).watch(settings.spec, slot < holds);
            } else {
                simulation.flow_mut(flow).attach(settings.spec, settings.known_ranges);
            }
        }
        let mut environment = Environment {
            simulation,
            actions: Vec::new(),
            learners,
            bottlenecks: Bottlenecks::default(),
            is_commanded: false,
            interrupted: false,
        };
        let mut row = rows(settings, view).nth(index).expect("the index is in range");
        // Clear slots that the new simulation does not use.
        row.observations.fill(0.0);
        row.global_states.fill(0.0);
        row.reports.fill(0.0);
        row.paths.fill(0.0);
        row.active.fill(false);
        if let Err(interrupted) = environment.advance(settings, &mut row, stop) {
            // The row is no longer that of the simulation before.
            if let Some(before) = &mut self.environments[index] {
                before.interrupted = true;
            }
            return Err(interrupted.into());
        }
        self.environments[index] = Some(environment);
        Ok(())
    }

    /// Apply `actions` (size, slots, action_dim) and advance every running simulation by one interval.
    ///
    /// # Errors
    /// `stop` returned true. Simulations that it stopped are [`Self::interrupted`], the others have advanced.
    ///
    /// # Panics
    /// When `actions` or `view` has other dimensions, or the system cannot start threads.
    pub fn step(&mut self, actions: &[f32], view: View<'_>, stop: Stop<'_>) -> Result<(), Interrupted> {
        let per_row = self.settings.slots * self.settings.spec.action_dim();
        self.advance(actions, per_row, view, stop, Environment::act)
    }

    /// Give the learning flows `commands` (size, slots) instead of actions and advance every running simulation by one
    /// interval.
    ///
    /// # Errors
    /// As for [`Self::step`].
    pub fn command(
        &mut self,
        commands: &[Command],
        view: View<'_>,
        stop: Stop<'_>,
    ) -> Result<(), Interrupted> {
        self.advance(commands, self.settings.slots, view, stop, Environment::command)
    }

    fn advance<T: Sync>(
        &mut self,
        orders: &[T],
        per_row: usize,
        view: View<'_>,
        stop: Stop<'_>,
        obey: impl Fn(&mut Environment, &BatchSettings, &[T], &Row<'_>) + Sync,
    ) -> Result<(), Interrupted> {
        let settings = &self.settings;
        assert_eq!(orders.len(), per_row * self.environments.len(), "orders have the batch's shape");
        let step = |((environment, orders), mut row): ((&mut Option<Environment>, &[T]), Row<'_>),
                    stop: Stop<'_>| {
            environment.as_mut().map_or(Ok(()), |environment| {
                environment.step(settings, &mut row, stop, |environment, row| {
                    obey(environment, settings, orders, row)
                })
            })
        };
        let work = self.environments.iter_mut().zip(orders.chunks_exact(per_row)).zip(rows(settings, view));
        match self.workers.pool() {
            None => work.map(|part| step(part, stop)).fold(Ok(()), Result::and),
            Some(pool) => {
                let work: Vec<_> = work.collect();
                attended(pool, stop, |stop| {
                    work.into_par_iter().map(|part| step(part, stop)).reduce(|| Ok(()), Result::and)
                })
            }
        }
    }

    /// Return a simulation that the caller has stopped within a step or reset: only a reset lets it go on.
    pub fn interrupted(&self) -> Option<usize> {
        self.environments
            .iter()
            .position(|place| place.as_ref().is_some_and(|environment| environment.interrupted))
    }

    /// Return the actions (steps, slots, action_dim) of simulation `index` since its reset; `None` before its
    /// first one.
    pub fn actions(&self, index: usize) -> Option<&[f32]> {
        self.environments.get(index)?.as_ref().map(|environment| environment.actions.as_slice())
    }

    /// Advance simulation `index` alone, by one interval for each of `actions` (steps, slots, action_dim).
    ///
    /// After a reset with an equal scenario, the actions of another simulation lead to that simulation's state.
    ///
    /// # Errors
    /// `stop` returned true, and the simulation is [`Self::interrupted`].
    ///
    /// # Panics
    /// When `index` is out of range, was never reset, or `actions` or `view` has other dimensions.
    pub fn replay(
        &mut self,
        index: usize,
        actions: &[f32],
        view: View<'_>,
        stop: Stop<'_>,
    ) -> Result<(), Interrupted> {
        let settings = &self.settings;
        let per_step = settings.slots * settings.spec.action_dim();
        assert_eq!(actions.len() % per_step, 0, "actions have the shape of steps");
        let mut row = rows(settings, view).nth(index).expect("the index is in range");
        let environment = self.environments[index].as_mut().expect("the simulation was reset");
        for actions in actions.chunks_exact(per_step) {
            environment.step(settings, &mut row, stop, |environment, row| {
                environment.act(settings, actions, row);
            })?;
        }
        Ok(())
    }

    /// Return whether commands steered simulation `index` since its reset; [`Self::actions`] does not have them.
    pub fn is_commanded(&self, index: usize) -> bool {
        self.environments[index].as_ref().is_some_and(|environment| environment.is_commanded)
    }

    /// Return the run log of simulation `index` so far; `None` before its first reset.
    pub fn run_log(&mut self, index: usize) -> Option<RunLog> {
        self.environments.get_mut(index)?.as_mut().map(|environment| environment.simulation.run_log())
    }
}

impl Environment {
    fn step(
        &mut self,
        settings: &BatchSettings,
        row: &mut Row<'_>,
        stop: Stop<'_>,
        obey: impl FnOnce(&mut Self, &Row<'_>),
    ) -> Result<(), Interrupted> {
        if row.finished[0] {
            row.rewards.fill(0.0);
            return Ok(());
        }
        obey(self, row);
        let advanced = self.advance(settings, row, stop);
        self.interrupted = advanced.is_err();
        advanced
    }

    fn act(&mut self, settings: &BatchSettings, actions: &[f32], row: &Row<'_>) {
        self.actions.extend_from_slice(actions);
        for (slot, action) in actions.chunks_exact(settings.spec.action_dim()).enumerate() {
            if row.active[slot] && !settings.watches {
                control_loop::act(&mut self.simulation, self.learners[slot], action);
            }
            if row.active[slot] && slot < settings.holds {
                control_loop::follow(&mut self.simulation, self.learners[slot]);
            }
        }
    }

    fn command(&mut self, settings: &BatchSettings, commands: &[Command], row: &Row<'_>) {
        self.is_commanded = true;
        for (slot, &command) in commands.iter().enumerate() {
            if row.active[slot] && !settings.watches {
                control_loop::command(&mut self.simulation, self.learners[slot], command);
            }
        }
    }

    /// Run one interval, and more while no learning flow is running but one is still to start.
    fn advance(
        &mut self,
        settings: &BatchSettings,
        row: &mut Row<'_>,
        stop: Stop<'_>,
    ) -> Result<(), Interrupted> {
        row.rewards.fill(0.0);
        loop {
            self.simulation.run_interval(stop)?;
            self.observe(settings, row);
            let flows = self.simulation.flows();
            let yet_to_come = |flow: usize| matches!(flows[flow].phase, Phase::Waiting | Phase::Connecting);
            let waiting = self.learners.iter().any(|&flow| yet_to_come(flow));
            let running = row.active.contains(&true);
            self.pace(settings.spec);
            row.finished[0] = self.simulation.is_finished() || !(running || waiting);
            row.time_s[0] = self.simulation.now() as f64 * 1e-9;
            if running || row.finished[0] {
                return Ok(());
            }
        }
    }

    /// Set the next interval from the report of the first running flow, if the specification does so.
    fn pace(&mut self, spec: AgentSpec) {
        let flows = self.simulation.flows();
        let running = self.learners.iter().find(|&&flow| flows[flow].phase == Phase::Running);
        let report = running.and_then(|&flow| flows[flow].agent.as_ref()).map(|agent| agent.history.report);
        if let Some(interval) = report.and_then(|report| spec.observation.next_interval_ns(&report)) {
            self.simulation.set_interval(interval);
        }
    }

    /// Write reports, observations, global state and rewards at the end of an interval.
    fn observe(&mut self, settings: &BatchSettings, row: &mut Row<'_>) {
        let now = self.simulation.now();
        let observation_dim = settings.spec.observation_dim();
        let mut reporting = 0;
        for (slot, &index) in self.learners.iter().enumerate() {
            let flow = self.simulation.flow_mut(index);
            let Some(report) = flow.report(now) else { continue };
            reporting += 1;
            report.write_f64(&mut row.reports[slot * Report::FIELDS.len()..][..Report::FIELDS.len()]);
            if let Some(agent) = &flow.agent {
                let observation = &mut row.observations[slot * observation_dim..][..observation_dim];
                agent.state.write_observation(observation);
                if settings.normalize_observations {
                    normalize(observation);
                }
            }
        }
        if reporting > 0 {
            self.judge(settings, row, now);
        }
        for (slot, &index) in self.learners.iter().enumerate() {
            row.active[slot] = self.simulation.flows()[index].phase == Phase::Running;
        }
    }

    /// Write paths, global state and rewards of the flows whose interval ends now. Only flows that acted get a reward:
    /// their own or, as the reward defines, that of the flows at their bottleneck. The global state has the path of the
    /// first of these flows.
    fn judge(&mut self, settings: &BatchSettings, row: &mut Row<'_>, now: Nanos) {
        self.bottlenecks.count(&self.simulation);
        for &index in &self.learners {
            let path = self.bottlenecks.path(&self.simulation, index);
            if let Some(agent) = &mut self.simulation.flow_mut(index).agent {
                agent.history.flows_on_path = path.flows;
            }
        }
        let simulation = &self.simulation;
        let flows = simulation.flows();
        let reporting =
            |index: &&usize| flows[**index].agent.as_ref().is_some_and(|agent| agent.reported_at == now);
        let state = |&index: &usize| flows[index].agent.as_ref().map(|agent| &agent.history as &FlowState);
        let Some(&first) = self.learners.iter().find(reporting) else { return };
        let states = self.learners.iter().filter(reporting).filter_map(state);
        write_global_state(&self.bottlenecks.path(simulation, first).world, states, row.global_states);
        // A constellation's flows are judged each alone.
        let is_alone = settings.reward.is_of_flow() || simulation.paths.forwarding().is_some();
        let mut shared: Option<(PathWorld, f32)> = None;
        for (slot, index) in self.learners.iter().enumerate() {
            let path = self.bottlenecks.path(simulation, *index);
            let base_rtt_ns = path.world.base_rtt_ns + 2 * flows[*index].extra_delay;
            row.paths[slot * PATH_FIELDS..][..PATH_FIELDS]
                .copy_from_slice(&[path.world.capacity_bytes_per_s / 125e3, base_rtt_ns as f64 / 1e6]);
            if !row.active[slot] {
                continue;
            }
            row.rewards[slot] = match shared {
                _ if is_alone => settings.reward.evaluate(&path.world, state(index).into_iter()),
                Some((of, reward)) if of == path => reward,
                _ => {
                    let at_bottleneck = |index: &&usize| {
                        path.bottleneck.is_some_and(|link| crosses(simulation, **index, link))
                    };
                    let states =
                        self.learners.iter().filter(reporting).filter(at_bottleneck).filter_map(state);
                    let reward = settings.reward.evaluate(&path.world, states);
                    shared = Some((path, reward));
                    reward
                }
            };
        }
    }
}

fn rows<'a>(settings: &BatchSettings, view: View<'a>) -> impl Iterator<Item = Row<'a>> + use<'a> {
    let slots = settings.slots;
    let fields = Report::FIELDS.len();
    view.observations
        .chunks_exact_mut(slots * settings.spec.observation_dim())
        .zip(view.rewards.chunks_exact_mut(slots))
        .zip(view.global_states.chunks_exact_mut(GLOBAL_DIM))
        .zip(view.active.chunks_exact_mut(slots))
        .zip(view.finished.chunks_exact_mut(1))
        .zip(view.reports.chunks_exact_mut(slots * fields))
        .zip(view.paths.chunks_exact_mut(slots * PATH_FIELDS))
        .zip(view.time_s.chunks_exact_mut(1))
        .map(
            |(((((((observations, rewards), global_states), active), finished), reports), paths), time_s)| {
                Row { observations, rewards, global_states, active, finished, reports, paths, time_s }
            },
        )
}
