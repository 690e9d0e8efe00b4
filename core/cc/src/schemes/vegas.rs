//! TCP Vegas (Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", JSAC 13(8), 1995).

use crate::parts::round_rtt::RoundRtt;
use crate::parts::window::{Window, WindowBased};
use crate::{Ack, Congestion, Nanos};

/// §3.2: bounds of the packets that the flow keeps queued.
const ALPHA: u64 = 2;
const BETA: u64 = 4;
/// §3.3: queued packets that end slow start.
const GAMMA: u64 = 1;

/// Compares the expected with the actual rate once per round trip.
#[derive(Clone, Debug, Default)]
pub struct Vegas {
    rtt: RoundRtt,
}

impl Vegas {
    fn end_round(&self, window: &mut Window, ack: &Ack) {
        // Few samples may all come from delayed ACKs: grow like Reno.
        if self.rtt.samples <= 2 {
            if ack.window_limited {
                window.grow_as_reno(ack.delivered);
            }
            return;
        }
        let packets = u64::from(window.packets);
        let target = (u128::from(packets) * u128::from(self.rtt.base) / u128::from(self.rtt.min)) as u64;
        // §3.2: Diff = (Expected - Actual) · BaseRTT
        let queueing = u128::from(self.rtt.min - self.rtt.base);
        let queued = (u128::from(packets) * queueing / u128::from(self.rtt.base)) as u64;
        if window.in_slow_start() {
            if queued > GAMMA {
                window.packets = packets.min(target + 1) as u32;
                window.threshold = window.threshold.min(window.packets);
            } else {
                window.slow_start(ack.delivered);
            }
        } else if queued > BETA {
            window.packets -= 1;
            window.threshold = window.threshold.min(window.packets);
        } else if queued < ALPHA {
            window.packets = window.packets.saturating_add(1);
        }
        window.packets = window.packets.max(2);
        // Linux's tcp_current_ssthresh: not below three quarters of the window.
        let packets = window.packets;
        window.threshold = window.threshold.max(packets / 2 + packets / 4);
    }
}

impl WindowBased for Vegas {
    fn on_restart(&mut self, _now: Nanos, _idle: Nanos) {
        self.rtt.restart();
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.rtt.observe(ack);
        if !ack.may_grow {
            return;
        }
        if !self.rtt.active {
            if ack.window_limited {
                window.grow_as_reno(ack.delivered);
            }
        } else if self.rtt.has_ended(ack) {
            self.end_round(window, ack);
            self.rtt.begin(ack.next);
        } else {
            window.slow_start(ack.delivered);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, kind: Congestion, _now: Nanos) {
        self.rtt.on_congestion(kind);
        window.reduce(window.packets / 2, kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, CongestionControl, RTT, Windowed, round_at};

    fn avoiding_at(window: u32) -> Windowed<Vegas> {
        let mut vegas = testing::avoiding_at(window, Vegas::default());
        vegas.scheme.rtt.base = RTT;
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
