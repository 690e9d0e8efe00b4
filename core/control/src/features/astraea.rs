//! Astraea's observation: 10 features of each of the last 5 intervals, oldest first.
//!
//! Source: Astraea (EuroSys 2024) and its released Python client. The released C++ client has two bugs, fixed
//! here: feature 0 is `avg_thr / avg_thr` (always 1), and feature 9 divides by `packets_out`, not by `cwnd`.

use super::history::History;
use super::{Bounds, LARGEST, bounded};
use crate::Report;
use crate::report::ratio;

/// Features of one interval.
pub const FEATURES: usize = 10;

/// Intervals in an observation.
pub const HISTORY: usize = 5;

/// Length of an observation.
pub const OBSERVATION_DIM: usize = FEATURES * HISTORY;

/// Version of the definition: a policy only runs on the version it was trained with.
pub const SPEC_VERSION: u32 = 1;

/// Payload of a packet in feature 3, in bytes: fixed by the definition, with any MSS of the connection.
const PACKET_BYTES: f64 = 1_460.0;

/// Upper limit of ratios of rates or delays.
const CLIP: f64 = 2.0;

/// Bounds of the features of an interval; see [`features`].
pub const BOUNDS: [Bounds; FEATURES] = [
    (0.0, 1.0),
    (0.0, CLIP),
    (0.0, CLIP),
    (0.0, CLIP),
    (0.0, LARGEST),
    (0.0, LARGEST),
    (0.0, LARGEST),
    (0.0, LARGEST),
    (0.0, CLIP),
    (0.0, LARGEST),
];

/// Compute the 10 features of an interval.
///
/// | # | feature | range |
/// |---|---------|-------|
/// | 0 | mean throughput / its running maximum; 0.5 without a delivery | [0, 1] |
/// | 1 | mean RTT / minimum RTT; 2 without a sample | [0, 2] |
/// | 2 | smoothed RTT / minimum RTT | [0, 2] |
/// | 3 | window × 1,460 B × 8 / minimum RTT / maximum throughput / 10: 0.8 × window in BDPs of the bytes/s maximum | [0, 2] |
/// | 4 | maximum throughput / 10 MB/s | [0, 10,000] |
/// | 5 | minimum RTT / 500 ms | [0, 10,000] |
/// | 6 | bytes lost per second / maximum throughput | [0, 10,000] |
/// | 7 | packets out / window | [0, 10,000] |
/// | 8 | pacing rate / maximum throughput | [0, 2] |
/// | 9 | retransmitted packets out / window | [0, 10,000] |
///
/// A ratio is 0 while its denominator is unknown (no delivery, no RTT sample). Feature 3 mixes bits and bytes
/// like the original, because policies were trained with it.
pub fn features(report: &Report) -> [f32; FEATURES] {
    let throughput = report.avg_throughput as f64;
    let max_throughput = report.max_throughput as f64;
    let min_rtt_us = f64::from(report.min_rtt_us);
    let cwnd = f64::from(report.cwnd);
    let window_bits_per_s = ratio(cwnd * PACKET_BYTES * 8.0, min_rtt_us / 1e6);
    let values = [
        if report.avg_throughput == 0 { 0.5 } else { ratio(throughput, max_throughput) },
        if report.avg_rtt_us == 0 { CLIP } else { ratio(f64::from(report.avg_rtt_us), min_rtt_us) },
        ratio(f64::from(report.srtt_us), min_rtt_us),
        ratio(window_bits_per_s, max_throughput) / 10.0,
        max_throughput / 1e7,
        min_rtt_us / 5e5,
        ratio(report.loss_rate_bytes_per_s(), max_throughput),
        ratio(f64::from(report.packets_out), cwnd),
        ratio(report.pacing_rate as f64, max_throughput),
        ratio(f64::from(report.retrans_out), cwnd),
    ];
    bounded(values, &BOUNDS)
}

/// The observation of one flow: the last [`HISTORY`] intervals, zeros before the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation(History<FEATURES, HISTORY>);

impl Default for Observation {
    fn default() -> Self {
        Self(History::of([0.0; FEATURES]))
    }
}

impl Observation {
    /// Append the features of an interval and drop the oldest.
    pub fn push(&mut self, report: &Report) {
        self.0.push(features(report));
    }

    /// The observation, oldest interval first.
    pub fn values(&self) -> &[f32] {
        self.0.values()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 100 Mbit/s, 30 ms, a BDP of packets and a queue of 6 ms: easy to check by hand.
    fn steady() -> Report {
        Report {
            interval_ns: 30_000_000,
            lost_bytes: 1_500,
            avg_throughput: 10_000_000,
            max_throughput: 12_500_000,
            avg_rtt_us: 36_000,
            rtt_samples: 250,
            min_rtt_us: 30_000,
            srtt_us: 33_000,
            cwnd: 250,
            packets_out: 200,
            retrans_out: 5,
            mss: 1_448,
            pacing_rate: 11_000_000,
            ..Report::default()
        }
    }

    #[test]
    fn the_features_are_those_of_the_python_definition() {
        let expected = [
            10.0 / 12.5,                                  // 0
            1.2,                                          // 1
            1.1,                                          // 2
            250.0 * 1_460.0 * 8.0 / 0.03 / 12.5e6 / 10.0, // 3: 0.778…
            1.25,                                         // 4
            0.06,                                         // 5
            0.004,                                        // 6: 1,500 B / 30 ms = 50 kB/s of 12.5 MB/s
            0.8,                                          // 7
            0.88,                                         // 8
            0.02,                                         // 9: 5 of the window of 250, not of 200 packets out
        ];
        for (i, (got, want)) in features(&steady()).into_iter().zip(expected).enumerate() {
            assert!((f64::from(got) - want).abs() < 1e-6, "feature {i}: {got} is not {want}");
        }
    }

    #[test]
    fn an_interval_without_a_delivery_or_sample_has_the_stated_defaults() {
        let silent = features(&Report { avg_throughput: 0, avg_rtt_us: 0, ..steady() });
        assert_eq!((silent[0], silent[1]), (0.5, 2.0));
        let first = features(&Report { cwnd: 10, packets_out: 10, ..Report::default() });
        assert_eq!(first, [0.5, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn delays_windows_and_pacing_are_clipped_at_two() {
        let bloated = features(&Report {
            avg_rtt_us: 300_000,
            srtt_us: 300_000,
            cwnd: 5_000,
            pacing_rate: 90_000_000,
            ..steady()
        });
        assert_eq!([bloated[1], bloated[2], bloated[3], bloated[8]], [2.0; 4]);
    }

    #[test]
    fn the_history_starts_with_zeros_and_ends_with_the_newest_interval() {
        let mut observation = Observation::default();
        observation.push(&steady());
        assert_eq!(observation.values()[..40], [0.0; 40]);
        assert_eq!(observation.values()[40..], features(&steady()));
        let later = Report { avg_rtt_us: 45_000, ..steady() };
        for _ in 0..4 {
            observation.push(&later);
        }
        assert_eq!(observation.values()[..10], features(&steady()));
        assert_eq!(observation.values()[10..20], features(&later));
        observation.push(&later);
        assert_eq!(observation.values()[..10], features(&later));
    }

    proptest! {
        #[test]
        fn every_report_gives_finite_features(
            rates in any::<[u64; 4]>(),
            times in any::<[u32; 3]>(),
            packets in any::<[u32; 3]>(),
            interval_ns in any::<u64>(),
        ) {
            let report = Report {
                interval_ns,
                lost_bytes: rates[0],
                avg_throughput: rates[1],
                max_throughput: rates[2],
                pacing_rate: rates[3],
                avg_rtt_us: times[0],
                min_rtt_us: times[1],
                srtt_us: times[2],
                cwnd: packets[0],
                packets_out: packets[1],
                retrans_out: packets[2],
                ..Report::default()
            };
            prop_assert!(features(&report).iter().all(|feature| feature.is_finite() && *feature >= 0.0));
        }
    }
}
