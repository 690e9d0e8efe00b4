//! The controller's phases, each with its state. Times are in s since the run's start, rates in bytes/s.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Phase {
    /// Doubles the rate every RTT until a queue forms.
    StartUp,
    /// Increases the rate slowly.
    Grow,
    Drain(Drain),
    Settle(Settle),
    Compete(Compete),
}

/// Sends at `rate` until the queue must be empty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Drain {
    pub until_s: f64,
    pub rate: f64,
    pub check: Option<Check>,
}

/// Waits an RTT for the drain's effect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Settle {
    pub until_s: f64,
    pub check: Option<Check>,
}

/// What a drain compares to tell a queue from a longer path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Check {
    /// RTT before the drain, in s.
    pub rtt_before_s: f64,
    /// Smallest RTT since, in s.
    pub least_rtt_s: f64,
}

/// Holds a share of the link against a flow that fills the buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Compete {
    /// End of the rate wave's half period, in s.
    pub wave_until_s: f64,
    /// Whether the wave is in its upper half.
    pub is_high: bool,
    /// Moving average of the part of the time without a queue.
    pub empty_share: f64,
}

impl Phase {
    /// The check that the current drain makes.
    pub fn check_mut(&mut self) -> Option<&mut Check> {
        match self {
            Self::Drain(Drain { check, .. }) | Self::Settle(Settle { check, .. }) => check.as_mut(),
            _ => None,
        }
    }
}
