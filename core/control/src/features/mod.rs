//! Observations: a policy's view of its flow's reports. Each definition has its own file.

pub mod astraea;
pub mod aurora;
mod history;
pub mod orbit;
pub mod orca;
pub mod sage;
mod sliding;

use crate::Report;

/// Smallest and largest value of a feature.
pub type Bounds = (f64, f64);

/// Largest value of features that have none by definition, such as a loss rate over a delivery rate: the one
/// that Aurora published for its latency ratio. The shipped policies' runs stay far below it.
pub(crate) const LARGEST: f64 = 10_000.0;

/// Clamp each feature to its bounds.
pub(crate) fn bounded<const N: usize>(features: [f64; N], bounds: &[Bounds; N]) -> [f32; N] {
    std::array::from_fn(|i| features[i].clamp(bounds[i].0, bounds[i].1) as f32)
}

/// Scale an observation to [-1, 1]: each x becomes `x / (1 + |x|)`, the softsign.
///
/// Zeros stay zeros, and the ratios near 1 that most features are keep the most detail.
pub fn normalize(observation: &mut [f32]) {
    for value in observation {
        *value /= 1.0 + value.abs();
    }
}

/// An observation by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// `astraea`: 10 features of 5 intervals.
    Astraea,
    /// `orca`: 7 features of 10 intervals.
    Orca,
    /// `aurora`: 3 features of 10 intervals, each half an RTT long.
    Aurora,
    /// `sage`: 69 signals, most of them statistics over three windows.
    Sage,
    /// `orbit`: an estimate of the path.
    Orbit,
}

impl Observation {
    /// Every observation.
    pub const ALL: [Self; 5] = [Self::Astraea, Self::Orca, Self::Aurora, Self::Sage, Self::Orbit];

    /// Name in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Astraea => "astraea",
            Self::Orca => "orca",
            Self::Aurora => "aurora",
            Self::Sage => "sage",
            Self::Orbit => "orbit",
        }
    }

    /// Version of the definition.
    pub const fn version(self) -> u32 {
        match self {
            Self::Astraea => astraea::SPEC_VERSION,
            Self::Orca => orca::SPEC_VERSION,
            Self::Aurora => aurora::SPEC_VERSION,
            Self::Sage => sage::SPEC_VERSION,
            Self::Orbit => orbit::SPEC_VERSION,
        }
    }

    /// Numbers in an observation.
    pub const fn dim(self) -> usize {
        match self {
            Self::Astraea => astraea::OBSERVATION_DIM,
            Self::Orca => orca::OBSERVATION_DIM,
            Self::Aurora => aurora::OBSERVATION_DIM,
            Self::Sage => sage::OBSERVATION_DIM,
            Self::Orbit => orbit::OBSERVATION_DIM,
        }
    }

    /// Smallest and largest value of each number in an observation.
    pub fn bounds(self) -> Vec<(f32, f32)> {
        let of_intervals = |features: &[Bounds]| {
            let all = features.iter().cycle().take(self.dim());
            all.map(|&(low, high)| (low as f32, high as f32)).collect()
        };
        match self {
            Self::Astraea => of_intervals(&astraea::BOUNDS),
            Self::Orca => of_intervals(&orca::BOUNDS),
            Self::Aurora => of_intervals(&aurora::BOUNDS),
            Self::Sage => of_intervals(&sage::bounds()),
            Self::Orbit => of_intervals(&orbit::BOUNDS),
        }
    }

    /// Monitor interval in ns unless a scenario or a policy sets another; Aurora's then follows the RTT.
    pub const fn default_interval_ns(self) -> u64 {
        match self {
            Self::Astraea => 30_000_000,
            Self::Orca => 20_000_000,
            Self::Aurora => 50_000_000,
            Self::Sage | Self::Orbit => 10_000_000,
        }
    }

    /// Whether reports set the length of the next interval, see [`Self::next_interval_ns`].
    pub const fn sets_intervals(self) -> bool {
        matches!(self, Self::Aurora)
    }

    /// Return the length of the interval after `report` in ns, if the definition sets it.
    pub fn next_interval_ns(self, report: &Report) -> Option<u64> {
        match self {
            Self::Astraea | Self::Orca | Self::Sage | Self::Orbit => None,
            Self::Aurora => aurora::Observation::interval_ns(report),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ObservationState {
    Astraea(astraea::Observation),
    Orca(orca::Observation),
    Aurora(aurora::Observation),
    Sage(Box<sage::Observation>),
    Orbit(Box<orbit::Observation>),
}

impl ObservationState {
    pub(crate) fn new(observation: Observation) -> Self {
        match observation {
            Observation::Astraea => Self::Astraea(astraea::Observation::default()),
            Observation::Orca => Self::Orca(orca::Observation::default()),
            Observation::Aurora => Self::Aurora(aurora::Observation::default()),
            Observation::Sage => Self::Sage(Box::default()),
            Observation::Orbit => Self::Orbit(Box::default()),
        }
    }

    pub(crate) fn push(&mut self, report: &Report) {
        match self {
            Self::Astraea(observation) => observation.push(report),
            Self::Orca(observation) => observation.push(report),
            Self::Aurora(observation) => observation.push(report),
            Self::Sage(observation) => observation.push(report),
            Self::Orbit(observation) => observation.push(report),
        }
    }

    pub(crate) fn is_due(&self) -> bool {
        match self {
            Self::Astraea(_) | Self::Orca(_) | Self::Aurora(_) | Self::Orbit(_) => true,
            Self::Sage(observation) => observation.is_due(),
        }
    }

    /// Note that the policy multiplied the window by 2^`log2_ratio`.
    pub(crate) fn acted(&mut self, log2_ratio: f64) {
        if let Self::Sage(observation) = self {
            observation.acted(log2_ratio);
        }
    }

    pub(crate) fn values(&self) -> &[f32] {
        match self {
            Self::Astraea(observation) => observation.values(),
            Self::Orca(observation) => observation.values(),
            Self::Aurora(observation) => observation.values(),
            Self::Sage(observation) => observation.values(),
            Self::Orbit(observation) => observation.values(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::AgentSpec;

    proptest! {
        #[test]
        fn every_observation_of_any_reports_lies_within_its_bounds(
            rows in proptest::collection::vec((any::<[u64; 6]>(), any::<[u32; 9]>(), -1e3..1e3), 1..12),
        ) {
            for observation in Observation::ALL {
                let bounds = observation.bounds();
                prop_assert_eq!(bounds.len(), observation.dim());
                let mut state = ObservationState::new(observation);
                for (long, short, rtt_slope) in &rows {
                    // Shifts give small and large numbers.
                    let long = long.map(|number| number >> (number % 64));
                    let short = short.map(|number| number >> (number % 32));
                    let report = Report {
                        interval_ns: long[0],
                        delivered_bytes: long[1],
                        sent_bytes: long[2],
                        lost_bytes: long[3],
                        avg_throughput: long[4],
                        pacing_rate: long[5],
                        max_throughput: long[4].saturating_add(long[0] % 3),
                        avg_rtt_us: short[0],
                        rtt_samples: short[1],
                        min_rtt_us: short[2],
                        srtt_us: short[3],
                        rttvar_us: short[4],
                        cwnd: short[5],
                        packets_out: short[6],
                        retrans_out: short[7],
                        mss: short[8],
                        ssthresh: short[5] / 2,
                        rtt_slope: *rtt_slope,
                        ..Report::default()
                    };
                    state.push(&report);
                    for (at, (value, (low, high))) in state.values().iter().zip(&bounds).enumerate() {
                        prop_assert!((low..=high).contains(&value), "{observation:?} {at}: {value}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_normalised_observation_lies_between_minus_1_and_1_and_keeps_zeros_and_signs() {
        let mut values = [0.0, 1.0, -1.0, 3.0, 1e6, -1e6];
        normalize(&mut values);
        assert_eq!(values[..4], [0.0, 0.5, -0.5, 0.75]);
        assert!(0.999_998 < values[4] && values[4] < 1.0 && values[5] == -values[4]);
    }

    #[test]
    fn composed_specifications_have_the_bounds_of_their_observation() {
        let composed = AgentSpec::by_name("orca+cwnd_step").unwrap();
        assert_eq!(composed.observation_bounds(), AgentSpec::ORCA.observation_bounds());
    }
}
