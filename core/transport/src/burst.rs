//! Bursts of an unpaced sender, held back until segmentation offload pays (Linux's tcp_tso_should_defer).
//!
//! An ACK-clocked Linux sender sends about a millisecond of packets at once, not two packets for each ACK. A
//! full drop-tail queue then drops parts of bursts, so flows lose packets in proportion to their rates. If
//! packets left one by one, the loss would always hit the flow that has just enlarged its window.

use crate::{Nanos, SEGMENT_BYTES};

/// A burst carries 2^-10 s of the rate (sk_pacing_shift), at most 64 KiB minus the largest headers …
const BURST_SHIFT: u32 = 10;
pub const BURST_BYTES: u64 = 65_536 - 1 - 320;
const BURST_MAX: u64 = BURST_BYTES / SEGMENT_BYTES as u64;
/// … and at least two packets (tcp_min_tso_segs).
const BURST_MIN: u64 = 2;
/// Short paths get extra bytes per burst, halved for every 2^9 us of minimum RTT (tcp_tso_rtt_log).
const NEAR: u64 = 512_000;
/// Longest time to defer: since the last packet, and until the expected next ACK.
const PATIENCE: Nanos = 1_000_000;
/// A sender that may send a third of its window does not defer (tcp_tso_win_divisor).
const WINDOW_DIVISOR: u64 = 3;

/// Inputs of the decision to wait for more ACKs.
#[derive(Clone, Copy, Debug)]
pub struct Burst {
    /// Packets that the window allows now.
    pub available: u32,
    pub window: u32,
    pub whole: u32,
    pub srtt: Nanos,
    /// Time since the last packet, or for a paced flow since pacing last allowed one.
    pub since_sent: Nanos,
    pub head_age: Nanos,
}

impl Burst {
    /// Whether to wait for more ACKs before sending (tcp_tso_should_defer).
    #[inline]
    pub fn should_wait(&self) -> bool {
        let third = u64::from(self.available) * WINDOW_DIVISOR >= u64::from(self.window);
        // Wait only if the ACK of the first packet is due soon: longer waits cost throughput. "Soon" was half
        // a round trip before Linux 6.18 and the stable kernels of 2025.
        let soon = self.srtt > 0 && self.head_age + PATIENCE.min(self.srtt / 2) >= self.srtt;
        self.available < self.whole && !third && self.since_sent <= PATIENCE && soon
    }
}

/// Return the packets in a full burst at `rate` bytes/s and this minimum RTT (tcp_tso_autosize).
#[inline]
pub fn whole_burst(rate: u64, min_rtt: Nanos) -> u32 {
    let near = min_rtt / NEAR;
    let more = if near < 17 { BURST_BYTES >> near } else { 0 };
    (((rate >> BURST_SHIFT) + more) / u64::from(SEGMENT_BYTES)).clamp(BURST_MIN, BURST_MAX) as u32
}

/// Return the packets in a burst of at most 250 µs at `rate` bytes/s. draft-briscoe-iccrg-prague-congestion-control-04 §2.5.2:
/// "max_burst = pacing_rate * MAX_BURST_DELAY / MTU_BITS".
pub fn short_burst(rate: u64) -> u32 {
    (rate / (4_000 * u64::from(SEGMENT_BYTES))).clamp(1, BURST_MAX) as u32
}

/// Return Linux's estimate of an unpaced sender's rate in bytes/s (tcp_update_pacing_rate): 1.2 windows per
/// round trip, or two far below the threshold (`slow_start`). `srtt` is 0 before the first sample.
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
        // how_far_is_the_ack in Linux 6.18 and the stable kernels of 2025.
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
    fn short_bursts_last_a_quarter_of_a_millisecond_and_are_never_empty() {
        // 250 µs at 10 Mbit/s are a fifth of a packet; at 100 Mbit/s, two; at 1 Gbit/s, 21.
        assert_eq!([10, 100, 1_000].map(|mbps| short_burst(mbps * 125_000)), [1, 2, 21]);
    }

    #[test]
    fn bursts_are_larger_on_the_shortest_paths() {
        // 65,215 bytes, half, a quarter …: 45, 22 and 11 packets. The rate alone gives two.
        let bursts = [100_000, 600_000, 1_100_000, 3_000_000, 20_000_000].map(|rtt| whole_burst(0, rtt));
        assert_eq!(bursts, [45, 22, 11, 2, 2]);
    }
}
