//! Orca's observation: 7 features of each of the last 10 intervals, oldest first.
//!
//! Source: Orca (Abbasloo et al., SIGCOMM 2020), table 1, and its released agent, which also records nothing
//! before CUBIC's first slow start is over.

use super::history::History;
use super::{Bounds, LARGEST, bounded};
use crate::Report;
use crate::report::ratio;

/// Features of one interval.
pub const FEATURES: usize = 7;

/// Intervals in an observation.
pub const HISTORY: usize = 10;

/// Length of an observation.
pub const OBSERVATION_DIM: usize = FEATURES * HISTORY;

/// Version of the definition: a policy only runs on the version it was trained with.
pub const SPEC_VERSION: u32 = 1;

/// Upper limit of feature 1.
const PACING_CLIP: f64 = 10.0;

/// A lost byte counts as five delivered ones.
pub(crate) const LOSS_WEIGHT: f64 = 5.0;

/// RTTs up to this multiple of the smallest RTT cost nothing.
const DELAY_MARGIN: f64 = 1.25;

/// Bounds of the features of an interval; see [`features`].
pub const BOUNDS: [Bounds; FEATURES] =
    [(0.0, 1.0), (0.0, PACING_CLIP), (0.0, LARGEST), (0.0, LARGEST), (0.0, LARGEST), (0.0, 1.0), (0.0, 1.0)];

/// Compute the 7 features of an interval.
///
/// | # | feature | range |
/// |---|---------|-------|
/// | 0 | mean throughput / its running maximum | [0, 1] |
/// | 1 | pacing rate / maximum throughput | [0, 10] |
/// | 2 | 5 × bytes lost per second / maximum throughput | [0, 10,000] |
/// | 3 | RTT samples / window | [0, 10,000] |
/// | 4 | length of the interval, in s | [0, 10,000] |
/// | 5 | minimum RTT / smoothed RTT | [0, 1] |
/// | 6 | the delay metric: 1.25 × minimum RTT / smoothed RTT, at most 1 | [0, 1] |
///
/// A ratio is 0 while its denominator is unknown.
pub fn features(report: &Report) -> [f32; FEATURES] {
    let max_throughput = report.max_throughput as f64;
    let values = [
        ratio(report.avg_throughput as f64, max_throughput),
        ratio(report.sending_rate_bytes_per_s(), max_throughput),
        ratio(LOSS_WEIGHT * report.loss_rate_bytes_per_s(), max_throughput),
        ratio(f64::from(report.rtt_samples), f64::from(report.cwnd)),
        report.interval_ns as f64 / 1e9,
        ratio(f64::from(report.min_rtt_us), f64::from(report.srtt_us)),
        delay_metric(report),
    ];
    bounded(values, &BOUNDS)
}

/// `min(1, 1.25 · min RTT / smoothed RTT)`; 0 before the first sample.
pub(crate) fn delay_metric(report: &Report) -> f64 {
    ratio(DELAY_MARGIN * f64::from(report.min_rtt_us), f64::from(report.srtt_us)).min(1.0)
}

/// The observation of one flow: zeros until slow start is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    history: History<FEATURES, HISTORY>,
    slow_start_over: bool,
}

impl Default for Observation {
    fn default() -> Self {
        Self { history: History::of([0.0; FEATURES]), slow_start_over: false }
    }
}

impl Observation {
    /// Add a report. As in the released server, slow start ends once the threshold is below the window.
    pub fn push(&mut self, report: &Report) {
        self.slow_start_over |= report.ssthresh < report.cwnd;
        if self.slow_start_over {
            self.history.push(features(report));
        }
    }

    /// The observation, oldest interval first.
    pub fn values(&self) -> &[f32] {
        self.history.values()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn steady() -> Report {
        Report {
            interval_ns: 20_000_000,
            lost_bytes: 1_000,
            avg_throughput: 10_000_000,
            max_throughput: 12_500_000,
            rtt_samples: 50,
            min_rtt_us: 30_000,
            srtt_us: 50_000,
            cwnd: 250,
            ssthresh: 200,
            pacing_rate: 15_000_000,
            ..Report::default()
        }
    }

    #[test]
    fn each_feature_is_what_its_row_says() {
        // 1,000 B lost in 20 ms are 50 kB/s.
        assert_eq!(features(&steady()), [0.8, 1.2, 0.02, 0.2, 0.02, 0.6, 0.75]);
    }

    #[test]
    fn a_quarter_of_the_smallest_rtt_of_queue_is_free() {
        let at = |srtt_us| delay_metric(&Report { srtt_us, ..steady() });
        assert_eq!([at(30_000), at(37_500), at(75_000), at(0)], [1.0, 1.0, 0.5, 0.0]);
    }

    #[test]
    fn the_pacing_ratio_is_clipped_at_10() {
        assert_eq!(features(&Report { pacing_rate: 1 << 40, ..steady() })[1], 10.0);
    }

    #[test]
    fn nothing_is_recorded_before_slow_start_is_over_and_then_everything_is() {
        let mut observation = Observation::default();
        observation.push(&Report { ssthresh: u32::MAX, ..steady() });
        assert!(observation.values().iter().all(|value| *value == 0.0));
        observation.push(&steady());
        assert_eq!(observation.values()[OBSERVATION_DIM - FEATURES..], features(&steady()));
        assert_eq!(observation.values()[OBSERVATION_DIM - 2 * FEATURES..][0], 0.0);
        // A timeout brings the window below the threshold again.
        observation.push(&Report { cwnd: 1, ..steady() });
        assert_eq!(observation.values()[OBSERVATION_DIM - 2 * FEATURES..][..FEATURES], features(&steady()));
    }

    proptest! {
        #[test]
        fn every_report_has_finite_features(
            rates in any::<[u64; 4]>(),
            numbers in any::<[u32; 6]>(),
        ) {
            let report = Report {
                interval_ns: rates[0],
                lost_bytes: rates[1],
                avg_throughput: rates[2],
                max_throughput: rates[2],
                pacing_rate: rates[3],
                rtt_samples: numbers[0],
                min_rtt_us: numbers[1],
                srtt_us: numbers[2],
                cwnd: numbers[3],
                packets_out: numbers[4],
                mss: numbers[5],
                ..Report::default()
            };
            prop_assert!(features(&report).iter().all(|feature| feature.is_finite() && *feature >= 0.0));
        }
    }
}
