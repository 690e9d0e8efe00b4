//! Orbit's observation: features of the estimated path, free of scale.

use super::{Bounds, bounded};
use crate::Report;
use crate::orbit::PathEstimate;
use crate::report::ratio;

/// Length of an observation.
pub const OBSERVATION_DIM: usize = 24;

/// Version of the definition: a policy only runs on the version it was trained with.
pub const SPEC_VERSION: u32 = 2;

/// Bounds of the features; see [`Observation::push`].
pub const BOUNDS: [Bounds; OBSERVATION_DIM] = [
    (0.0, 4.0),
    (-1.0, 1.0),
    (0.0, 4.0),
    (0.0, 4.0),
    (0.0, 1.0),
    (0.0, 1.0),
    (0.0, 4.0),
    (0.0, 1.0),
    (-4.0, 4.0),
    (-4.0, 4.0),
    (0.0, 4.0),
    (0.0, 4.0),
    (0.0, 4.0),
    (0.0, 4.0),
    (0.0, 4.0),
    (0.0, 4.0),
    (0.0, 4.0),
    (0.0, 4.0),
    (-1.0, 2.0),
    (-1.0, 1.0),
    (0.0, 1.0),
    (0.0, 4.0),
    (0.0, 4.0),
    (-4.0, 4.0),
];

/// The observation of one flow: zeros before the first report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    path: PathEstimate,
    begun_s: Option<f64>,
    lossless_s: f64,
    values: [f32; OBSERVATION_DIM],
}

impl Observation {
    /// Add the report of the interval that just ended.
    ///
    /// | # | feature | range |
    /// |---|---------|-------|
    /// | 0 | queueing delay / base RTT | [0, 4] |
    /// | 1 | growth of the RTT, in s/s | [-1, 1] |
    /// | 2 | delivery rate / sending rate an RTT ago | [0, 4] |
    /// | 3 | delivery rate of the last 50 ms / mean of the samples | [0, 4] |
    /// | 4 | share of bytes lost, over an RTT | [0, 1] |
    /// | 5 | share of bytes lost, over 2 s | [0, 1] |
    /// | 6 | bytes in flight / (delivery rate × base RTT) | [0, 4] |
    /// | 7 | time without a delivery, in s | [0, 1] |
    /// | 8 | log10 of the delivery rate over 12.5 MB/s | [-4, 4] |
    /// | 9 | log10 of the base RTT over 50 ms | [-4, 4] |
    /// | 10 | spread of the RTT between intervals, in ms | [0, 4] |
    /// | 11 | queueing delay, in units of 10 ms | [0, 4] |
    /// | 12 | delivery rate of the last s / highest delivery rate | [0, 4] |
    /// | 13 | sending rate / highest delivery rate | [0, 4] |
    /// | 14 | bytes delivered in an RTT / bytes sent in the RTT before | [0, 4] |
    /// | 15 | smallest queueing delay of the last s / base RTT | [0, 4] |
    /// | 16 | smallest queueing delay of the last s, in units of 10 ms | [0, 4] |
    /// | 17 | largest queueing delay of the last s / base RTT | [0, 4] |
    /// | 18 | slope of the delivery rate over the sending rate of an RTT ago, over 2 s | [-1, 2] |
    /// | 19 | correlation of the two | [-1, 1] |
    /// | 20 | standard deviation of the sending rate over its mean, over 2 s | [0, 1] |
    /// | 21 | time since the last loss, in s | [0, 4] |
    /// | 22 | log10 of 1 + time since the first report, in s | [0, 4] |
    /// | 23 | log10 of the rate that the first packets' spacing shows over 12.5 MB/s | [-4, 4] |
    pub fn push(&mut self, report: &Report) {
        let path = &mut self.path;
        path.observe(report);
        // Only the latest interval, because the controller's estimate may average several.
        let (rtt_s, base_s) = (path.latest_rtt_s(), path.latest_base_s());
        let queue_s = (rtt_s - base_s).max(0.0);
        let log10 = |value: f64| if value > 0.0 { libm::log10(value) } else { 0.0 };
        self.lossless_s = if report.lost_bytes > 0 { 0.0 } else { self.lossless_s + path.dt_s };
        let begun_s = *self.begun_s.get_or_insert(path.time_s);
        let (least_s, most_s) = path.queue_range_s(1.0);
        let response = path.response();
        let values = [
            ratio(queue_s, base_s),
            path.slope,
            ratio(path.delivery, path.answered_rate()),
            ratio(path.delivered_over(0.05), path.delivery),
            path.loss_over(rtt_s),
            path.loss_over(2.0),
            ratio(path.inflight, path.delivery * base_s),
            path.silent_s,
            log10(path.delivery / 12.5e6),
            log10(base_s / 0.05),
            path.noise_s * 1e3,
            queue_s / 0.01,
            ratio(path.delivered_over(1.0), path.peak_rate),
            ratio(report.pacing_rate as f64, path.peak_rate),
            path.answered_share(rtt_s.max(3.0 * path.dt_s)),
            ratio(least_s, base_s),
            least_s / 0.01,
            ratio(most_s, base_s),
            response.slope,
            response.correlation,
            response.variation,
            self.lossless_s,
            libm::log10(1.0 + path.time_s - begun_s),
            log10(path.burst_rate / 12.5e6),
        ];
        self.values = bounded(values, &BOUNDS);
    }

    /// The observation.
    pub const fn values(&self) -> &[f32; OBSERVATION_DIM] {
        &self.values
    }
}
