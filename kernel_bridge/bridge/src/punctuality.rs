//! Measure how late decisions are, and judge whether they make a run invalid.

use leo_link::Histogram;

/// Latencies in µs; quantiles are at most 1/16 too high.
pub type Latency = Histogram<4>;

/// Counts and latencies of a scheme's decisions.
#[derive(Clone, Debug, Default)]
pub struct Punctuality {
    /// Interval ends served.
    pub intervals: u64,
    /// Interval ends skipped because we were late by an interval or more.
    pub missed: u64,
    /// Time from an interval's end until the kernel had its command.
    pub commanded: Latency,
    /// Time from an interval's end until the command took effect on the flow.
    pub applied: Latency,
    /// Commands replaced by the next one before they took effect.
    pub unapplied: u64,
    /// Number of fallbacks to Cubic for lack of commands, of closed flows.
    pub fallbacks: u64,
}

impl Punctuality {
    /// Return why late decisions make a run invalid, if they do: more than 1 % of the intervals were missed,
    /// or 1 % of the decisions came later than a quarter of `interval_us`.
    pub fn too_late(&self, interval_us: u64) -> Option<String> {
        let (p99_us, allowed_us) = (self.commanded.quantile(0.99), interval_us / 4);
        if 100 * self.missed > self.intervals + self.missed {
            return Some(format!(
                "{} of {} intervals were missed: the machine is too slow or too busy",
                self.missed,
                self.intervals + self.missed
            ));
        }
        (p99_us > allowed_us).then(|| {
            format!(
                "1 % of the decisions came {p99_us} us or more after their intervals (limit: {allowed_us} us): the machine is too slow or too busy"
            )
        })
    }
}
