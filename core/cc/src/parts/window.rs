//! A window in packets, as the schemes that descend from Reno move it.

use crate::{Ack, Congestion, INITIAL_WINDOW};

/// A window in packets that grows by whole packets, with the count of what was acknowledged since the last growth.
///
/// Linux's snd_cwnd, snd_ssthresh and snd_cwnd_cnt, tcp_slow_start and tcp_cong_avoid_ai.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub packets: u32,
    pub threshold: u32,
    pub counted: u32,
    /// Window and threshold before the last reduction.
    prior: (u32, u32),
}

impl Window {
    pub const fn new() -> Self {
        Self { packets: INITIAL_WINDOW, threshold: u32::MAX, counted: 0, prior: (0, u32::MAX) }
    }

    pub const fn in_slow_start(&self) -> bool {
        self.packets < self.threshold
    }

    /// Grow by one packet for each of `acked` up to the threshold; return those left over.
    ///
    /// RFC 5681 §3.1: "During slow start, a TCP increments cwnd by at most SMSS bytes for each ACK received that
    /// cumulatively acknowledges new data"; counting packets instead of ACKs is RFC 3465.
    pub fn slow_start(&mut self, acked: u32) -> u32 {
        let grown = self.packets.saturating_add(acked).min(self.threshold);
        let left = acked - (grown - self.packets);
        self.packets = grown;
        left
    }

    /// Grow by one packet for every `per_packet` acknowledged.
    pub fn increase(&mut self, acked: u32, per_packet: u32) {
        if self.counted >= per_packet {
            self.counted = 0;
            self.packets = self.packets.saturating_add(1);
        }
        self.counted = self.counted.saturating_add(acked);
        if self.counted >= per_packet {
            let packets = self.counted / per_packet;
            self.counted -= packets * per_packet;
            self.packets = self.packets.saturating_add(packets);
        }
    }

    /// Come down to `threshold` (at least 2 packets) after a loss or a mark, to one packet after a timeout.
    pub fn reduce(&mut self, threshold: u32, kind: Congestion) {
        if kind != Congestion::RepeatedTimeout {
            self.prior = (self.packets, self.threshold);
            self.threshold = threshold.max(2);
        }
        self.packets = if matches!(kind, Congestion::Loss | Congestion::Ecn) { self.threshold } else { 1 };
        self.counted = 0;
    }

    /// What was not used is given up.
    pub fn resize(&mut self, packets: u32, threshold: u32) {
        self.packets = packets.max(1);
        self.threshold = threshold.max(2);
    }

    /// Take the last reduction back (Linux's tcp_undo_cwnd_reduction).
    pub fn undo(&mut self) {
        let (packets, threshold) = self.prior;
        self.packets = self.packets.max(packets);
        self.threshold = self.threshold.max(threshold);
    }

    /// Slow start, then one packet a round trip (RFC 5681 §3.1).
    pub fn grow_as_reno(&mut self, ack: &Ack) {
        let mut acked = ack.delivered;
        if self.in_slow_start() {
            acked = self.slow_start(acked);
        }
        if acked > 0 {
            self.increase(acked, self.packets);
        }
    }
}
