//! How much a receiver allows to be sent ahead: Linux's receive buffer and its auto-tuning (dynamic right-sizing).
//!
//! The application reads at once, so the buffer stands for what may be in flight. Half of it is window, the rest is left
//! for overhead (net.ipv4.tcp_adv_win_scale = 1). With timestamps Linux takes the round trip from the echo of its own
//! acknowledgements; here it is told what the sender measured last.

use leo_cc::INITIAL_WINDOW;

use crate::{Nanos, SEGMENT_BYTES};

const SEGMENT: u64 = SEGMENT_BYTES as u64;
/// Cushion for small variations, in packets.
const CUSHION: u64 = 16;

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
    /// Bytes that the application read in the last round trip (rcvq_space.space).
    read_in_round: u64,
    round_began: Nanos,
    round_first: u64,
    /// Packets below this one may be sent; it never moves back.
    edge: u64,
}

impl ReceiveWindow {
    /// With net.ipv4.tcp_rmem's minimum, default and maximum in bytes; the default holds a packet and its overhead.
    #[must_use]
    pub const fn new(rmem: [u64; 3]) -> Self {
        let [_, default, max] = rmem;
        let offered = default / 2;
        let initial = SEGMENT * INITIAL_WINDOW as u64;
        let edge = offered / SEGMENT;
        Self {
            max_buffer: max,
            buffer: default,
            offered,
            rtt_8: 0,
            read_in_round: if initial < offered { initial } else { offered },
            round_began: 0,
            round_first: 0,
            edge: if edge == 0 { 1 } else { edge },
        }
    }

    /// A packet has arrived at `now`; the application has read all before `next`. `rtt`: what the sender measured last, 0
    /// for nothing.
    pub fn on_data(&mut self, now: Nanos, next: u64, rtt: Nanos) {
        if rtt > 0 {
            self.rtt_8 = if self.rtt_8 == 0 { rtt * 8 } else { self.rtt_8 - self.rtt_8 / 8 + rtt };
        }
        self.end_round(now, next);
        // Linux's tcp_grow_window.
        self.offered = (self.offered + 2 * SEGMENT).min(self.buffer / 2);
        self.edge = self.edge.max(next + (self.offered / SEGMENT).max(1));
    }

    /// Packets below this one may be sent.
    #[must_use]
    pub const fn edge(&self) -> u64 {
        self.edge
    }

    /// Linux's tcp_rcv_space_adjust: twice what was read in a round trip copes with losses, four times with a sender in
    /// slow start.
    fn end_round(&mut self, now: Nanos, next: u64) {
        if self.rtt_8 == 0 || now - self.round_began < self.rtt_8 / 8 {
            return;
        }
        let read = (next - self.round_first) * SEGMENT;
        if read > self.read_in_round {
            let steady = 2 * read + CUSHION * SEGMENT;
            let growth = u128::from(steady) * u128::from(read - self.read_in_round);
            let growth = (growth / u128::from(self.read_in_round.max(1))) as u64;
            let window = steady.saturating_add(growth.saturating_mul(2));
            self.buffer = self.buffer.max(window.saturating_mul(2).min(self.max_buffer));
            self.read_in_round = read;
        }
        self.round_began = now;
        self.round_first = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;
    const LINUX: [u64; 3] = [4_096, 131_072, 6_291_456];

    /// The window in bytes at the end of each round trip of 100 ms, in which as many packets come as `rounds` says.
    fn windows(rmem: [u64; 3], rounds: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut window = ReceiveWindow::new(rmem);
        let mut next = 0;
        let mut at_ends = Vec::new();
        for (round, packets) in (0..).zip(rounds) {
            for packet in 0..packets {
                next += 1;
                window.on_data((round * 100 + packet * 100 / packets) * MS, next, 100 * MS);
            }
            at_ends.push((window.edge() - next) * SEGMENT);
        }
        at_ends
    }

    #[test]
    fn the_window_begins_at_half_of_the_default_and_ends_at_half_of_the_maximum() {
        // GEO paper, Buffer Settings: "effectively, rwnd is capped at 1/2 the default max, or about 3 MBytes".
        assert_eq!(ReceiveWindow::new(LINUX).edge(), 65_536 / SEGMENT);
        let grown = windows(LINUX, (0..12).map(|round| 10 << round));
        assert_eq!(*grown.last().expect("there are rounds"), 3_145_728 / SEGMENT * SEGMENT);
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
        assert_eq!(grown[7], 3 * (2 * 160 + CUSHION) * SEGMENT);
    }

    #[test]
    fn without_auto_tuning_the_default_is_all_there_is() {
        let grown = windows([4_096, 131_072, 131_072], (0..10).map(|round| 10 << round));
        assert!(grown.iter().all(|&window| window <= 65_536));
    }
}
