//! Copa's view of the queue: its delay, and whether buffer-filling flows keep it from emptying.

use crate::Nanos;
use crate::parts::windowed_max::WindowedMax;
use crate::parts::windowed_min::WindowedMin;

/// §2: RTTmin covers the last 10 s, to follow changes of the route.
const MIN_RTT_WINDOW: Nanos = 10_000_000_000;
/// §2.2: RTTmax covers the last four round trips.
const MAX_RTT_ROUNDS: Nanos = 4;
/// §2.2: with only Copa flows, the queue empties at least once in this many round trips.
const EMPTY_WITHIN_ROUNDS: Nanos = 5;
/// §2.2: below this share of the short-term variation the queue is nearly empty.
const NEARLY_EMPTY: f64 = 0.1;

/// Delays in nanoseconds.
#[derive(Clone, Debug)]
pub struct Queue {
    min: WindowedMin,
    standing: WindowedMin,
    max: WindowedMax,
    srtt: Nanos,
    /// When the queue was last seen nearly empty.
    empty_at: Nanos,
}

impl Queue {
    pub const fn new() -> Self {
        Self {
            min: WindowedMin::new(),
            standing: WindowedMin::new(),
            max: WindowedMax::above(0.0),
            srtt: 0,
            empty_at: 0,
        }
    }

    /// Take an RTT sample.
    pub fn observe(&mut self, now: Nanos, rtt: Nanos, srtt: Nanos) {
        let rtt = rtt.max(1) as f64;
        self.srtt = srtt;
        self.min.update(MIN_RTT_WINDOW, now, rtt);
        // §2: RTTstanding is the smallest RTT over srtt/2, to remove the effect of compressed ACKs.
        self.standing.update(srtt / 2, now, rtt);
        self.max.update(srtt.saturating_mul(MAX_RTT_ROUNDS), now, rtt);
        // §2.2: dq < 0.1 (RTTmax - RTTmin); ≤, so a constant RTT counts as empty.
        if self.delay() <= NEARLY_EMPTY * (self.max.get() - self.min.get()) {
            self.empty_at = now;
        }
    }

    /// Whether there has been a sample.
    pub const fn is_known(&self) -> bool {
        self.standing.get() < f64::INFINITY
    }

    /// RTTstanding.
    pub const fn standing(&self) -> f64 {
        self.standing.get()
    }

    /// dq = RTTstanding - RTTmin.
    pub const fn delay(&self) -> f64 {
        (self.standing.get() - self.min.get()).max(0.0)
    }

    /// §2.2: other flows fill the queue if it has not been nearly empty for five round trips.
    pub const fn has_competitors(&self, now: Nanos) -> bool {
        now.saturating_sub(self.empty_at) > self.srtt.saturating_mul(EMPTY_WITHIN_ROUNDS)
    }
}
