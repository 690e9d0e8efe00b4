//! Linux's receive buffer and its auto-tuning (dynamic right-sizing): how much the sender may send ahead.
//!
//! The buffer grows even if it never limits the sender. While it grows, every packet is acknowledged at once:
//! in slow start and for about a window after it.
//!
//! The application reads at once, so the buffer stands for the data in flight. Half of it is window, the rest
//! overhead (net.ipv4.tcp_adv_win_scale = 1). The RTT is the time from an ACK to its timestamp's echo.

use leo_cc::INITIAL_WINDOW;

use crate::{NEVER, Nanos, SEGMENT_BYTES};

const MILLISECOND: Nanos = 1_000_000;
const SEGMENT: u64 = SEGMENT_BYTES as u64;
/// Packets added for small variations.
const CUSHION: u64 = 16;
/// Linux's bytes per packet in the buffer: SKB_TRUESIZE(advmss + MAX_TCP_HEADER), 2,344, plus steps of 128
/// until half of it holds a packet.
const PER_PACKET: u64 = 2_984;
/// Bytes of the window that an arriving packet uses until it is read: half of its truesize.
const WAITING: u64 = 2_728 / 2;

/// The receive window of one connection.
#[derive(Clone, Debug)]
pub struct ReceiveWindow {
    /// Both in bytes: net.ipv4.tcp_rmem's third value, and the current size (sk_rcvbuf).
    max_buffer: u64,
    buffer: u64,
    /// The offered window (rcv_ssthresh). Each packet grows it by two packets, up to half of the buffer.
    offered: u64,
    /// Eight times the smoothed RTT; 0 before the first sample.
    rtt_8: Nanos,
    /// Timestamp of the last RTT sample, in ms.
    last_echo_ms: u32,
    /// Bytes that the application read in the last round trip (rcvq_space.space).
    read_in_round: u64,
    round_began: Nanos,
    round_first: u64,
}

/// A buffer that never limits a connection.
const UNLIMITED: [u64; 3] = [4_096, 131_072, 1 << 56];

impl ReceiveWindow {
    /// Create a window from net.ipv4.tcp_rmem in bytes. Its default must hold a packet and its overhead.
    pub const fn new(rmem: [u64; 3]) -> Self {
        let [_, default, max] = rmem;
        let half = default / 2;
        let offered = if half > 3 * SEGMENT { half - WAITING } else { half };
        let initial = SEGMENT * INITIAL_WINDOW as u64;
        Self {
            max_buffer: max,
            buffer: default,
            offered,
            rtt_8: 0,
            last_echo_ms: u32::MAX,
            read_in_round: if initial < offered { initial } else { offered },
            round_began: NEVER,
            round_first: 0,
        }
    }

    /// Create a window with Linux's default of net.ipv4.tcp_rmem, but no maximum.
    pub const fn unlimited() -> Self {
        Self::new(UNLIMITED)
    }

    /// Note a packet at `now` that echoes the timestamp of an ACK sent at `echo_ms`. Returns true when the
    /// offered window grows: Linux's tcp_grow_window then sets `icsk_ack.quick |= 1`.
    #[inline]
    pub fn on_data(&mut self, now: Nanos, echo_ms: Option<u32>) -> bool {
        if let Some(echo_ms) = echo_ms.filter(|&echo_ms| echo_ms != self.last_echo_ms) {
            self.last_echo_ms = echo_ms;
            self.sample(((now / MILLISECOND) as u32).wrapping_sub(echo_ms));
        }
        if self.round_began == NEVER {
            self.round_began = now;
        }
        let room = (self.buffer / 2).saturating_sub(self.offered + WAITING);
        self.offered += room.min(2 * SEGMENT);
        room > 0
    }

    /// Note that the application has read up to `next`. Call it after the ACK that the data caused.
    #[inline]
    pub fn on_read(&mut self, now: Nanos, next: u64) {
        if self.rtt_8 > 0 && now - self.round_began >= self.rtt_8 / 8 {
            self.end_round(now, next);
        }
    }

    /// Smoothed RTT; 0 before the first sample.
    pub const fn rtt(&self) -> Nanos {
        self.rtt_8 / 8
    }

    #[cfg(test)]
    pub(crate) const fn set_rtt(&mut self, rtt: Nanos) {
        self.rtt_8 = 8 * rtt;
    }

    /// Packets below this one may be sent when all before `next` has been read. It never moves back.
    pub const fn edge(&self, next: u64) -> u64 {
        let packets = self.offered / SEGMENT;
        next + if packets == 0 { 1 } else { packets }
    }

    /// Linux's tcp_rcv_rtt_measure_ts and tcp_rcv_rtt_update: samples are at least 1 ms; smaller ones count
    /// fully (since 6.16 and the stable kernels of 2025), larger ones by an eighth.
    fn sample(&mut self, rtt_ms: u32) {
        let rtt = Nanos::from(rtt_ms.max(1)) * MILLISECOND;
        let smaller = self.rtt_8 == 0 || rtt * 8 < self.rtt_8;
        self.rtt_8 = if smaller { rtt * 8 } else { self.rtt_8 - self.rtt_8 / 8 + rtt };
    }

    /// Linux's tcp_rcv_space_adjust: twice the bytes read per RTT for losses, four times for slow start.
    #[cold]
    fn end_round(&mut self, now: Nanos, next: u64) {
        let read = (next - self.round_first) * SEGMENT;
        if read > self.read_in_round {
            let steady = 2 * read + CUSHION * SEGMENT;
            let growth = u128::from(steady) * u128::from(read - self.read_in_round);
            let growth = (growth / u128::from(self.read_in_round.max(1))) as u64;
            let packets = steady.saturating_add(growth.saturating_mul(2)) / SEGMENT;
            self.buffer = self.buffer.max(packets.saturating_mul(PER_PACKET).min(self.max_buffer));
            self.read_in_round = read;
        }
        self.round_began = now;
        self.round_first = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX: [u64; 3] = [4_096, 131_072, 6_291_456];

    /// Return the window in bytes after each 100 ms round trip, in which `rounds` packets arrive.
    fn windows(rmem: [u64; 3], rounds: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut window = ReceiveWindow::new(rmem);
        let mut next = 0;
        let mut at_ends = Vec::new();
        for (round, packets) in (0..).zip(rounds) {
            for packet in 0..packets {
                next += 1;
                let now_ms = 100 + round * 100 + packet * 100 / packets;
                window.on_data(now_ms * MILLISECOND, Some((now_ms - 100) as u32));
                window.on_read(now_ms * MILLISECOND, next);
            }
            at_ends.push((window.edge(next) - next) * SEGMENT);
        }
        at_ends
    }

    #[test]
    fn the_window_begins_at_half_of_the_default_and_ends_at_half_of_the_maximum() {
        // GEO paper, Buffer Settings: "rwnd is capped at 1/2 the default max, or about 3 MBytes".
        assert_eq!(ReceiveWindow::new(LINUX).edge(0), (65_536 - WAITING) / SEGMENT);
        let grown = windows(LINUX, (0..12).map(|round| 10 << round));
        assert_eq!(*grown.last().expect("there are rounds"), (3_145_728 - WAITING) / SEGMENT * SEGMENT);
    }

    #[test]
    fn it_grows_as_a_linux_receiver_of_a_doubling_sender_did() {
        // Linux 6.1 over 300 ms and 10 Mbit/s: window_clamp when the bursts of 20, 40 and 80 packets begin.
        let mut window = ReceiveWindow::new(LINUX);
        let (mut next, mut clamps) = (0, Vec::new());
        for (round, packets) in [10, 20, 40, 80].into_iter().enumerate() {
            for packet in 0..packets {
                let now_ms = 300 * (round as u64 + 1) + packet * 6 / 5;
                next += 1;
                window.on_data(now_ms * MILLISECOND, Some((now_ms - 300 - packet * 3 / 5) as u32));
                window.on_read(now_ms * MILLISECOND, next);
                if packet == 0 {
                    clamps.push(window.buffer / 2);
                }
            }
        }
        assert_eq!(clamps, [65_536, 67_140, 219_324, 429_696]);
    }

    #[test]
    fn a_sender_that_doubles_is_never_held_back_before_the_maximum() {
        // GEO paper: "receiver auto-tuning on and receiver auto-tuning off show exponential growth in the
        // congestion window, without a visual difference".
        let rounds: Vec<u64> = (0..8).map(|round| 10 << round).collect();
        let grown = windows(LINUX, rounds.clone());
        for (round, window) in grown.iter().enumerate().take(7) {
            let wanted = rounds[round + 1] * SEGMENT;
            assert!(*window >= wanted.min(3_145_000), "round {round}: {window} for {wanted}");
        }
    }

    #[test]
    fn a_flow_that_doubled_keeps_three_times_what_a_steady_one_gets() {
        // tcp_rcv_space_adjust: twice the bytes read plus 16 packets, plus twice that times the growth.
        let grown = windows(LINUX, [10, 20, 40, 80, 160, 160, 160, 160]);
        assert_eq!(grown[7] / SEGMENT, (3 * (2 * 160 + CUSHION) * (PER_PACKET / 2) - WAITING) / SEGMENT);
    }

    #[test]
    fn without_auto_tuning_the_default_is_all_there_is() {
        let grown = windows([4_096, 131_072, 131_072], (0..10).map(|round| 10 << round));
        assert!(grown.iter().all(|&window| window <= 65_536));
    }
}
