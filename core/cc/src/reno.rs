//! Reno: slow start, additive increase, multiplicative decrease (RFC 5681).

use crate::{Ack, Congestion, CongestionControl, INITIAL_WINDOW, Nanos};

/// A window in packets that grows by whole packets, with the count of what was acknowledged since the last growth.
///
/// Slow start and the counted increase are shared by the schemes that descend from Reno.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub packets: u32,
    pub threshold: u32,
    counted: u32,
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
        self.counted += acked;
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

    /// Take the last reduction back (Linux's tcp_undo_cwnd_reduction).
    pub fn undo(&mut self) {
        let (packets, threshold) = self.prior;
        self.packets = self.packets.max(packets);
        self.threshold = self.threshold.max(threshold);
    }
}

/// Reno's congestion avoidance.
#[derive(Clone, Debug)]
pub struct Reno {
    window: Window,
}

impl Reno {
    /// A new connection.
    #[must_use]
    pub const fn new() -> Self {
        Self { window: Window::new() }
    }
}

impl Default for Reno {
    fn default() -> Self {
        Self::new()
    }
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, ack: &Ack) {
        if !ack.may_grow || !ack.window_limited {
            return;
        }
        let mut acked = ack.acked;
        if self.window.in_slow_start() {
            acked = self.window.slow_start(acked);
        }
        if acked > 0 {
            // RFC 5681 §3.1: one segment a round trip.
            self.window.increase(acked, self.window.packets);
        }
    }

    fn on_congestion(&mut self, kind: Congestion, _now: Nanos) {
        // RFC 5681 §3.1 (4): ssthresh = max(FlightSize / 2, 2*SMSS). Like Linux, from cwnd.
        self.window.reduce(self.window.packets / 2, kind);
    }

    fn on_undo(&mut self, _now: Nanos) {
        self.window.undo();
    }

    fn window(&self) -> u32 {
        self.window.packets
    }

    fn slow_start_threshold(&self) -> u32 {
        self.window.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(acked: u32) -> Ack {
        Ack { acked, delivered: acked, window_limited: true, may_grow: true, ..Ack::default() }
    }

    #[test]
    fn slow_start_doubles_the_window_in_a_round() {
        let mut reno = Reno::new();
        for _ in 0..5 {
            reno.on_ack(&ack(2));
        }
        assert_eq!(reno.window(), 20);
    }

    #[test]
    fn avoidance_adds_one_packet_in_a_round() {
        let mut reno = Reno::new();
        reno.on_congestion(Congestion::Loss, 0);
        assert_eq!(reno.window(), 5);
        for round in 1..=10 {
            let window = reno.window();
            for _ in 0..window {
                reno.on_ack(&ack(1));
            }
            assert_eq!(reno.window(), 5 + round);
        }
    }

    #[test]
    fn a_flow_that_does_not_fill_its_window_does_not_grow() {
        let mut reno = Reno::new();
        reno.on_ack(&Ack { window_limited: false, ..ack(10) });
        assert_eq!(reno.window(), INITIAL_WINDOW);
    }

    #[test]
    fn the_window_never_falls_below_one_packet() {
        let mut reno = Reno::new();
        for _ in 0..10 {
            reno.on_congestion(Congestion::Timeout, 0);
            reno.on_congestion(Congestion::Loss, 0);
            assert!(reno.window() >= 1);
        }
        assert_eq!(reno.slow_start_threshold(), 2);
    }
}
