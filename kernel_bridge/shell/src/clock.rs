//! The machine's clock in nanoseconds.

use leo_link::Nanos;
use nix::time::{ClockId, clock_gettime};

/// Monotonic time since the shell's link started.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    zero: Nanos,
}

impl Clock {
    pub fn start() -> Self {
        Self { zero: read(ClockId::CLOCK_MONOTONIC) }
    }

    pub fn now(&self) -> Nanos {
        read(ClockId::CLOCK_MONOTONIC) - self.zero
    }

    /// Return its start on the machine's monotonic clock.
    pub const fn zero_monotonic(&self) -> Nanos {
        self.zero
    }
}

/// Return nanoseconds since 1970.
pub fn unix_time() -> Nanos {
    read(ClockId::CLOCK_REALTIME)
}

fn read(clock: ClockId) -> Nanos {
    // Both clocks exist on every Linux, and neither is negative.
    clock_gettime(clock).map_or(0, |time| time.tv_sec() as Nanos * 1_000_000_000 + time.tv_nsec() as Nanos)
}
