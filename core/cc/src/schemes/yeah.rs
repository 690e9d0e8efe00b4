//! YeAH-TCP (Baiocchi, Castellani and Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", PFLDnet 2007).

use crate::parts::round_rtt::RoundRtt;
use crate::parts::window::{Window, WindowBased};
use crate::{Ack, Congestion, Nanos};

/// §III: Q_max, queued packets that start decongestion.
const QUEUE_MAX: u32 = 80;
/// §III: φ; slow mode begins when the queueing delay exceeds 1/φ of the base RTT.
const PHI: Nanos = 8;
/// §III: ρ, round trips in slow mode before a loss halves the window.
const RHO: u32 = 16;
/// §III: ζ, round trips in fast mode before competing flows are assumed gone.
const ZETA: u32 = 50;
/// §III: ε and δ as shifts: at most half of the window to decongest, at least an eighth after a loss.
const EPSILON: u32 = 1;
const DELTA: u32 = 3;
/// Scalable TCP's growth in fast mode.
const PACKETS_PER_INCREASE: u32 = 100;

/// Scalable TCP while the queue is short, Reno with precautionary decongestion while it is long.
#[derive(Clone, Debug)]
pub struct Yeah {
    rtt: RoundRtt,
    last_queue: u32,
    /// Estimated window of a competing Reno flow.
    reno_count: u32,
    fast_count: u32,
    /// Round trips in slow mode; 0 in fast mode.
    slow_rounds: u32,
}

impl Yeah {
    pub fn new() -> Self {
        Self { rtt: RoundRtt::default(), last_queue: 0, reno_count: 2, fast_count: 0, slow_rounds: 0 }
    }

    fn end_round(&mut self, window: &mut Window) {
        let (base, min) = (self.rtt.base, self.rtt.min);
        let packets = window.packets;
        let queueing = min - base;
        let queue = (u128::from(packets) * u128::from(queueing) / u128::from(min)) as u32;
        if queue > QUEUE_MAX || queueing > base / PHI {
            if queue > QUEUE_MAX && packets > self.reno_count {
                // §III: drain the queue, by at most half of the window.
                let reduced = packets - queue.min(packets >> EPSILON);
                window.packets = reduced.max(self.reno_count);
                window.threshold = window.packets;
            }
            self.reno_count =
                if self.reno_count <= 2 { (window.packets / 2).max(2) } else { self.reno_count + 1 };
            self.slow_rounds = self.slow_rounds.saturating_add(1);
        } else {
            self.fast_count += 1;
            if self.fast_count > ZETA {
                self.reno_count = 2;
                self.fast_count = 0;
            }
            self.slow_rounds = 0;
        }
        self.last_queue = queue;
    }
}

impl WindowBased for Yeah {
    fn on_restart(&mut self, _now: Nanos, _idle: Nanos) {
        self.rtt.restart();
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.rtt.observe(ack);
        if !ack.may_grow || !ack.window_limited {
            return;
        }
        let max_per_packet = if self.slow_rounds == 0 { PACKETS_PER_INCREASE } else { u32::MAX };
        window.grow(ack.delivered, |packets| packets.min(max_per_packet));
        if self.rtt.has_ended(ack) {
            if self.rtt.samples > 2 {
                self.end_round(window);
            }
            self.rtt.begin(ack.next);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, kind: Congestion, _now: Nanos) {
        self.rtt.on_congestion(kind);
        let packets = window.packets;
        let half = (packets / 2).max(2);
        let reduction =
            if self.slow_rounds < RHO { self.last_queue.min(half).max(packets >> DELTA) } else { half };
        self.fast_count = 0;
        self.reno_count = (self.reno_count / 2).max(2);
        window.reduce(packets.saturating_sub(reduction), kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, CongestionControl, RTT, Windowed, round_at};

    fn avoiding_at(window: u32) -> Windowed<Yeah> {
        let mut yeah = testing::avoiding_at(window, Yeah::new());
        yeah.scheme.rtt.base = RTT;
        yeah
    }

    #[test]
    fn with_a_short_queue_it_grows_like_scalable_tcp_and_loses_an_eighth() {
        let mut yeah = avoiding_at(800);
        round_at(&mut yeah, RTT, RTT);
        assert_eq!(yeah.window(), 808);
        yeah.on_congestion(Congestion::Loss, 0);
        assert_eq!(yeah.window(), 808 - 101);
    }

    #[test]
    fn a_long_queue_is_taken_out_of_the_window_once_a_round() {
        // §III: Q = cwnd (RTT - base) / RTT = 800 × 20 / 120 = 133 packets.
        let mut yeah = avoiding_at(800);
        let mut now = RTT;
        let mut lowest = u32::MAX;
        for _ in 0..3 {
            now = round_at(&mut yeah, now, RTT * 12 / 10);
            lowest = lowest.min(yeah.window());
        }
        assert!((500..700).contains(&lowest), "{lowest}");
        assert!(yeah.scheme.slow_rounds > 0);
    }
}
