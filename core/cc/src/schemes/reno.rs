//! Reno: slow start, additive increase, multiplicative decrease (RFC 5681).

use crate::parts::window::{Window, WindowBased};
use crate::{Ack, Congestion, Nanos, Progress};

/// Adds a packet per RTT, halves on loss.
#[derive(Clone, Debug)]
pub struct Reno;

impl WindowBased for Reno {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.may_grow && ack.window_limited {
            window.grow_as_reno(ack.delivered);
        }
    }

    #[inline]
    fn on_progress(&mut self, window: &mut Window, progress: &Progress) {
        if progress.window_limited {
            window.grow_as_reno(progress.delivered);
        }
    }

    #[inline(always)]
    fn needs_only_progress(&self, _window: &Window) -> bool {
        true
    }

    fn on_congestion(&mut self, window: &mut Window, kind: Congestion, _now: Nanos) {
        // RFC 5681 §3.1 (4): ssthresh = max(FlightSize / 2, 2*SMSS). Like Linux, from cwnd.
        window.reduce(window.packets / 2, kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::INITIAL_WINDOW;
    use crate::testing::{CongestionControl, Windowed};

    fn ack(acked: u32) -> Ack {
        Ack { acked, delivered: acked, window_limited: true, may_grow: true, ..Ack::default() }
    }

    #[test]
    fn slow_start_doubles_the_window_in_a_round() {
        let mut reno = Windowed::new(Reno);
        for _ in 0..5 {
            reno.on_ack(&ack(2));
        }
        assert_eq!(reno.window(), 20);
    }

    #[test]
    fn avoidance_adds_one_packet_in_a_round() {
        let mut reno = Windowed::new(Reno);
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
        let mut reno = Windowed::new(Reno);
        reno.on_ack(&Ack { window_limited: false, ..ack(10) });
        assert_eq!(reno.window(), INITIAL_WINDOW);
    }

    #[test]
    fn the_window_never_falls_below_one_packet() {
        let mut reno = Windowed::new(Reno);
        for _ in 0..10 {
            reno.on_congestion(Congestion::Timeout, 0);
            reno.on_congestion(Congestion::Loss, 0);
            assert!(reno.window() >= 1);
        }
        assert_eq!(reno.slow_start_threshold(), 2);
    }
}
