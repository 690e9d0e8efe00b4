//! What a switch says of the link that it sends on: "bw, bandwidth of the outgoing link" (LeoTCP, table I).

use leo_link::{Nanos, Schedule};

const MILLISECOND: Nanos = 1_000_000;
/// A link that sends in frames does not carry what it carries in one: equation 3 would let a window grow by the frame's
/// rate, and equation 1 find the link idle whatever waits for it. So its rate is the mean over many frames, silences of up to
/// this counted, as Starlink's last up to 15 ms.
const OVER: Nanos = 100 * MILLISECOND;
const SILENCE_MAX: Nanos = 20 * MILLISECOND;

/// In bit/s, for a packet that left `at` this time.
pub fn bandwidth_bps(schedule: &Schedule, at: Nanos) -> u64 {
    let framed = schedule.framed_rate_bps(at.saturating_sub(OVER), at, SILENCE_MAX);
    framed.unwrap_or_else(|| schedule.at(at.saturating_sub(1)).rate_bps)
}
