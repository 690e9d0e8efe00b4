//! The state of a BBR scheme, for run logs.

use crate::Nanos;

/// A state of draft-ietf-ccwg-bbr's state machine. Version 1's ProbeBW is `Up`, `Down` or `Cruise`, by its pacing gain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the draft describes the states")]
pub enum BbrState {
    #[default]
    Startup = 1,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// The variables of the draft, where they have another name in brackets. Infinite bounds are those that are not set, or that
/// the version does not have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BbrModel {
    /// BBR.state.
    pub state: BbrState,
    /// BBR.round_count.
    pub rounds: u64,
    /// BBR.full_bw_count.
    pub full_bw_rounds: u32,
    /// BBR.max_bw, in packets per second.
    pub max_bandwidth: f64,
    /// BBR.bw_shortterm, in packets per second.
    pub bandwidth_short_term: f64,
    /// BBR.min_rtt; `Nanos::MAX` before a sample.
    pub min_rtt: Nanos,
    /// BBR.pacing_gain.
    pub pacing_gain: f64,
    /// BBR.cwnd_gain.
    pub window_gain: f64,
    /// BBR.inflight_longterm, in packets.
    pub long_term: f64,
    /// BBR.inflight_shortterm, in packets.
    pub short_term: f64,
    /// BBR.extra_acked, in packets.
    pub extra_acked: u32,
}
