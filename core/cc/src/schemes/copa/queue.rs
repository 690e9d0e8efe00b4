//! What Copa knows of the queue: its delay, and whether flows that fill buffers keep it from emptying.

use crate::Nanos;
use crate::parts::windowed_max::WindowedMax;
use crate::parts::windowed_min::WindowedMin;

/// §2: RTTmin is of the last 10 s, so that it follows changes of the route.
const MIN_RTT_WINDOW: Nanos = 10_000_000_000;
/// §2.2: RTTmax is of the past four round trips.
const MAX_RTT_ROUNDS: Nanos = 4;
/// §2.2: Copa flows among themselves empty the queue once in so many round trips.
const EMPTY_WITHIN_ROUNDS: Nanos = 5;
/// §2.2: the queue is nearly empty below this share of the short-term variation.
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
        // §2: RTTstanding is the smallest RTT over srtt/2, which takes out what compressed acknowledgements add.
        self.standing.update(srtt / 2, now, rtt);
        self.max.update(srtt.saturating_mul(MAX_RTT_ROUNDS), now, rtt);
        // §2.2: dq < 0.1 (RTTmax - RTTmin); where nothing varies it is empty.
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

    /// §2.2: the queue has not been nearly empty for five round trips: others fill it.
    pub const fn has_competitors(&self, now: Nanos) -> bool {
        now.saturating_sub(self.empty_at) > self.srtt.saturating_mul(EMPTY_WITHIN_ROUNDS)
    }
}
