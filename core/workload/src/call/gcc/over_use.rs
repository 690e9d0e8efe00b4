//! The over-use detector, with a threshold that adapts (Carlucci et al. §4.2; draft §5.4).

use super::super::ms;
use super::delay_trend::Sample;
use crate::Nanos;

/// The trend counts as often as there are groups, up to this, times the gain (libwebrtc).
const MOST_GROUPS: u32 = 60;
const GAIN: f64 = 4.0;
/// The threshold at the start and its range, in ms (draft §5.4: del_var_th).
const THRESHOLD_MS: f64 = 12.5;
const LEAST_MS: f64 = 6.0;
const MOST_MS: f64 = 600.0;
/// Gains of the threshold per ms, up and down (libwebrtc's k_up and k_down).
const GAIN_UP: f64 = 0.0087;
const GAIN_DOWN: f64 = 0.039;
/// A trend this far above the threshold is a spike, and does not move it (draft §5.4).
const SPIKE_MS: f64 = 15.0;
/// The longest step of the threshold's update.
const LONGEST_STEP_MS: f64 = 100.0;
/// Over-use must last for longer than this (draft §5.4: overuse_time_th).
const OVER_USE_MS: f64 = 10.0;

/// What the detector signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Usage {
    /// Queues drain.
    Under,
    /// Queues stay.
    #[default]
    Normal,
    /// Queues grow.
    Over,
}

/// The detector.
#[derive(Clone, Debug)]
pub struct OverUse {
    usage: Usage,
    threshold_ms: f64,
    updated: Option<Nanos>,
    /// For how long the trend has been above the threshold, if it is, and for how many groups.
    over_ms: Option<f64>,
    over_groups: u32,
    trend: f64,
    modified_trend: f64,
}

impl Default for OverUse {
    fn default() -> Self {
        Self {
            usage: Usage::Normal,
            threshold_ms: THRESHOLD_MS,
            updated: None,
            over_ms: None,
            over_groups: 0,
            trend: 0.0,
            modified_trend: 0.0,
        }
    }
}

impl OverUse {
    /// Take the trend after another group.
    pub fn on_trend(&mut self, sample: &Sample) {
        if sample.groups < 2 {
            return;
        }
        self.modified_trend = f64::from(sample.groups.min(MOST_GROUPS)) * sample.trend * GAIN;
        if self.modified_trend > self.threshold_ms {
            let over_ms =
                self.over_ms.map_or(sample.departed_ms / 2.0, |over_ms| over_ms + sample.departed_ms);
            self.over_ms = Some(over_ms);
            self.over_groups += 1;
            // Draft §5.4: over-use is not signalled while the trend falls.
            if over_ms > OVER_USE_MS && self.over_groups > 1 && sample.trend >= self.trend {
                (self.over_ms, self.over_groups) = (Some(0.0), 0);
                self.usage = Usage::Over;
            }
        } else {
            (self.over_ms, self.over_groups) = (None, 0);
            self.usage = if self.modified_trend < -self.threshold_ms { Usage::Under } else { Usage::Normal };
        }
        self.trend = sample.trend;
        self.adapt(sample.at);
    }

    /// The current signal.
    pub const fn usage(&self) -> Usage {
        self.usage
    }

    /// The trend in units of the threshold.
    pub const fn modified_trend(&self) -> f64 {
        self.modified_trend
    }

    /// The threshold.
    pub const fn threshold_ms(&self) -> f64 {
        self.threshold_ms
    }

    fn adapt(&mut self, now: Nanos) {
        let updated = self.updated.replace(now).unwrap_or(now);
        let distance_ms = self.modified_trend.abs() - self.threshold_ms;
        if distance_ms > SPIKE_MS {
            return;
        }
        let gain = if distance_ms < 0.0 { GAIN_DOWN } else { GAIN_UP };
        let step_ms = ms(now.saturating_sub(updated)).min(LONGEST_STEP_MS);
        self.threshold_ms = (self.threshold_ms + gain * distance_ms * step_ms).clamp(LEAST_MS, MOST_MS);
    }
}
