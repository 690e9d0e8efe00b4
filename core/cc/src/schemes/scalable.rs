//! Scalable TCP (Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", CCR 33(2), 2003).

use crate::parts::window::Window;
use crate::{Ack, Congestion, CongestionControl, Nanos};

/// §3.1: the window grows by a = 0.01 for each acknowledged packet, whatever its size; below 100 packets like Reno's.
const PACKETS_PER_INCREASE: u32 = 100;
/// §3.1: b = 1/8 on a loss.
const DECREASE_SHIFT: u32 = 3;

/// Multiplicative increase, multiplicative decrease: recovery takes the same number of round trips at any rate.
#[derive(Clone, Debug)]
pub struct Scalable {
    window: Window,
}

impl Scalable {
    /// A new connection.
    #[must_use]
    pub const fn new() -> Self {
        Self { window: Window::new() }
    }
}

impl Default for Scalable {
    fn default() -> Self {
        Self::new()
    }
}

impl CongestionControl for Scalable {
    fn on_ack(&mut self, ack: &Ack) {
        if !ack.may_grow || !ack.window_limited {
            return;
        }
        let mut acked = ack.delivered;
        if self.window.in_slow_start() {
            acked = self.window.slow_start(acked);
        }
        if acked > 0 {
            self.window.increase(acked, self.window.packets.min(PACKETS_PER_INCREASE));
        }
    }

    fn on_congestion(&mut self, kind: Congestion, _now: Nanos) {
        let window = self.window.packets;
        self.window.reduce(window - (window >> DECREASE_SHIFT), kind);
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
    use crate::testing::round_of_acks;

    #[test]
    fn a_round_trip_adds_a_hundredth_and_a_loss_takes_an_eighth() {
        let mut scalable = Scalable::new();
        scalable.window.packets = 800;
        scalable.on_congestion(Congestion::Loss, 0);
        assert_eq!(scalable.window(), 700);
        round_of_acks(&mut scalable, 0);
        assert_eq!(scalable.window(), 707);
    }
}
