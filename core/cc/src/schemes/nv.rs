//! TCP-NV, Vegas for data centres (Brakmo, "TCP-NV: Congestion Avoidance for Data Centers", Linux Plumbers 2010; Linux's nv).

use crate::parts::random::Random;
use crate::parts::window::{Window, WindowBased};
use crate::{Ack, Congestion, Context, Nanos, Recovery, SECOND};

/// Linux's parameters: packets that may queue, and the margin below that where growth stops.
const PAD: u32 = 10;
const PAD_BUFFER: u32 = 2;
/// Mean time between resets of the smallest RTT.
const RESET_PERIOD: Nanos = 5 * SECOND;
const FIRST_RESET: Nanos = 2 * SECOND;
/// A decision removes 30 % of the excess, in 1/128.
const DECREASE_128: u32 = 30 * 128 / 100;
/// A loss leaves 80 % of the window, in 1/1024.
const LOSS_FACTOR_1024: u64 = 819;
/// RTT samples needed to decrease, to grow and to end slow start.
const SAMPLES_TO_DECREASE: u32 = 60;
const SAMPLES_TO_INCREASE: u32 = 20;
const SAMPLES_TO_LEAVE_SLOW_START: u32 = 30;
/// Round trips before a decrease, and before growth stops for lack of samples.
const ROUNDS_TO_DECREASE: u32 = 2;
const ROUNDS_TO_STOP: u32 = 10;
/// Round trips without congestion before slowed growth doubles.
const ROUNDS_TO_SPEED_UP: u32 = 8;
const SLOWEST_GROWTH: u32 = 8;
const WINDOW_MIN: u32 = 2;

/// Keeps the window at the measured rate times the smallest RTT, plus a few packets.
#[derive(Clone, Debug, Default)]
pub struct Nv {
    random: Random,
    may_grow: bool,
    /// A reduction is under way; restart measuring after it.
    resets: bool,
    /// The window grows by a packet every 2^slowness round trips.
    slowness: u32,
    smoothed_rtt: Nanos,
    min_rtt: Nanos,
    next_min_rtt: Nanos,
    reset_at: Option<Nanos>,
    /// Largest rate of the round in packets per second.
    max_rate: f64,
    samples: u32,
    rounds: u32,
    calm_rounds: u32,
    round_end: u64,
}

impl Nv {
    pub fn new(context: &Context) -> Self {
        Self {
            random: Random::new(context.seed),
            may_grow: true,
            min_rtt: Nanos::MAX,
            next_min_rtt: Nanos::MAX,
            ..Self::default()
        }
    }

    fn measure(&mut self, window: &mut Window, ack: &Ack, rtt: Nanos, delivered: u64) {
        if self.smoothed_rtt > 0 {
            self.smoothed_rtt = self.smoothed_rtt.midpoint(rtt);
        } else {
            self.smoothed_rtt = rtt;
            self.min_rtt = rtt.saturating_mul(2);
        }
        let rtt = self.smoothed_rtt.max(1);
        self.max_rate = self.max_rate.max(delivered as f64 * SECOND as f64 / rtt as f64);
        self.samples = self.samples.saturating_add(1).min(255);
        self.min_rtt = self.min_rtt.min(rtt);
        self.next_min_rtt = self.next_min_rtt.min(rtt);
        let reset_at = *self.reset_at.get_or_insert(ack.now + FIRST_RESET);
        if ack.now >= reset_at {
            self.min_rtt = self.next_min_rtt;
            self.next_min_rtt = Nanos::MAX;
            // Random within 3/4 and 5/4 of the period, so flows do not reset in step.
            let share = 384 + (self.random.next() >> 56);
            self.reset_at = Some(ack.now + RESET_PERIOD / 512 * share);
        }
        if ack.una > self.round_end {
            self.round_end = ack.next;
            self.rounds = self.rounds.saturating_add(1);
            self.decide(window);
        }
    }

    /// Once per round trip, compare the window with the BDP at the largest rate plus the pad.
    fn decide(&mut self, window: &mut Window) {
        let packets = window.packets;
        let needed = (self.max_rate * self.min_rtt as f64 / SECOND as f64).min(1e9) as u32;
        let largest = needed + PAD;
        if packets > largest {
            if self.rounds < ROUNDS_TO_DECREASE {
                return;
            }
            if window.threshold == u32::MAX {
                if self.samples < SAMPLES_TO_LEAVE_SLOW_START {
                    return;
                }
            } else if self.samples < SAMPLES_TO_DECREASE {
                if self.rounds > ROUNDS_TO_STOP {
                    self.may_grow = false;
                }
                return;
            }
            self.may_grow = false;
            window.threshold = largest;
            let excess = packets - largest;
            window.packets =
                if excess > 2 { packets - ((excess * DECREASE_128) >> 7).max(2) } else { largest };
            self.calm_rounds = 0;
        } else if packets + PAD_BUFFER <= largest {
            if self.samples < SAMPLES_TO_INCREASE {
                return;
            }
            self.may_grow = true;
            self.calm_rounds += 1;
            if self.slowness > 0 && self.calm_rounds > ROUNDS_TO_SPEED_UP {
                self.slowness -= 1;
                self.calm_rounds = 0;
            }
        } else {
            return;
        }
        self.samples = 0;
        self.rounds = 0;
        self.max_rate = 0.0;
        window.packets = window.packets.max(WINDOW_MIN);
    }

    fn forget(&mut self, ack: &Ack) {
        self.resets = false;
        self.calm_rounds = 0;
        self.rounds = 0;
        self.smoothed_rtt = 0;
        self.max_rate = 0.0;
        self.samples = 0;
        self.round_end = ack.una;
    }
}

impl WindowBased for Nv {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.recovery == Recovery::Open {
            if self.resets {
                self.forget(ack);
            }
            if let (Some(rtt), Some(newest)) = (ack.rtt, ack.newest) {
                // Linux counts packets delivered between the packet's departure and its ACK.
                self.measure(window, ack, rtt, ack.total_delivered.saturating_sub(newest.delivered));
            }
        }
        if ack.may_grow && ack.window_limited && self.may_grow {
            window.grow(ack.delivered, |packets| match self.slowness {
                0 => packets.max(4),
                slowness => packets.saturating_mul(1 << slowness),
            });
        }
    }

    fn on_congestion(&mut self, window: &mut Window, kind: Congestion, _now: Nanos) {
        window.reduce(((u64::from(window.packets) * LOSS_FACTOR_1024) >> 10) as u32, kind);
        self.resets = true;
        self.may_grow = false;
        if kind.is_timeout() {
            self.slowness = (self.slowness + 1).min(SLOWEST_GROWTH);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CongestionControl, RTT, Windowed, avoiding_at, round_of_acks};

    #[test]
    fn a_window_beyond_the_rate_at_the_smallest_rtt_and_the_pad_comes_down_by_30_percent_of_the_excess() {
        let mut nv = avoiding_at(200, Nv::new(&Context::default()));
        // The rate of 200 packets in 150 ms needs 133 packets at 100 ms, 143 with the pad.
        nv.scheme.max_rate = 200.0 / 0.15;
        nv.scheme.min_rtt = 100_000_000;
        nv.scheme.rounds = ROUNDS_TO_DECREASE;
        nv.scheme.samples = SAMPLES_TO_DECREASE - 1;
        nv.scheme.decide(&mut nv.window);
        assert_eq!(nv.window(), 200, "60 samples are needed");
        nv.scheme.samples += 1;
        nv.scheme.decide(&mut nv.window);
        assert_eq!((nv.window(), nv.slow_start_threshold()), (200 - 57 * 38 / 128, 143));
        assert!(!nv.scheme.may_grow);
    }

    #[test]
    fn without_queueing_it_grows_a_packet_a_round() {
        let mut nv = avoiding_at(100, Nv::new(&Context::default()));
        let mut now = RTT;
        for _ in 0..10 {
            now = round_of_acks(&mut nv, now);
        }
        assert!(nv.window().abs_diff(110) <= 2, "{}", nv.window());
    }

    #[test]
    fn a_loss_leaves_80_percent() {
        let mut nv = Windowed::new(Nv::new(&Context::default()));
        nv.window.packets = 1024;
        nv.on_congestion(Congestion::Loss, 0);
        assert_eq!(nv.window(), 819);
    }
}
