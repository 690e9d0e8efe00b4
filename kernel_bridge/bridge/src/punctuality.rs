//! How late decisions came, and whether what was measured meanwhile counts.

use crate::latency::Latency;

/// How well the deadlines were kept.
#[derive(Clone, Debug, Default)]
pub struct Punctuality {
    /// Interval ends served.
    pub intervals: u64,
    /// Interval ends skipped because we were late by a whole interval or more.
    pub missed: u64,
    /// From an interval's end until its command was in the kernel's hands.
    pub commanded: Latency,
    /// From an interval's end until the command took effect on the flow.
    pub applied: Latency,
    /// Commands that the next one overtook before the connection did anything.
    pub unapplied: u64,
    /// Times that flows fell back, of flows that closed.
    pub fallbacks: u64,
}

impl Punctuality {
    /// Why what was measured meanwhile does not count, where decisions every `interval_us` came too late: more than
    /// one in a hundred not at all, or a quarter of an interval after its end.
    #[must_use]
    pub fn too_late(&self, interval_us: u64) -> Option<String> {
        let (p99_us, allowed_us) = (self.commanded.quantile_us(0.99), interval_us / 4);
        if 100 * self.missed > self.intervals + self.missed {
            return Some(format!(
                "{} of {} intervals ended unnoticed: the machine is too slow or too busy",
                self.missed,
                self.intervals + self.missed
            ));
        }
        (p99_us > allowed_us).then(|| {
            format!(
                "1 % of the decisions came {p99_us} us or more after their intervals, and {allowed_us} us are tolerable: the machine is too slow or too busy"
            )
        })
    }
}
