//! Aurora's observation: 3 features of each of the last 10 intervals, oldest first.
//!
//! Source: Aurora (Jay et al., ICML 2019), with a history of k = 10 intervals, and its released simulator.

use super::history::History;
use super::{Bounds, bounded};
use crate::Report;
use crate::report::ratio;

/// Features of one interval.
pub const FEATURES: usize = 3;

/// Intervals in an observation.
pub const HISTORY: usize = 10;

/// Length of an observation.
pub const OBSERVATION_DIM: usize = FEATURES * HISTORY;

/// Version of the definition: a policy only runs on the version it was trained with.
pub const SPEC_VERSION: u32 = 1;

/// Bounds in the released simulator's observation space.
pub const BOUNDS: [Bounds; FEATURES] = [(-1.0, 10.0), (0.0, 10_000.0), (0.0, 1_000.0)];

/// Features of an interval without a packet.
const EMPTY: [f32; FEATURES] = [0.0, 1.0, 1.0];

/// Compute the 3 features of an interval.
///
/// | # | feature | range |
/// |---|---------|-------|
/// | 0 | sent latency inflation: (mean RTT of the later half of the samples - of the earlier half) / interval | [-1, 10] |
/// | 1 | latency ratio: mean RTT / smallest mean RTT of any interval; 0 without a sample, 1 before the first | [0, 10,000] |
/// | 2 | send ratio: bytes sent / bytes delivered; 1 without a delivery, or beyond 1,000 | [0, 1,000] |
///
/// Feature 0 is half the slope of the least-squares line through the samples, because the live kernel keeps
/// sums, not samples. Both are equal when the RTT changes evenly.
fn features(report: &Report, smallest_avg_rtt_us: u32) -> [f32; FEATURES] {
    let latency_ratio = if smallest_avg_rtt_us == 0 {
        1.0
    } else {
        f64::from(report.avg_rtt_us) / f64::from(smallest_avg_rtt_us)
    };
    let send_ratio = ratio(report.sent_bytes as f64, report.delivered_bytes as f64);
    let send_ratio = if report.delivered_bytes == 0 || send_ratio >= 1_000.0 { 1.0 } else { send_ratio };
    let values = [report.rtt_slope / 2.0, latency_ratio, send_ratio];
    bounded(values, &BOUNDS)
}

/// The observation of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    history: History<FEATURES, HISTORY>,
    /// Smallest mean RTT of an interval, not of single samples; 0 before the first.
    smallest_avg_rtt_us: u32,
}

impl Default for Observation {
    fn default() -> Self {
        Self { history: History::of(EMPTY), smallest_avg_rtt_us: 0 }
    }
}

impl Observation {
    /// Add the report of the interval that just ended.
    pub fn push(&mut self, report: &Report) {
        if report.avg_rtt_us > 0
            && (self.smallest_avg_rtt_us == 0 || report.avg_rtt_us < self.smallest_avg_rtt_us)
        {
            self.smallest_avg_rtt_us = report.avg_rtt_us;
        }
        self.history.push(features(report, self.smallest_avg_rtt_us));
    }

    /// The observation, oldest interval first.
    pub fn values(&self) -> &[f32] {
        self.history.values()
    }

    /// Length of the next interval in ns: half the mean RTT (released simulator); `None` without a sample.
    pub fn interval_ns(report: &Report) -> Option<u64> {
        (report.avg_rtt_us > 0).then(|| u64::from(report.avg_rtt_us) * 1_000 / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newest(observation: &Observation) -> [f32; FEATURES] {
        std::array::from_fn(|i| observation.values()[OBSERVATION_DIM - FEATURES + i])
    }

    #[test]
    fn each_feature_is_what_its_row_says() {
        let mut observation = Observation::default();
        observation.push(&Report { avg_rtt_us: 100_000, ..Report::default() });
        let report = Report {
            avg_rtt_us: 150_000,
            min_rtt_us: 50_000,
            sent_bytes: 12_000,
            delivered_bytes: 10_000,
            rtt_slope: 0.5,
            ..Report::default()
        };
        observation.push(&report);
        // The smallest mean counts, not the smallest sample.
        assert_eq!(newest(&observation), [0.25, 1.5, 1.2]);
    }

    #[test]
    fn the_gradient_is_the_difference_of_halves_where_the_rtt_moves_evenly() {
        // 10 samples, 10 ms apart, each 2 ms longer: the halves differ by 5 × 2 ms, the interval is 100 ms.
        let mut observation = Observation::default();
        observation.push(&Report { rtt_slope: 0.2, avg_rtt_us: 1, ..Report::default() });
        assert!((newest(&observation)[0] - 0.010 / 0.100).abs() < 1e-6);
    }

    #[test]
    fn an_interval_without_packets_has_no_gradient_and_a_send_ratio_of_1() {
        let mut observation = Observation::default();
        assert_eq!(observation.values(), [EMPTY; HISTORY].as_flattened());
        observation.push(&Report { sent_bytes: 9_000, ..Report::default() });
        assert_eq!(newest(&observation), EMPTY);
        observation.push(&Report { avg_rtt_us: 80_000, ..Report::default() });
        observation.push(&Report::default());
        assert_eq!(newest(&observation), [0.0, 0.0, 1.0]);
    }

    #[test]
    fn an_interval_is_half_the_mean_rtt() {
        let report = Report { avg_rtt_us: 90_000, ..Report::default() };
        assert_eq!(Observation::interval_ns(&report), Some(45_000_000));
        assert_eq!(Observation::interval_ns(&Report::default()), None);
    }

    #[test]
    fn features_stay_within_the_published_bounds() {
        let mut observation = Observation::default();
        observation.push(&Report { avg_rtt_us: 1, ..Report::default() });
        let wild = Report {
            avg_rtt_us: u32::MAX,
            sent_bytes: 999_999,
            delivered_bytes: 1_000,
            rtt_slope: -8.0,
            ..Report::default()
        };
        observation.push(&wild);
        assert_eq!(newest(&observation), [-1.0, 10_000.0, 999.999]);
        observation.push(&Report { sent_bytes: 1_000_000, rtt_slope: 88.0, ..wild });
        assert_eq!(newest(&observation), [10.0, 10_000.0, 1.0]);
    }
}
