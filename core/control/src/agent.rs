//! Agent specifications: observation and action together, versioned, one variant each.

use crate::features::astraea;
use crate::{Command, ControlError, GLOBAL_DIM, Report, map_action, pacing_rate_bytes_per_s};

/// The longest observation of any specification: large enough for a buffer on the stack.
pub const MAX_OBSERVATION_DIM: usize = astraea::OBSERVATION_DIM;

/// An agent specification: which observation a policy gets and what its action does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentSpec {
    /// Astraea (EuroSys 2024): 10 features of 5 intervals; one action that scales the window.
    Astraea,
}

impl AgentSpec {
    /// Every specification.
    pub const ALL: [Self; 1] = [Self::Astraea];

    /// The specification of that name.
    ///
    /// # Errors
    /// No specification has the name; the error lists those there are.
    pub fn by_name(name: &str) -> Result<Self, ControlError> {
        Self::ALL.into_iter().find(|spec| spec.name() == name).ok_or_else(|| {
            let known = Self::names().collect::<Vec<_>>().join(", ");
            ControlError::new(
                "agent",
                "name",
                format!("no agent specification is named {name:?} (there are: {known})"),
            )
        })
    }

    /// Names of all specifications.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(Self::name)
    }

    /// Its name, as in configurations and `policy.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Astraea => "astraea",
        }
    }

    /// Version of its definition. A policy trained with another version is refused.
    pub const fn version(self) -> u32 {
        match self {
            Self::Astraea => astraea::SPEC_VERSION,
        }
    }

    /// Numbers in an observation.
    pub const fn observation_dim(self) -> usize {
        match self {
            Self::Astraea => astraea::OBSERVATION_DIM,
        }
    }

    /// Numbers in an action, each in [-1, 1].
    pub const fn action_dim(self) -> usize {
        match self {
            Self::Astraea => 1,
        }
    }

    /// Numbers in the critic's global state.
    pub const fn global_dim(self) -> usize {
        match self {
            Self::Astraea => GLOBAL_DIM,
        }
    }

    /// Monitor interval unless a scenario or a policy says otherwise, in ns: Astraea trains at 30 ms.
    pub const fn default_interval_ns(self) -> u64 {
        match self {
            Self::Astraea => 30_000_000,
        }
    }
}

/// What an agent remembers of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AgentState {
    /// Astraea: the features of the last intervals.
    Astraea(astraea::Observation),
}

impl AgentState {
    /// The state of a flow that starts.
    pub fn new(spec: AgentSpec) -> Self {
        match spec {
            AgentSpec::Astraea => Self::Astraea(astraea::Observation::default()),
        }
    }

    /// The specification it follows.
    pub const fn spec(&self) -> AgentSpec {
        match self {
            Self::Astraea(_) => AgentSpec::Astraea,
        }
    }

    /// Take the report of the interval that just ended.
    pub fn observe(&mut self, report: &Report) {
        match self {
            Self::Astraea(observation) => observation.push(report),
        }
    }

    /// Write the observation.
    ///
    /// # Panics
    /// When `out` is not `observation_dim` long.
    pub fn write_observation(&self, out: &mut [f32]) {
        match self {
            Self::Astraea(observation) => out.copy_from_slice(observation.values()),
        }
    }

    /// What `action` means for a flow with that latest `report`.
    ///
    /// Components outside [-1, 1] are clamped; faces that take actions from outside reject NaN before.
    ///
    /// # Panics
    /// When `action` is empty.
    pub fn act(&self, action: &[f32], report: &Report) -> Command {
        match self {
            Self::Astraea(_) => {
                let cwnd_packets = map_action(action[0], report.cwnd);
                let pacing_bytes_per_s =
                    pacing_rate_bytes_per_s(report.mss, cwnd_packets, report.packets_out, report.srtt_us);
                Command { cwnd_packets, pacing_bytes_per_s }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_specification_is_found_by_its_name() {
        for spec in AgentSpec::ALL {
            assert_eq!(AgentSpec::by_name(spec.name()), Ok(spec));
            assert_eq!(AgentState::new(spec).spec(), spec);
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = AgentSpec::by_name("astrea").unwrap_err().to_string();
        assert_eq!(error, "agent: name: no agent specification is named \"astrea\" (there are: astraea)");
    }

    #[test]
    fn every_specification_fills_its_observation() {
        for spec in AgentSpec::ALL {
            let mut state = AgentState::new(spec);
            let mut out = vec![f32::NAN; spec.observation_dim()];
            assert!(out.len() <= MAX_OBSERVATION_DIM);
            state.write_observation(&mut out);
            assert!(out.iter().all(|value| *value == 0.0));
            state.observe(&Report { cwnd: 10, packets_out: 10, ..Report::default() });
            state.write_observation(&mut out);
            assert!(out.iter().any(|value| *value != 0.0));
        }
    }

    #[test]
    fn an_astraea_action_scales_the_window_and_paces_it_over_an_rtt() {
        let report = Report { cwnd: 100, packets_out: 98, mss: 1_448, srtt_us: 40_000, ..Report::default() };
        let state = AgentState::new(AgentSpec::Astraea);
        let grown = Command { cwnd_packets: 103, pacing_bytes_per_s: 3_728_600 };
        assert_eq!(state.act(&[1.0], &report), grown);
        // What is out still paces a window that shrinks.
        let shrunk = Command { cwnd_packets: 97, pacing_bytes_per_s: 3_547_600 };
        assert_eq!(state.act(&[-1.0], &report), shrunk);
        let before_any_rtt = Report { srtt_us: 0, ..report };
        assert_eq!(state.act(&[0.0], &before_any_rtt).pacing_bytes_per_s, 0);
    }
}
