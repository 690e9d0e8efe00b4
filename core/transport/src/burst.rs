//! Bursts of an unpaced sender: Linux waits until segmentation offload is worth its while (tcp_tso_should_defer).
//!
//! So an ACK-clocked Linux sender does not put two packets on the wire for each acknowledgement, but about a
//! millisecond's worth at once. A full drop-tail queue then turns away parts of bursts, which hits flows by their
//! rates; sent one by one, the loss would go to whichever flow just enlarged its window.

use crate::{Nanos, SEGMENT_BYTES};

/// A burst is what the rate carries in 2^-10 s (sk_pacing_shift), but no more than 64 KiB …
const BURST_SHIFT: u32 = 10;
const BURST_MAX: u64 = 65_536 / SEGMENT_BYTES as u64;
/// … and no less than two packets (tcp_min_tso_segs).
const BURST_MIN: u64 = 2;
/// No longer than this since the last packet.
const PATIENCE: Nanos = 1_000_000;
/// A third of the window need not wait (tcp_tso_win_divisor).
const WINDOW_DIVISOR: u64 = 3;

/// What the decision depends on.
#[derive(Clone, Copy, Debug)]
pub struct Burst {
    /// Packets that the window would let out now.
    pub available: u32,
    /// The window in packets.
    pub window: u32,
    /// Far below the threshold, where Linux reckons with twice the rate instead of 1.2 times (tcp_update_pacing_rate).
    pub slow_start: bool,
    /// Smoothed RTT; 0 before the first sample.
    pub srtt: Nanos,
    /// Since the last packet was sent.
    pub since_sent: Nanos,
    /// Since the first unacknowledged packet was sent.
    pub head_age: Nanos,
}

impl Burst {
    /// Whether to wait for more acknowledgements before sending.
    #[inline]
    pub fn should_wait(&self) -> bool {
        let available = u64::from(self.available);
        if available >= BURST_MAX || available * WINDOW_DIVISOR >= u64::from(self.window) {
            return false;
        }
        // The next acknowledgement is not expected within half an RTT: waiting would cost throughput.
        if self.since_sent > PATIENCE || self.head_age < self.srtt / 2 {
            return false;
        }
        available < BURST_MIN || self.is_below_goal(available)
    }

    /// available < gain × window / srtt × 2^-10 s, without a division.
    #[inline]
    fn is_below_goal(&self, available: u64) -> bool {
        let gain_percent = if self.slow_start { 200 } else { 120 };
        let goal = u64::from(self.window) * gain_percent * (1_000_000_000 / 100);
        available.saturating_mul(self.srtt << BURST_SHIFT) < goal
    }
}

/// Packets in a burst of a paced sender at `rate` bytes a second.
#[inline]
pub fn paced_burst(rate: u64) -> u64 {
    ((rate >> BURST_SHIFT) / u64::from(SEGMENT_BYTES)).clamp(BURST_MIN, BURST_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 Mbit/s over 50 ms: 1.2 × 8,333 packets/s × 2^-10 s = 9.8 packets.
    const STEADY: Burst = Burst {
        available: 9,
        window: 417,
        slow_start: false,
        srtt: 50_000_000,
        since_sent: 200_000,
        head_age: 50_000_000,
    };

    #[test]
    fn a_steady_sender_gathers_a_millisecond_of_packets() {
        assert!(STEADY.should_wait());
        assert!(!Burst { available: 10, ..STEADY }.should_wait());
    }

    #[test]
    fn a_sender_that_was_silent_for_a_millisecond_does_not_wait() {
        assert!(!Burst { since_sent: 1_000_001, ..STEADY }.should_wait());
    }

    #[test]
    fn a_small_window_does_not_wait() {
        assert!(!Burst { available: 4, window: 12, ..STEADY }.should_wait());
    }
}
