//! The arrival-time filter: packets in groups, the variation of their delays, and its trend.

use super::super::ms;
use crate::Nanos;

/// Packets that leave within this time of a group's first belong to it (draft §5.2: burst_time).
const BURST: Nanos = 5_000_000;
/// A group that arrives as a burst spans at most this.
const LONGEST_BURST: Nanos = 100_000_000;
/// Groups that the trend line spans.
const WINDOW: usize = 20;
/// Weight of the past in the smoothed delay.
const SMOOTHING: f64 = 0.9;
/// Beyond this number of groups the count stays.
const MOST_COUNTED: u32 = 1_000;

/// The trend after another group.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// ms of delay per ms.
    pub trend: f64,
    /// Groups so far.
    pub groups: u32,
    /// Time between the last two groups' departures, in ms.
    pub departed_ms: f64,
    /// When the last group arrived.
    pub at: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first_left: Nanos,
    left: Nanos,
    first_arrived: Nanos,
    arrived: Nanos,
}

/// The filter.
#[derive(Clone, Debug, Default)]
pub struct DelayTrend {
    group: Option<Group>,
    /// The group before: its last departure and arrival.
    before: Option<(Nanos, Nanos)>,
    groups: u32,
    first_arrived: Nanos,
    delay_ms: f64,
    smoothed_ms: f64,
    /// Arrival and smoothed delay of the last groups, in ms.
    points: [(f64, f64); WINDOW],
    points_count: usize,
    trend: f64,
}

impl DelayTrend {
    /// Take a packet; return the trend if it is the first of a new group.
    pub fn on_arrival(&mut self, left: Nanos, arrived: Nanos) -> Option<Sample> {
        let Some(group) = &mut self.group else {
            self.first_arrived = arrived;
            self.group = Some(Group { first_left: left, left, first_arrived: arrived, arrived });
            return None;
        };
        if left < group.first_left {
            return None;
        }
        if left - group.first_left <= BURST || arrives_in_burst(group, left, arrived) {
            group.left = group.left.max(left);
            group.arrived = arrived;
            return None;
        }
        let complete = *group;
        *group = Group { first_left: left, left, first_arrived: arrived, arrived };
        let before = self.before.replace((complete.left, complete.arrived));
        let (left_before, arrived_before) = before?;
        let departed_ms = ms(complete.left) - ms(left_before);
        // Draft §5.1: d(i) = t(i) - t(i-1) - (T(i) - T(i-1)).
        let variation_ms = ms(complete.arrived) - ms(arrived_before) - departed_ms;
        self.groups = (self.groups + 1).min(MOST_COUNTED);
        self.delay_ms += variation_ms;
        self.smoothed_ms = SMOOTHING * self.smoothed_ms + (1.0 - SMOOTHING) * self.delay_ms;
        self.points.rotate_left(1);
        self.points[WINDOW - 1] = (ms(complete.arrived - self.first_arrived), self.smoothed_ms);
        self.points_count = (self.points_count + 1).min(WINDOW);
        if self.points_count == WINDOW {
            self.trend = slope(&self.points).unwrap_or(self.trend);
        }
        Some(Sample { trend: self.trend, groups: self.groups, departed_ms, at: complete.arrived })
    }
}

/// Whether a packet arrives with its group although it left later: a queue held both (draft §5.2).
fn arrives_in_burst(group: &Group, left: Nanos, arrived: Nanos) -> bool {
    let gap = arrived.saturating_sub(group.arrived);
    gap <= BURST && gap < left.saturating_sub(group.left) && arrived - group.first_arrived < LONGEST_BURST
}

/// Return the slope of the least-squares line; `None` if all points have one time.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean_time = points.iter().map(|(time, _)| time).sum::<f64>() / count;
    let mean_delay = points.iter().map(|(_, delay)| delay).sum::<f64>() / count;
    let product: f64 = points.iter().map(|(time, delay)| (time - mean_time) * (delay - mean_delay)).sum();
    let square: f64 = points.iter().map(|(time, _)| (time - mean_time) * (time - mean_time)).sum();
    (square > 0.0).then(|| product / square)
}
