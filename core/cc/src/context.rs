//! The announcements that a scheme gets from its path in advance.

use std::sync::Arc;

use crate::Nanos;

/// An announced handover, in the flow's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Predicted start. Predictions may be wrong.
    pub expected_at: Nanos,
}

/// Window and RTT of an earlier connection over the same path (RFC 9959: saved_cwnd and saved_rtt).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// Packets sent over an RTT.
    pub window: u32,
    /// The smallest RTT.
    pub rtt: Nanos,
}

/// The inputs of a new scheme. Only path traces announce handovers.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The path's handovers, sorted by time.
    pub handovers: Arc<[Handover]>,
    /// First reconfiguration of the path and period: Starlink's 15 s grid.
    pub reconfiguration: Option<(Nanos, Nanos)>,
    /// Parameters of an earlier connection, if there was one.
    pub saved: Option<Saved>,
    /// Seed of the scheme's random numbers.
    pub seed: u64,
}

/// Return the last reconfiguration of the grid `(first, period)` at or before `until`, if there is one since the run began.
pub const fn last_reconfiguration((first, period): (Nanos, Nanos), until: Nanos) -> Option<Nanos> {
    let period = if period == 0 { 1 } else { period };
    let phase = first % period;
    if until < phase { None } else { Some(until - (until - phase) % period) }
}

/// Return the first reconfiguration of the grid `(first, period)` at or after `from`.
pub const fn next_reconfiguration((first, period): (Nanos, Nanos), from: Nanos) -> Nanos {
    let period = if period == 0 { 1 } else { period };
    let phase = first % period;
    phase.saturating_add(from.saturating_sub(phase).div_ceil(period).saturating_mul(period))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_reconfiguration_is_the_latest_that_a_walk_over_the_grid_meets() {
        for (first, period) in [(0, 7), (3, 7), (17, 7), (5, 1)] {
            for until in 0..60 {
                let met = (0..=until).filter(|at| next_reconfiguration((first, period), *at) == *at).max();
                assert_eq!(last_reconfiguration((first, period), until), met, "{first} {period} {until}");
            }
        }
    }
}
