//! Agent specifications: versioned pairs of an observation and an action.

use crate::action::ActionState;
use crate::features::{ObservationState, orca};
use crate::guard::{Guard, KnownRanges};
use crate::{Action, Command, ControlError, GLOBAL_DIM, Observation, Report, window_rate_bytes_per_s};

/// The longest observation of any specification, for buffers on the stack.
pub const MAX_OBSERVATION_DIM: usize = orca::OBSERVATION_DIM;

/// The longest action of any specification.
pub const MAX_ACTION_DIM: usize = crate::orbit::GAINS;

/// An agent specification: a policy's observation and the effect of its action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentSpec {
    /// The policy's input.
    pub observation: Observation,
    /// The effect of the policy's output.
    pub action: Action,
}

/// Every observation with every action, by name. Published pairs have the name of their agent.
const PAIRS: [(&str, Observation, Action); 25] = [
    ("astraea", Observation::Astraea, Action::CwndStep),
    ("orca", Observation::Orca, Action::CubicRatio),
    ("aurora", Observation::Aurora, Action::RateStep),
    ("sage", Observation::Sage, Action::CwndRatio),
    ("orbit", Observation::Orbit, Action::PathGains),
    ("astraea+cubic_ratio", Observation::Astraea, Action::CubicRatio),
    ("astraea+rate_step", Observation::Astraea, Action::RateStep),
    ("astraea+cwnd_ratio", Observation::Astraea, Action::CwndRatio),
    ("orca+cwnd_step", Observation::Orca, Action::CwndStep),
    ("orca+rate_step", Observation::Orca, Action::RateStep),
    ("orca+cwnd_ratio", Observation::Orca, Action::CwndRatio),
    ("aurora+cwnd_step", Observation::Aurora, Action::CwndStep),
    ("aurora+cubic_ratio", Observation::Aurora, Action::CubicRatio),
    ("aurora+cwnd_ratio", Observation::Aurora, Action::CwndRatio),
    ("sage+cwnd_step", Observation::Sage, Action::CwndStep),
    ("sage+cubic_ratio", Observation::Sage, Action::CubicRatio),
    ("sage+rate_step", Observation::Sage, Action::RateStep),
    ("astraea+path_gains", Observation::Astraea, Action::PathGains),
    ("orca+path_gains", Observation::Orca, Action::PathGains),
    ("aurora+path_gains", Observation::Aurora, Action::PathGains),
    ("sage+path_gains", Observation::Sage, Action::PathGains),
    ("orbit+cwnd_step", Observation::Orbit, Action::CwndStep),
    ("orbit+cubic_ratio", Observation::Orbit, Action::CubicRatio),
    ("orbit+rate_step", Observation::Orbit, Action::RateStep),
    ("orbit+cwnd_ratio", Observation::Orbit, Action::CwndRatio),
];

impl AgentSpec {
    /// Astraea (EuroSys 2024): 10 features of 5 intervals; the action scales the window by at most 2.5 %.
    pub const ASTRAEA: Self = Self { observation: Observation::Astraea, action: Action::CwndStep };
    /// Orca (SIGCOMM 2020): 7 features of 10 intervals; the action multiplies CUBIC's window.
    pub const ORCA: Self = Self { observation: Observation::Orca, action: Action::CubicRatio };
    /// Aurora (ICML 2019): 3 features of 10 intervals; the action scales the rate by at most 2.5 %.
    pub const AURORA: Self = Self { observation: Observation::Aurora, action: Action::RateStep };
    /// Sage (SIGCOMM 2023): 69 signals over three windows; the action multiplies the window.
    pub const SAGE: Self = Self { observation: Observation::Sage, action: Action::CwndRatio };

    /// Every specification, published ones first.
    pub fn all() -> impl Iterator<Item = Self> {
        PAIRS.into_iter().map(|(_, observation, action)| Self { observation, action })
    }

    /// Find a specification by an agent's name or `OBSERVATION+ACTION`; ACTION may be an agent's name.
    pub fn by_name(name: &str) -> Result<Self, ControlError> {
        let spec = Self::all().find(|spec| {
            let composed = name.split_once('+').is_some_and(|(observation, action)| {
                observation == spec.observation.name()
                    && (action == spec.action.name() || Some(action) == spec.action.agent())
            });
            composed || spec.name() == name
        });
        spec.ok_or_else(|| {
            let names = Self::names().collect::<Vec<_>>().join(", ");
            ControlError::new(
                "agent",
                "name",
                format!("no agent specification is named {name:?} (there are: {names})"),
            )
        })
    }

    /// Names of all specifications.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PAIRS.into_iter().map(|(name, ..)| name)
    }

    /// Name in configurations and `policy.json`.
    pub fn name(self) -> &'static str {
        let pair = PAIRS.into_iter().find(|pair| (pair.1, pair.2) == (self.observation, self.action));
        pair.map_or("", |(name, ..)| name)
    }

    /// Version: the observation's plus the action's, minus 1. Policies of other versions are refused.
    pub const fn version(self) -> u32 {
        self.observation.version() + self.action.version() - 1
    }

    /// Numbers in an observation.
    pub const fn observation_dim(self) -> usize {
        self.observation.dim()
    }

    /// Smallest and largest value of each number in an observation.
    pub fn observation_bounds(self) -> Vec<(f32, f32)> {
        self.observation.bounds()
    }

    /// Numbers in an action, each in [-1, 1].
    pub const fn action_dim(self) -> usize {
        self.action.dim()
    }

    /// Numbers in the critic's global state.
    pub const fn global_dim(self) -> usize {
        GLOBAL_DIM
    }

    /// Monitor interval in ns, unless a scenario or a policy sets another.
    pub const fn default_interval_ns(self) -> u64 {
        self.observation.default_interval_ns()
    }
}

/// A flow's decision for the next interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It uses this window and rate.
    Steer(Command),
    /// The fallback, CUBIC, moves its window.
    FallBack,
}

/// The per-flow state of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentState {
    spec: AgentSpec,
    observation: ObservationState,
    action: ActionState,
    guard: Option<Box<Guard>>,
}

impl AgentState {
    /// Create the state of a new flow.
    pub fn new(spec: AgentSpec) -> Self {
        Self {
            spec,
            observation: ObservationState::new(spec.observation),
            action: ActionState::new(spec.action),
            guard: None,
        }
    }

    /// Fall back to CUBIC outside `ranges`, and where an action is not a number; without `ranges`, never.
    #[must_use]
    pub fn guarded(mut self, ranges: Option<KnownRanges>) -> Self {
        self.guard = ranges.map(|ranges| Box::new(Guard::new(ranges)));
        self
    }

    /// How often the flow has fallen back; `None` without a guard.
    pub fn fallbacks(&self) -> Option<u64> {
        self.guard.as_ref().map(|guard| guard.fallbacks())
    }

    /// The agent's specification.
    pub const fn spec(&self) -> AgentSpec {
        self.spec
    }

    /// Add the report of the interval that just ended.
    pub fn observe(&mut self, report: &Report) {
        self.observation.push(report);
        self.action.observe(report);
        if let Some(guard) = &mut self.guard {
            guard.observe(report);
        }
    }

    /// Write the observation. Panics if `out` is not `observation_dim` long.
    pub fn write_observation(&self, out: &mut [f32]) {
        out.copy_from_slice(self.observation.values());
    }

    /// Whether the policy acts after the latest interval. If not, [`act`](Self::act) ignores the action and
    /// keeps the window, and a recurrent policy keeps its memory.
    pub fn is_due(&self) -> bool {
        self.observation.is_due()
    }

    /// Turn `action` into the flow's next decision, as [`act`](Self::act) does, or fall back if the guard requires it.
    pub fn decide(&mut self, action: &[f32], report: &Report) -> Decision {
        if let Some(guard) = &mut self.guard {
            let had_fallen = guard.has_fallen();
            let is_valid = !self.observation.is_due() || action.iter().all(|value| value.is_finite());
            if !guard.decide(is_valid) {
                return Decision::FallBack;
            }
            if had_fallen {
                // The policy begins as on a new flow, so that the fallback's queue drains.
                self.action = ActionState::new(self.spec.action);
                self.action.observe(report);
            }
        }
        Decision::Steer(self.act(action, report))
    }

    /// Turn `action` into a command for the flow whose latest report is `report`. Clamps components to [-1,
    /// 1]; interfaces to outside callers reject NaN before this. Panics if `action` is empty.
    pub fn act(&mut self, action: &[f32], report: &Report) -> Command {
        if !self.is_due() {
            let Report { cwnd: cwnd_packets, mss, packets_out, srtt_us, .. } = *report;
            // Only Sage skips intervals.
            let pacing_bytes_per_s = window_rate_bytes_per_s(mss, cwnd_packets, packets_out, srtt_us);
            return Command { cwnd_packets, pacing_bytes_per_s };
        }
        if let Some(log2_ratio) = self.action.log2_ratio(action[0]) {
            self.observation.acted(log2_ratio);
        }
        self.action.act(action, report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_observation_and_action_is_found_by_its_name_and_by_its_parts() {
        assert_eq!(AgentSpec::all().count(), Observation::ALL.len() * Action::ALL.len());
        for observation in Observation::ALL {
            for action in Action::ALL {
                let spec = AgentSpec { observation, action };
                assert_eq!(AgentSpec::by_name(spec.name()), Ok(spec));
                let parts = format!("{}+{}", observation.name(), action.name());
                assert_eq!(AgentSpec::by_name(&parts), Ok(spec));
                assert_eq!(AgentState::new(spec).spec(), spec);
            }
        }
        assert_eq!(AgentSpec::by_name("orca"), Ok(AgentSpec::ORCA));
        assert_eq!(AgentSpec::by_name("aurora+orca").unwrap().name(), "aurora+cubic_ratio");
        assert_eq!(AgentSpec::AURORA.name(), "aurora");
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        for name in ["astrea", "astraea+", "orca+vivace"] {
            let error = AgentSpec::by_name(name).unwrap_err().to_string();
            let expected =
                format!("agent: name: no agent specification is named {name:?} (there are: astraea, orca, ");
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn every_specification_fills_its_observation() {
        for spec in AgentSpec::all() {
            let mut state = AgentState::new(spec);
            let mut before = vec![f32::NAN; spec.observation_dim()];
            assert!(before.len() <= MAX_OBSERVATION_DIM);
            state.write_observation(&mut before);
            assert!(before.iter().all(|value| value.is_finite()));
            let report = Report {
                cwnd: 10,
                packets_out: 10,
                interval_ns: 1,
                delivered_bytes: 1,
                rtt_slope: 1.0,
                ..Report::default()
            };
            state.observe(&report);
            let mut after = before.clone();
            state.write_observation(&mut after);
            assert_ne!(before, after, "{}", spec.name());
        }
    }

    #[test]
    fn an_astraea_action_scales_the_window_and_paces_whole_packets_over_an_rtt() {
        let report = Report { cwnd: 100, packets_out: 98, mss: 1_448, srtt_us: 40_000, ..Report::default() };
        let mut state = AgentState::new(AgentSpec::ASTRAEA);
        let grown = Command { cwnd_packets: 103, pacing_bytes_per_s: 3_862_500 };
        assert_eq!(state.act(&[1.0], &report), grown);
        // Packets in flight still set the rate of a smaller window.
        let shrunk = Command { cwnd_packets: 97, pacing_bytes_per_s: 3_675_000 };
        assert_eq!(state.act(&[-1.0], &report), shrunk);
        let before_any_rtt = Report { srtt_us: 0, ..report };
        assert_eq!(state.act(&[0.0], &before_any_rtt).pacing_bytes_per_s, 0);
    }

    #[test]
    fn a_guarded_flow_falls_back_where_its_policy_fails_and_begins_anew_when_it_comes_back() {
        let report = Report {
            interval_ns: 125_000_000,
            delivered_bytes: 100_000,
            cwnd: 100,
            mss: 1_448,
            srtt_us: 40_000,
            avg_rtt_us: 40_000,
            min_rtt_us: 40_000,
            ..Report::default()
        };
        let mut plain = AgentState::new(AgentSpec::AURORA).guarded(None);
        let mut state = AgentState::new(AgentSpec::AURORA).guarded(Some(KnownRanges::default()));
        let steps = |state: &mut AgentState, action: f32, count: usize| {
            (0..count)
                .map(|_| {
                    state.observe(&report);
                    state.decide(&[action], &report)
                })
                .last()
        };
        let new = steps(&mut plain, 0.0, 1);
        assert!(matches!(steps(&mut plain, f32::NAN, 9), Some(Decision::Steer(_))));
        assert_eq!(plain.fallbacks(), None);
        assert_eq!(steps(&mut state, 0.0, 1), new);
        assert_ne!(steps(&mut state, 0.0, 1), new);
        assert_eq!(steps(&mut state, f32::NAN, 1), Some(Decision::FallBack));
        assert_eq!(steps(&mut state, 0.0, 23), Some(Decision::FallBack));
        // Three seconds after the last bad action, Aurora's flow begins with a window an RTT.
        assert_eq!(steps(&mut state, 0.0, 1), new);
        assert_eq!(state.fallbacks(), Some(1));
    }

    #[test]
    fn orcas_policy_is_not_asked_before_slow_start_is_over() {
        let report = Report { cwnd: 100, ssthresh: u32::MAX, ..Report::default() };
        let mut state = AgentState::new(AgentSpec::ORCA);
        state.observe(&report);
        assert_eq!(state.act(&[-1.0], &report).cwnd_packets, 110);
        let after = Report { ssthresh: 99, ..report };
        state.observe(&after);
        assert_eq!(state.act(&[-1.0], &after).cwnd_packets, 25);
    }

    #[test]
    fn sages_policy_acts_after_deliveries_and_observes_its_last_action() {
        let acked =
            Report { cwnd: 100, delivered_bytes: 1_448, mss: 1_448, srtt_us: 10_000, ..Report::default() };
        let silent = Report { delivered_bytes: 0, ..acked };
        let mut state = AgentState::new(AgentSpec::SAGE);
        assert!(!state.is_due());
        state.observe(&acked);
        assert!(state.is_due());
        assert_eq!(state.act(&[0.25], &acked).cwnd_packets, 142); // 2^0.5
        state.observe(&Report { cwnd: 142, ..silent });
        assert!(!state.is_due());
        let command = state.act(&[1.0], &Report { cwnd: 142, ..silent });
        assert_eq!(command, Command { cwnd_packets: 142, pacing_bytes_per_s: 20_561_600 });
        state.observe(&Report { cwnd: 142, ..acked });
        let mut observation = [0.0; 69];
        state.write_observation(&mut observation);
        assert_eq!(observation[68], 0.5);
    }

    #[test]
    fn only_auroras_interval_follows_the_rtt() {
        let report = Report { avg_rtt_us: 80_000, ..Report::default() };
        let intervals = Observation::ALL.map(|observation| observation.next_interval_ns(&report));
        assert_eq!(intervals, [None, None, Some(40_000_000), None, None]);
        assert_eq!(
            intervals.map(|length| length.is_some()),
            Observation::ALL.map(Observation::sets_intervals)
        );
    }
}
