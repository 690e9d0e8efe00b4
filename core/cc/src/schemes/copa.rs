//! Copa (Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018).

mod standing_queue;

use standing_queue::Queue;

use crate::{Ack, Congestion, CongestionControl, INITIAL_WINDOW, NANOS_PER_S, Nanos, SEGMENT_BYTES};

/// §2.2: 1/δ in the default mode, the packets to keep queued; the minimum in the competitive mode.
const PACKETS_QUEUED: f64 = 2.0;
/// §2.1: round trips in one direction before the velocity doubles.
const STEADY_ROUNDS: u32 = 3;
/// §2.1: packets are paced at 2·cwnd/RTTstanding.
const PACING_GAIN: f64 = 2.0;
const WINDOW_MIN: f64 = 2.0;
const WINDOW_MAX: f64 = 1e9;

/// The direction of the window in the last round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// Moves the window towards the rate 1/(δ·queueing delay), which keeps about 1/δ packets per flow queued.
#[derive(Clone, Debug)]
pub struct Copa {
    /// In packets, with fractions.
    window: f64,
    /// Window and slow start before the last timeout.
    prior: (f64, bool),
    slow_start: bool,
    queue: Queue,
    /// 1/δ in packets.
    inverse_delta: f64,
    velocity: f64,
    direction: Direction,
    /// Round trips in this direction.
    steady_rounds: u32,
    /// Window at the start of the round, and packets delivered then: delivery of a later packet ends the round.
    round_window: f64,
    round_end: u64,
    /// Packets were lost in this round.
    lost: bool,
}

impl Copa {
    pub const fn new() -> Self {
        let window = INITIAL_WINDOW as f64;
        Self {
            window,
            prior: (window, true),
            slow_start: true,
            queue: Queue::new(),
            inverse_delta: PACKETS_QUEUED,
            velocity: 1.0,
            direction: Direction::Up,
            steady_rounds: 0,
            round_window: window,
            round_end: 0,
            lost: false,
        }
    }

    /// Once per round trip, update the velocity and δ.
    fn end_round(&mut self, ack: &Ack) {
        let direction = if self.window > self.round_window { Direction::Up } else { Direction::Down };
        if direction == self.direction {
            self.steady_rounds += 1;
            // §2.1: "if direction is the same as in the previous window, then double v ... However, start doubling v
            // only after the direction has remained the same for three RTTs."
            if self.steady_rounds >= STEADY_ROUNDS && !self.slow_start {
                self.velocity *= 2.0;
            }
        } else {
            self.turn(direction);
        }
        // §2.2: AIMD on 1/δ. Losses have halved it already.
        if self.queue.has_competitors(ack.now) {
            if !self.lost {
                self.inverse_delta += 1.0;
            }
        } else {
            self.inverse_delta = PACKETS_QUEUED;
        }
        self.lost = false;
        self.round_window = self.window;
        self.round_end = ack.total_delivered;
    }

    const fn turn(&mut self, direction: Direction) {
        self.direction = direction;
        self.velocity = 1.0;
        self.steady_rounds = 0;
    }

    /// §2.1, step 3: v/(δ·cwnd) up or down for each packet.
    fn step(&mut self, direction: Direction, ack: &Ack) {
        // Reset the velocity when the direction changes, like the public implementations.
        if direction != self.direction && self.velocity > 1.0 {
            self.turn(direction);
        }
        // At most double or halve the window in a round trip.
        let velocity = self.velocity.min(self.window / self.inverse_delta).max(1.0);
        let step = velocity * self.inverse_delta * f64::from(ack.delivered) / self.window;
        match direction {
            Direction::Up if ack.window_limited => self.window += step,
            Direction::Up => {}
            Direction::Down => self.window -= step.min(self.window / 2.0),
        }
    }
}

impl CongestionControl for Copa {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.queue.observe(ack.now, rtt, ack.srtt);
        }
        if ack.newest.is_some_and(|newest| newest.delivered >= self.round_end) {
            self.end_round(ack);
        }
        if ack.delivered == 0 || !self.queue.is_known() {
            return;
        }
        // cwnd/RTTstanding ≤ 1/(δ·dq), without dividing by the delay, which may be zero.
        let below = self.window * self.queue.delay() <= self.inverse_delta * self.queue.standing();
        if !below {
            self.slow_start = false;
            self.step(Direction::Down, ack);
        } else if !self.slow_start {
            self.step(Direction::Up, ack);
        } else if ack.window_limited {
            self.window += f64::from(ack.delivered);
        }
        self.window = self.window.clamp(WINDOW_MIN, WINDOW_MAX);
    }

    fn on_congestion(&mut self, kind: Congestion, now: Nanos) {
        self.lost = true;
        // §2.2: only in the competitive mode does a loss halve 1/δ.
        if self.queue.has_competitors(now) {
            self.inverse_delta = (self.inverse_delta / 2.0).max(PACKETS_QUEUED);
        }
        // The paper leaves timeouts to the transport: start over.
        if kind.is_timeout() {
            if kind == Congestion::Timeout {
                self.prior = (self.window, self.slow_start);
            }
            self.window = WINDOW_MIN;
            self.slow_start = true;
            self.turn(Direction::Up);
        }
    }

    fn on_undo(&mut self, _now: Nanos) {
        let (window, slow_start) = self.prior;
        if window > self.window {
            self.window = window;
            self.slow_start = slow_start;
        }
    }

    fn window(&self) -> u32 {
        self.window as u32
    }

    fn slow_start_threshold(&self) -> u32 {
        if self.slow_start { u32::MAX } else { WINDOW_MIN as u32 }
    }

    fn pacing_rate(&self) -> Option<u64> {
        let standing = self.queue.is_known().then(|| self.queue.standing())?;
        let rate = PACING_GAIN * self.window * f64::from(SEGMENT_BYTES) * NANOS_PER_S / standing;
        Some((rate as u64).max(1))
    }

    /// §2.1 paces against bursts. Linux's bursts are larger than the queue that Copa targets.
    fn paces_single_packets(&self) -> bool {
        true
    }

    fn wants_rate_reduction(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
