//! How much a receiver allows to be sent ahead: Linux's receive buffer and its auto-tuning (dynamic right-sizing).
//!
//! It grows whether or not it ever limits the sender, and while it does every packet is acknowledged at once: the whole
//! of a slow start, and about a window after it.
//!
//! The application reads at once, so the buffer stands for what may be in flight. Half of it is window, the rest is left
//! for overhead (net.ipv4.tcp_adv_win_scale = 1). The round trip is the time from an acknowledgement to the packet that
//! echoes its timestamp.

use leo_cc::INITIAL_WINDOW;

use crate::{NEVER, Nanos, SEGMENT_BYTES};

const MILLISECOND: Nanos = 1_000_000;
const SEGMENT: u64 = SEGMENT_BYTES as u64;
/// Cushion for small variations, in packets.
const CUSHION: u64 = 16;
/// What Linux reckons that a packet takes of the buffer, in bytes: SKB_TRUESIZE(advmss + MAX_TCP_HEADER), 2,344, in steps
/// of 128 until half of it holds a packet.
const PER_PACKET: u64 = 2_984;
/// What the packet that arrives takes of the window while it waits to be read: half of its truesize.
const WAITING: u64 = 2_728 / 2;

/// The receive window of one connection.
#[derive(Clone, Debug)]
pub struct ReceiveWindow {
    /// net.ipv4.tcp_rmem's third value and what the buffer has grown to (sk_rcvbuf), in bytes.
    max_buffer: u64,
    buffer: u64,
    /// What is offered grows up to the buffer's half by two packets a packet (rcv_ssthresh).
    offered: u64,
    /// Eight times the smoothed round trip; 0 before the first sample.
    rtt_8: Nanos,
    /// The timestamp that the last sample was of, in ms.
    last_echo_ms: u32,
    /// Bytes that the application read in the last round trip (rcvq_space.space).
    read_in_round: u64,
    round_began: Nanos,
    round_first: u64,
}

/// More than any connection needs: the buffer never limits it.
const UNLIMITED: [u64; 3] = [4_096, 131_072, 1 << 56];

impl ReceiveWindow {
    /// With net.ipv4.tcp_rmem's minimum, default and maximum in bytes; the default holds a packet and its overhead.
    #[must_use]
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

    /// With Linux's default for net.ipv4.tcp_rmem but for the maximum, of which there is none.
    #[must_use]
    pub const fn unlimited() -> Self {
        Self::new(UNLIMITED)
    }

    /// A packet has arrived at `now` that echoes the timestamp of an acknowledgement which left at `echo_ms`. True when
    /// more is offered than before: Linux's tcp_grow_window then sets `icsk_ack.quick |= 1`.
    #[inline]
    pub fn on_data(&mut self, now: Nanos, echo_ms: Option<u32>) -> bool {
        if let Some(echo_ms) = echo_ms
            && echo_ms != self.last_echo_ms
        {
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

    /// The application reads, and has come to `next`, after whatever acknowledgement that data made go out.
    #[inline]
    pub fn on_read(&mut self, now: Nanos, next: u64) {
        if self.rtt_8 > 0 && now - self.round_began >= self.rtt_8 / 8 {
            self.end_round(now, next);
        }
    }

    /// The smoothed round trip; 0 before the first sample.
    #[must_use]
    pub const fn rtt(&self) -> Nanos {
        self.rtt_8 / 8
    }

    #[cfg(test)]
    pub(crate) const fn set_rtt(&mut self, rtt: Nanos) {
        self.rtt_8 = 8 * rtt;
    }

    /// Packets below this one may be sent when all before `next` has been read; it never moves back, as neither does.
    #[must_use]
    pub const fn edge(&self, next: u64) -> u64 {
        let packets = self.offered / SEGMENT;
        next + if packets == 0 { 1 } else { packets }
    }

    /// Linux's tcp_rcv_rtt_measure_ts, in whole milliseconds and at least one, and tcp_rcv_rtt_update: smaller samples
    /// count at once (since 6.16 and the stable kernels of 2025), others by an eighth.
    fn sample(&mut self, rtt_ms: u32) {
        let rtt = Nanos::from(rtt_ms.max(1)) * MILLISECOND;
        let smaller = self.rtt_8 == 0 || rtt * 8 < self.rtt_8;
        self.rtt_8 = if smaller { rtt * 8 } else { self.rtt_8 - self.rtt_8 / 8 + rtt };
    }

    /// Linux's tcp_rcv_space_adjust: twice what was read in a round trip copes with losses, four times with a sender in
    /// slow start.
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

    /// The window in bytes at the end of each round trip of 100 ms, in which as many packets come as `rounds` says.
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
        // GEO paper, Buffer Settings: "effectively, rwnd is capped at 1/2 the default max, or about 3 MBytes".
        assert_eq!(ReceiveWindow::new(LINUX).edge(0), (65_536 - WAITING) / SEGMENT);
        let grown = windows(LINUX, (0..12).map(|round| 10 << round));
        assert_eq!(*grown.last().expect("there are rounds"), (3_145_728 - WAITING) / SEGMENT * SEGMENT);
    }

    #[test]
    fn it_grows_as_a_linux_receiver_of_a_doubling_sender_did() {
        // Linux 6.1, a path of 300 ms and 10 Mbit/s: window_clamp as the bursts of 20, 40 and 80 packets begin.
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
        // GEO paper: "receiver auto-tuning on and receiver auto-tuning off show exponential growth in the congestion window,
        // without a visual difference".
        let rounds: Vec<u64> = (0..8).map(|round| 10 << round).collect();
        let grown = windows(LINUX, rounds.clone());
        for (round, window) in grown.iter().enumerate().take(7) {
            let wanted = rounds[round + 1] * SEGMENT;
            assert!(*window >= wanted.min(3_145_000), "round {round}: {window} for {wanted}");
        }
    }

    #[test]
    fn a_flow_that_doubled_keeps_three_times_what_a_steady_one_gets() {
        // Linux's tcp_rcv_space_adjust: twice what was read and 16 packets, and twice as much again for what it grew by.
        let grown = windows(LINUX, [10, 20, 40, 80, 160, 160, 160, 160]);
        assert_eq!(grown[7] / SEGMENT, (3 * (2 * 160 + CUSHION) * (PER_PACKET / 2) - WAITING) / SEGMENT);
    }

    #[test]
    fn without_auto_tuning_the_default_is_all_there_is() {
        let grown = windows([4_096, 131_072, 131_072], (0..10).map(|round| 10 << round));
        assert!(grown.iter().all(|&window| window <= 65_536));
    }
}
