//! Simulated time as quinn-proto's instants.

#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "quinn-proto's times are instants")]

use std::time::{Duration, Instant};

use leo_transport::Nanos;

/// Converts between simulated time and instants. The base cancels: only differences reach quinn-proto's results.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Return a clock whose time 0 is any instant.
    pub fn new() -> Self {
        Self(Instant::now())
    }

    /// Return the instant of a simulated time.
    pub fn instant(self, now: Nanos) -> Instant {
        self.0 + Duration::from_nanos(now)
    }

    /// Return the simulated time of an instant.
    pub fn nanos(self, instant: Instant) -> Nanos {
        (instant - self.0).as_nanos() as Nanos
    }
}
