//! What a scheme may know of its path beforehand.

use std::sync::Arc;

use crate::Nanos;

/// A handover that the path announces, in the flow's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handover {
    /// When it is expected to begin; predictions err.
    pub expected_at: Nanos,
}

/// What a scheme is given when its flow is made. Without a path trace there are no handovers to know of.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The path's handovers in the order of their times.
    pub handovers: Arc<[Handover]>,
    /// When the path is reconfigured for the first time, and how often: Starlink's 15 s grid.
    pub reconfiguration: Option<(Nanos, Nanos)>,
    /// Seed of what is random in the scheme.
    pub seed: u64,
}

/// The first reconfiguration of the grid `(first, period)` at `from` or later.
pub const fn next_reconfiguration((first, period): (Nanos, Nanos), from: Nanos) -> Nanos {
    let period = if period == 0 { 1 } else { period };
    let phase = first % period;
    phase.saturating_add(from.saturating_sub(phase).div_ceil(period).saturating_mul(period))
}
