//! Observations: what a policy sees of its flow's reports. One file for each definition.

pub mod astraea;
pub mod aurora;
mod history;
pub mod orca;

use crate::Report;

/// An observation by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// `astraea`: 10 features of 5 intervals.
    Astraea,
    /// `orca`: 7 features of 10 intervals.
    Orca,
    /// `aurora`: 3 features of 10 intervals, each half an RTT long.
    Aurora,
}

impl Observation {
    /// Every observation.
    pub const ALL: [Self; 3] = [Self::Astraea, Self::Orca, Self::Aurora];

    /// Its name, as in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Astraea => "astraea",
            Self::Orca => "orca",
            Self::Aurora => "aurora",
        }
    }

    /// Version of its definition.
    pub const fn version(self) -> u32 {
        match self {
            Self::Astraea => astraea::SPEC_VERSION,
            Self::Orca => orca::SPEC_VERSION,
            Self::Aurora => aurora::SPEC_VERSION,
        }
    }

    /// Numbers in it.
    pub const fn dim(self) -> usize {
        match self {
            Self::Astraea => astraea::OBSERVATION_DIM,
            Self::Orca => orca::OBSERVATION_DIM,
            Self::Aurora => aurora::OBSERVATION_DIM,
        }
    }

    /// Monitor interval unless a scenario or a policy says otherwise, in ns: 30 ms as Astraea trains, Orca's 20 ms,
    /// and what Aurora's first interval lasts, until there is an RTT to take half of.
    pub const fn default_interval_ns(self) -> u64 {
        match self {
            Self::Astraea => 30_000_000,
            Self::Orca => 20_000_000,
            Self::Aurora => 50_000_000,
        }
    }

    /// How long the interval after that `report` lasts, in ns, where the definition says so; else `None`.
    pub fn next_interval_ns(self, report: &Report) -> Option<u64> {
        match self {
            Self::Astraea | Self::Orca => None,
            Self::Aurora => aurora::Observation::interval_ns(report),
        }
    }
}

/// What an observation remembers of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ObservationState {
    Astraea(astraea::Observation),
    Orca(orca::Observation),
    Aurora(aurora::Observation),
}

impl ObservationState {
    pub(crate) fn new(observation: Observation) -> Self {
        match observation {
            Observation::Astraea => Self::Astraea(astraea::Observation::default()),
            Observation::Orca => Self::Orca(orca::Observation::default()),
            Observation::Aurora => Self::Aurora(aurora::Observation::default()),
        }
    }

    pub(crate) fn push(&mut self, report: &Report) {
        match self {
            Self::Astraea(observation) => observation.push(report),
            Self::Orca(observation) => observation.push(report),
            Self::Aurora(observation) => observation.push(report),
        }
    }

    pub(crate) fn values(&self) -> &[f32] {
        match self {
            Self::Astraea(observation) => observation.values(),
            Self::Orca(observation) => observation.values(),
            Self::Aurora(observation) => observation.values(),
        }
    }
}
