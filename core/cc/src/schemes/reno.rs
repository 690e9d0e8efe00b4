//! Reno: slow start, additive increase, multiplicative decrease (RFC 5681).

use crate::parts::window::Window;
use crate::{Ack, Congestion, CongestionControl, Nanos};

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
        self.window.grow_as_reno(ack);
    }

    fn on_congestion(&mut self, kind: Congestion, _now: Nanos) {
        // RFC 5681 §3.1 (4): ssthresh = max(FlightSize / 2, 2*SMSS). Like Linux, from cwnd.
        self.window.reduce(self.window.packets / 2, kind);
    }

    fn on_unused_window(&mut self, window: u32, threshold: u32) {
        self.window.resize(window, threshold);
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
    use crate::INITIAL_WINDOW;

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
