//! TCP Vegas (Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", JSAC 13(8), 1995).

use crate::parts::round_rtt::RoundRtt;
use crate::parts::window::Window;
use crate::{Ack, Congestion, CongestionControl, Nanos};

/// §3.2: packets that the flow wants to keep in queues, at least and at most.
const ALPHA: u64 = 2;
const BETA: u64 = 4;
/// §3.3: packets queued that end slow start.
const GAMMA: u64 = 1;

/// Compares the rate it should have with the rate it has, once a round trip.
#[derive(Clone, Debug)]
pub struct Vegas {
    window: Window,
    rtt: RoundRtt,
}

impl Vegas {
    /// A new connection.
    #[must_use]
    pub const fn new() -> Self {
        Self { window: Window::new(), rtt: RoundRtt::new() }
    }

    fn end_round(&mut self, ack: &Ack) {
        // Too few samples may all have been delayed acknowledgements: grow like Reno.
        if self.rtt.samples <= 2 {
            if ack.window_limited {
                self.window.grow_as_reno(ack);
            }
            return;
        }
        let window = u64::from(self.window.packets);
        let target = (u128::from(window) * u128::from(self.rtt.base) / u128::from(self.rtt.min)) as u64;
        // §3.2: Diff = (Expected - Actual) · BaseRTT
        let queueing = u128::from(self.rtt.min - self.rtt.base);
        let queued = (u128::from(window) * queueing / u128::from(self.rtt.base)) as u64;
        if self.window.in_slow_start() {
            if queued > GAMMA {
                self.window.packets = window.min(target + 1) as u32;
                self.lower_threshold();
            } else {
                self.window.slow_start(ack.delivered);
            }
        } else if queued > BETA {
            self.window.packets -= 1;
            self.lower_threshold();
        } else if queued < ALPHA {
            self.window.packets = self.window.packets.saturating_add(1);
        }
        self.window.packets = self.window.packets.max(2);
        // Linux's tcp_current_ssthresh: not below three quarters of the window.
        let packets = self.window.packets;
        self.window.threshold = self.window.threshold.max(packets / 2 + packets / 4);
    }

    fn lower_threshold(&mut self) {
        self.window.threshold = self.window.threshold.min(self.window.packets);
    }
}

impl Default for Vegas {
    fn default() -> Self {
        Self::new()
    }
}

impl CongestionControl for Vegas {
    fn on_restart(&mut self, _now: Nanos, _idle: Nanos) {
        self.rtt.restart();
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.rtt.observe(ack);
        if !ack.may_grow {
            return;
        }
        if !self.rtt.active {
            if ack.window_limited {
                self.window.grow_as_reno(ack);
            }
        } else if self.rtt.has_ended(ack) {
            self.end_round(ack);
            self.rtt.begin(ack.next);
        } else if self.window.in_slow_start() {
            self.window.slow_start(ack.delivered);
        }
    }

    fn on_congestion(&mut self, kind: Congestion, _now: Nanos) {
        self.rtt.on_congestion(kind);
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
    use crate::testing::{RTT, round_at};

    fn avoiding_at(window: u32) -> Vegas {
        let mut vegas = Vegas::new();
        vegas.window.packets = window;
        vegas.window.threshold = window;
        vegas.rtt.base = RTT;
        vegas
    }

    #[test]
    fn it_moves_by_a_packet_a_round_towards_two_to_four_queued_packets() {
        // §3.2: Diff in packets is cwnd (RTT - BaseRTT) / BaseRTT.
        for (queued, expected) in [(1, 1), (3, 0), (6, -1)] {
            let mut vegas = avoiding_at(100);
            let rtt = RTT + RTT / 100 * queued + RTT / 1000;
            let mut now = RTT;
            let mut windows = vec![vegas.window()];
            for _ in 0..4 {
                now = round_at(&mut vegas, now, rtt);
                windows.push(vegas.window());
            }
            let change = i64::from(windows[4]) - i64::from(windows[2]);
            assert_eq!(change.signum(), expected, "{queued} queued: {windows:?}");
        }
    }

    #[test]
    fn it_leaves_slow_start_when_packets_queue() {
        let mut vegas = avoiding_at(100);
        vegas.window.threshold = u32::MAX;
        let mut now = RTT;
        for _ in 0..2 {
            now = round_at(&mut vegas, now, RTT * 11 / 10);
        }
        assert!(!vegas.window.in_slow_start());
    }
}
