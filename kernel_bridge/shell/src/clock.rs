//! The machine's clock, in the nanoseconds that the link counts.

use leo_link::Nanos;
use nix::time::{ClockId, clock_gettime};

/// Time since the shell's link began. Never goes back.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    zero: Nanos,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { zero: read(ClockId::CLOCK_MONOTONIC) }
    }

    /// Nanoseconds since it started.
    #[inline]
    pub fn now(&self) -> Nanos {
        read(ClockId::CLOCK_MONOTONIC) - self.zero
    }

    /// When it started, on the machine's monotonic clock.
    pub const fn zero_monotonic(&self) -> Nanos {
        self.zero
    }
}

/// Nanoseconds since 1970.
pub fn unix_time() -> Nanos {
    read(ClockId::CLOCK_REALTIME)
}

fn read(clock: ClockId) -> Nanos {
    // Both clocks exist on every Linux, and neither is before its zero.
    clock_gettime(clock).map_or(0, |time| time.tv_sec() as Nanos * 1_000_000_000 + time.tv_nsec() as Nanos)
}
