//! Bursts of an unpaced sender: Linux waits until segmentation offload is worth its while (tcp_tso_should_defer).
//!
//! So an ACK-clocked Linux sender does not put two packets on the wire for each acknowledgement, but about a
//! millisecond's worth at once. A full drop-tail queue then turns away parts of bursts, which hits flows by their
//! rates; sent one by one, the loss would go to whichever flow just enlarged its window.

use crate::{Nanos, SEGMENT_BYTES};

/// A burst is what the rate carries in 2^-10 s (sk_pacing_shift), but no more than 64 KiB less the largest headers …
const BURST_SHIFT: u32 = 10;
pub const BURST_BYTES: u64 = 65_536 - 1 - 320;
const BURST_MAX: u64 = BURST_BYTES / SEGMENT_BYTES as u64;
/// … and no less than two packets (tcp_min_tso_segs).
const BURST_MIN: u64 = 2;
/// On the shortest paths bursts are larger: half as large for each 2^9 us that the RTT is longer (tcp_tso_rtt_log).
const NEAR: u64 = 512_000;
/// No longer than this since the last packet, and only if the next acknowledgement is expected within this.
const PATIENCE: Nanos = 1_000_000;
/// A third of the window need not wait (tcp_tso_win_divisor).
const WINDOW_DIVISOR: u64 = 3;

/// What the decision whether to wait for more acknowledgements depends on.
#[derive(Clone, Copy, Debug)]
pub struct Burst {
    /// Packets that the window would let out now.
    pub available: u32,
    /// The window in packets.
    pub window: u32,
    /// Packets in a whole burst.
    pub whole: u32,
    /// Smoothed RTT; 0 before the first sample.
    pub srtt: Nanos,
    /// Since the last packet was sent or, where pacing let it go earlier, since the next might have been.
    pub since_sent: Nanos,
    /// Since the first unacknowledged packet was sent.
    pub head_age: Nanos,
}

impl Burst {
    /// Whether to wait for more acknowledgements before sending (tcp_tso_should_defer).
    #[inline]
    pub fn should_wait(&self) -> bool {
        let third = u64::from(self.available) * WINDOW_DIVISOR >= u64::from(self.window);
        // The next acknowledgement, which answers the first packet, must be expected soon: waiting for longer would cost
        // throughput. Until Linux 6.18 and the stable kernels of 2025 half a round trip was soon.
        let soon = self.srtt > 0 && self.head_age + PATIENCE.min(self.srtt / 2) >= self.srtt;
        self.available < self.whole && !third && self.since_sent <= PATIENCE && soon
    }
}

/// Packets in a burst of a sender at `rate` bytes a second over a path with this least RTT (tcp_tso_autosize).
#[inline]
pub fn whole_burst(rate: u64, min_rtt: Nanos) -> u32 {
    let near = min_rtt / NEAR;
    let more = if near < 17 { BURST_BYTES >> near } else { 0 };
    (((rate >> BURST_SHIFT) + more) / u64::from(SEGMENT_BYTES)).clamp(BURST_MIN, BURST_MAX) as u32
}

/// Bytes a second at which Linux reckons that an unpaced sender sends (tcp_update_pacing_rate): 1.2 windows of packets a
/// round trip, or twice the window far below the threshold. `srtt` is 0 before the first sample.
#[inline]
pub fn unpaced_rate(window: u32, slow_start: bool, srtt: Nanos) -> u64 {
    let gain_percent = if slow_start { 200 } else { 120 };
    let bytes = u64::from(window) * u64::from(SEGMENT_BYTES) * gain_percent;
    bytes.saturating_mul(1_000_000_000 / 100) / srtt.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Nanos = 50_000_000;
    /// 100 Mbit/s over 50 ms: 1.2 × 8,333 packets/s × 2^-10 s = 9.8 packets.
    const STEADY: Burst =
        Burst { available: 8, window: 417, whole: 9, srtt: RTT, since_sent: 200_000, head_age: RTT };

    #[test]
    fn a_steady_sender_gathers_a_millisecond_of_packets() {
        assert_eq!(whole_burst(unpaced_rate(417, false, RTT), RTT), 9);
        assert!(STEADY.should_wait());
        assert!(!Burst { available: 9, ..STEADY }.should_wait());
    }

    #[test]
    fn a_sender_that_was_silent_for_a_millisecond_does_not_wait() {
        assert!(!Burst { since_sent: 1_000_001, ..STEADY }.should_wait());
    }

    #[test]
    fn a_sender_waits_for_what_comes_within_a_millisecond_or_half_a_round_trip() {
        // Linux's 6.18 and stable kernels of 2025: how_far_is_the_ack.
        assert!(!Burst { head_age: RTT - 1_000_001, ..STEADY }.should_wait());
        assert!(Burst { head_age: RTT - 1_000_000, ..STEADY }.should_wait());
        let near = Burst { srtt: 1_000_000, head_age: 500_000, ..STEADY };
        assert!(near.should_wait());
        assert!(!Burst { head_age: 499_999, ..near }.should_wait());
    }

    #[test]
    fn a_small_window_does_not_wait() {
        assert!(!Burst { available: 4, window: 12, ..STEADY }.should_wait());
    }

    #[test]
    fn bursts_are_larger_on_the_shortest_paths() {
        // 65,215 bytes, a half, a quarter …: 45, 22 and 11 packets, where the rate alone gives two.
        let bursts = [100_000, 600_000, 1_100_000, 3_000_000, 20_000_000].map(|rtt| whole_burst(0, rtt));
        assert_eq!(bursts, [45, 22, 11, 2, 2]);
    }
}
