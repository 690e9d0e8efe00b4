//! The rate of a link that sends in frames, and the rate that a switch reports: "bw, bandwidth of the outgoing
//! link" (LeoTCP, table I).

use leo_link::{Nanos, Schedule};

const MILLISECOND: Nanos = 1_000_000;
/// For a framed link, the rate is the mean over many frames, including gaps up to `SILENCE_MAX` (Starlink's
/// last up to 15 ms). The rate within a frame would overstate the capacity: LeoTCP's equation 3 would grow the
/// window too fast, and its equation 1 would see an idle link however long its queue. Between frames, rewards
/// would see a link without capacity.
const OVER: Nanos = 100 * MILLISECOND;
const SILENCE_MAX: Nanos = 20 * MILLISECOND;

/// Return the mean rate in bit/s of a framed link in the time before `at`; `None` if it sent no frames then.
pub fn framed_bps(schedule: &Schedule, at: Nanos) -> Option<u64> {
    schedule.framed_rate_bps(at.saturating_sub(OVER), at, SILENCE_MAX)
}

/// Return the rate in bit/s for a packet that left at `at`.
pub fn bandwidth_bps(schedule: &Schedule, at: Nanos) -> u64 {
    framed_bps(schedule, at).unwrap_or_else(|| schedule.at(at.saturating_sub(1)).rate_bps)
}
