//! CAIA Delay-Gradient (Hayes and Armitage, "Revisiting TCP Congestion Control Using Delay Gradients", Networking 2011).

use crate::parts::random::Random;
use crate::parts::window::{Window, WindowBased};
use crate::{Ack, Congestion, Context, INITIAL_WINDOW, MICROSECOND, Nanos};

/// Round trips over which gradients are summed (Linux's window).
const GRADIENTS: usize = 8;
/// §III-B: β = 0.7; Linux takes √½.
const BETA: f64 = std::f64::consts::FRAC_1_SQRT_2;
/// Linux's backoff_factor in millionths: 1 / (G · window) in 1/µs.
const BACKOFF_PER_US: f64 = 42e-6;
/// §III-C: after this many backoffs without effect, a loss-based flow is assumed to compete.
const INEFFECTUAL: u32 = 5;
/// A summed gradient this low, in µs, shows that a backoff had effect.
const EFFECT_US: i64 = -32;
/// HyStart of Linux's module: gap that ends an ACK train, samples before delay counts, smallest threshold.
const TRAIN_GAP: Nanos = 3_000 * MICROSECOND;
const HYSTART_SAMPLES: u32 = 8;
const HYSTART_FLOOR: Nanos = 125 * MICROSECOND;

/// Smallest and largest RTT of a round in µs; 0 before a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Range {
    min: i64,
    max: i64,
}

/// A window that comes down over a round trip: Linux treats a backoff like an ECN mark, with proportional rate reduction
/// (RFC 6937).
#[derive(Clone, Copy, Debug)]
struct BackingOff {
    /// The reduction ends when a later packet is acknowledged.
    until: u64,
    /// Window and total packets sent at the start, and packets delivered since.
    from: u32,
    sent: u64,
    delivered: u64,
}

impl BackingOff {
    /// RFC 6937 §3: the window after an ACK, on the way down to `threshold`.
    fn window(&mut self, ack: &Ack, threshold: u32) -> u32 {
        self.delivered += u64::from(ack.delivered);
        let sent = ack.total_sent.saturating_sub(self.sent);
        let more = if ack.in_flight > threshold {
            (u64::from(threshold) * self.delivered).div_ceil(u64::from(self.from)).saturating_sub(sent)
        } else {
            // Linux's slow-start reduction bound, plus a packet if nothing is newly lost.
            let bound = self.delivered.saturating_sub(sent).max(u64::from(ack.delivered));
            (bound + u64::from(ack.acked > 0 && ack.lost == 0)).min(u64::from(threshold - ack.in_flight))
        };
        let more = more.max(u64::from(sent == 0));
        ack.in_flight.saturating_add(u32::try_from(more).unwrap_or(u32::MAX)).max(1)
    }
}

/// Backs off at random, more likely the faster delay grows; a shadow window limits the answer to random loss.
#[derive(Clone, Debug, Default)]
pub struct Cdg {
    random: Random,
    rtt: Range,
    previous: Range,
    gradients: [Range; GRADIENTS],
    sum: Range,
    next: usize,
    filled: bool,
    /// Evidence of delayed ACKs, which inflate the RTTs of single packets.
    delayed_acks: u32,
    round_end: u64,
    /// The window of a flow that reacts to loss alone.
    shadow: u32,
    backoffs: u32,
    backing_off: Option<BackingOff>,
    /// A reduction has ended, so the next ACK begins a round.
    round_begins: bool,
    /// HyStart: smallest RTT in µs, last ACK and start of the train, samples of the round.
    smallest: i64,
    train: Option<(Nanos, Nanos)>,
    samples: u32,
}

impl Cdg {
    pub fn new(context: &Context) -> Self {
        Self { random: Random::new(context.seed), shadow: INITIAL_WINDOW, ..Self::default() }
    }

    fn measure(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt.map(|rtt| (rtt / MICROSECOND) as i64).filter(|&rtt| rtt > 0) else { return };
        if ack.sacked == 0 {
            if ack.acked == 1 && self.delayed_acks > 0 {
                // The ACK of a single packet was probably delayed: it may only lower the minimum.
                self.rtt.min = self.rtt.min.min(rtt);
                self.delayed_acks -= 1;
                return;
            }
            if ack.acked > 1 && self.delayed_acks < 5 {
                self.delayed_acks += 1;
            }
        }
        self.rtt.min = if self.rtt.min == 0 { rtt } else { self.rtt.min.min(rtt) };
        self.rtt.max = self.rtt.max.max(rtt);
    }

    /// §III-A: the gradients of the smallest and largest RTT, summed over [`GRADIENTS`] round trips.
    fn gradient(&mut self) -> i64 {
        let gradient = Range { min: self.rtt.min - self.previous.min, max: self.rtt.max - self.previous.max };
        let oldest = std::mem::replace(&mut self.gradients[self.next], gradient);
        self.sum.min += gradient.min - oldest.min;
        self.sum.max += gradient.max - oldest.max;
        self.next = (self.next + 1) % GRADIENTS;
        let mut sum = if self.sum.min > 0 { self.sum.min } else { self.sum.max };
        if !self.filled {
            if self.next == 0 {
                self.filled = true;
            } else {
                sum = sum * GRADIENTS as i64 / self.next as i64;
            }
        }
        if self.sum.min <= EFFECT_US || self.sum.max <= EFFECT_US {
            self.backoffs = 0;
        }
        sum
    }

    /// §III-B: P(backoff) = 1 - exp(-g / G).
    fn backs_off(&mut self, gradient: i64) -> bool {
        if self.random.unit() <= libm::exp(-(gradient as f64) * BACKOFF_PER_US) {
            return false;
        }
        self.backoffs = self.backoffs.saturating_add(1);
        self.backoffs <= INEFFECTUAL
    }

    /// Return whether the end of the round caused a backoff.
    fn end_round(&mut self, window: &mut Window, ack: &Ack) -> bool {
        let gradient = if self.previous == Range::default() { 0 } else { self.gradient() };
        self.begin_round(ack.next);
        if gradient <= 0 || !self.backs_off(gradient) {
            return false;
        }
        self.shadow = self.shadow.max(window.packets);
        let from = window.packets;
        window.reduce((f64::from(from) * BETA) as u32, Congestion::Ecn);
        window.packets = from;
        self.backing_off = Some(BackingOff { until: ack.next, from, sent: ack.total_sent, delivered: 0 });
        true
    }

    fn begin_round(&mut self, next: u64) {
        self.round_end = next;
        self.previous = std::mem::take(&mut self.rtt);
        self.train = None;
        self.samples = 0;
    }

    fn hystart(&mut self, window: &mut Window, ack: &Ack) {
        if self.rtt.min > 0 {
            self.smallest = if self.smallest == 0 { self.rtt.min } else { self.smallest.min(self.rtt.min) };
        }
        if self.smallest == 0 {
            return;
        }
        let smallest = self.smallest as Nanos * MICROSECOND;
        match self.train {
            Some((last, begin)) if ack.window_limited => {
                if ack.now < last + TRAIN_GAP {
                    self.train = Some((ack.now, begin));
                    if ack.now > begin + (smallest / 2).max(HYSTART_FLOOR) {
                        window.threshold = window.packets;
                        return;
                    }
                }
            }
            _ => self.train = Some((ack.now, ack.now)),
        }
        if self.samples < HYSTART_SAMPLES {
            self.samples += 1;
        } else if self.rtt.min as Nanos * MICROSECOND > (smallest + smallest / 8).max(HYSTART_FLOOR) {
            window.threshold = window.packets;
        }
    }
}

impl WindowBased for Cdg {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.measure(ack);
        if let Some(backing_off) = &mut self.backing_off {
            if ack.una <= backing_off.until {
                window.packets = backing_off.window(ack, window.threshold);
                return;
            }
            self.backing_off = None;
            window.packets = window.threshold;
            self.round_begins = true;
        }
        if std::mem::take(&mut self.round_begins) {
            self.round_end = ack.next;
            self.previous = std::mem::take(&mut self.rtt);
        }
        if !ack.may_grow {
            return;
        }
        if window.in_slow_start() {
            self.hystart(window, ack);
        }
        if ack.una > self.round_end && self.rtt != Range::default() && self.end_round(window, ack) {
            return;
        }
        if !ack.window_limited {
            self.shadow = self.shadow.min(window.packets);
            return;
        }
        let before = window.packets;
        window.grow_as_reno(ack.delivered);
        self.shadow = self.shadow.saturating_add(window.packets - before);
    }

    fn on_congestion(&mut self, window: &mut Window, kind: Congestion, _now: Nanos) {
        if self.backing_off.take().is_some() {
            // The reduction under way answers this loss, too.
            window.packets = if kind.is_timeout() { 1 } else { window.threshold };
            return;
        }
        // §III-D: a loss reduces the window to half of the shadow window, if that is larger.
        self.shadow = (self.shadow / 2).min(window.packets);
        window.reduce(self.shadow.max(window.packets / 2), kind);
    }

    fn on_recovered(&mut self, _window: &mut Window, _now: Nanos) {
        self.round_begins = true;
    }
}

#[cfg(test)]
mod tests;
