//! The AIMD rate (draft §5.5; Carlucci et al. §4.3).

use std::collections::VecDeque;

use super::over_use::Usage;
use crate::{NANOS_PER_MS, NANOS_PER_S, Nanos};

/// A decrease goes to this share of the received rate (β).
const DECREASE: f64 = 0.85;
/// Growth per second far from convergence (η).
const INCREASE_PER_S: f64 = 1.08;
/// The rate stays below this multiple of the received rate.
const MOST_OF_RECEIVED: f64 = 1.5;
/// Near convergence the rate grows by half a packet in this time and an RTT.
const RESPONSE_MS: f64 = 100.0;
/// The draft's frame rate and packet size for that packet.
const FRAMES_PER_S: f64 = 30.0;
const PACKET_BITS: f64 = 1_200.0 * 8.0;
const LEAST_STEP_BPS: f64 = 1_000.0;
/// The received rate is measured over this window (draft §5.5: 0.5 to 1 s).
const WINDOW: Nanos = 500_000_000;
/// Weight of a new sample in the average rate at decreases (draft §5.5: smoothing of 0.95).
const SMOOTHING: f64 = 0.05;
/// Range of the normalised variance of that rate, in kbit/s (libwebrtc).
const VARIANCE_KBPS: (f64, f64) = (0.4, 2.5);
/// Standard deviations from the average within which the rate has converged.
const DEVIATIONS: f64 = 3.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
    Decrease,
}

/// The average received rate at decreases, in kbit/s, and its variance over the average.
#[derive(Clone, Copy, Debug)]
struct Capacity {
    mean: f64,
    variance: f64,
}

impl Capacity {
    fn spread(&self) -> f64 {
        DEVIATIONS * (self.variance * self.mean).sqrt()
    }
}

/// The rate and its state.
#[derive(Clone, Debug)]
pub struct RateControl {
    rate: f64,
    min: f64,
    max: f64,
    state: State,
    updated: Option<Nanos>,
    capacity: Option<Capacity>,
    /// Arrivals within the window, and their bytes.
    arrivals: VecDeque<(Nanos, u32)>,
    bytes: u64,
}

impl RateControl {
    /// Create with these rates in bit/s.
    pub const fn new(start: f64, min: f64, max: f64) -> Self {
        Self {
            rate: start,
            min,
            max,
            state: State::Hold,
            updated: None,
            capacity: None,
            arrivals: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Count `bytes` that arrived at `at`.
    pub fn on_arrival(&mut self, at: Nanos, bytes: u32) {
        self.arrivals.push_back((at, bytes));
        self.bytes += u64::from(bytes);
        while let Some(&(first, bytes)) = self.arrivals.front().filter(|(first, _)| *first + WINDOW <= at) {
            debug_assert!(first < at);
            self.arrivals.pop_front();
            self.bytes -= u64::from(bytes);
        }
    }

    /// Set the rate after a report that arrived at `now`.
    pub fn update(&mut self, now: Nanos, rtt: Nanos, usage: Usage) {
        // Draft §5.5: the table of states and signals.
        self.state = match (usage, self.state) {
            (Usage::Over, _) => State::Decrease,
            (Usage::Normal, State::Hold | State::Increase) => State::Increase,
            (Usage::Normal, State::Decrease) | (Usage::Under, _) => State::Hold,
        };
        let received = self.bytes as f64 * 8.0 * NANOS_PER_S / WINDOW as f64;
        let elapsed_s = self.updated.map_or(0.0, |updated| (now - updated) as f64 / NANOS_PER_S);
        self.updated = Some(now);
        match self.state {
            State::Hold => {}
            State::Increase => self.increase(received, elapsed_s, rtt as f64 / NANOS_PER_MS),
            State::Decrease => self.decrease(received),
        }
    }

    /// The rate in bit/s.
    pub const fn rate_bps(&self) -> f64 {
        self.rate
    }

    fn increase(&mut self, received: f64, elapsed_s: f64, rtt_ms: f64) {
        // The path has changed: back to multiplicative steps.
        self.capacity = self.capacity.filter(|average| received / 1e3 <= average.mean + average.spread());
        let grown = if self.capacity.is_some() {
            let share = (elapsed_s * 1e3 / (RESPONSE_MS + rtt_ms)).min(1.0);
            let frame_bits = self.rate / FRAMES_PER_S;
            let packet_bits = frame_bits / (frame_bits / PACKET_BITS).ceil();
            self.rate + (0.5 * share * packet_bits).max(LEAST_STEP_BPS)
        } else {
            self.rate * libm::pow(INCREASE_PER_S, elapsed_s.min(1.0))
        };
        // A rate that is above this bound already stays.
        let bound = (MOST_OF_RECEIVED * received).max(self.rate);
        self.rate = grown.min(bound).clamp(self.min, self.max);
    }

    fn decrease(&mut self, received: f64) {
        self.rate = (DECREASE * received).min(self.rate).clamp(self.min, self.max);
        let sample = received / 1e3;
        let fresh = Capacity { mean: sample, variance: VARIANCE_KBPS.0 };
        self.capacity =
            Some(match self.capacity.filter(|average| sample >= average.mean - average.spread()) {
                None => fresh,
                Some(average) => {
                    let mean = (1.0 - SMOOTHING) * average.mean + SMOOTHING * sample;
                    let error = mean - sample;
                    let variance =
                        (1.0 - SMOOTHING) * average.variance + SMOOTHING * error * error / mean.max(1.0);
                    Capacity { mean, variance: variance.clamp(VARIANCE_KBPS.0, VARIANCE_KBPS.1) }
                }
            });
    }
}
