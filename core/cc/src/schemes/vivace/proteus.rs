//! Vivace as PCC-Uspace has it since PCC Proteus (30c2cfe; Meng et al., SIGCOMM 2020): the primary sender.
//!
//! ```text
//!          utility falls            the majority of three pairs
//! Starting ─────────────► Probing ─────────────────────────────► Moving ─┐
//!          ◄─────────────  ▲   └──┘ no majority                     │ ▲  │ utility agrees with
//!           at the least   └───────────────────────────────────────┘ └──┘ the direction
//!           rate
//! ```

use super::controller::{gradient, payload_rate, wire_rate};
use super::rtt_trend::RttTrend;
use super::utility::Utility;
use super::{Measurement, Plan, Rtts};
use crate::parts::random::Random;
use crate::{NANOS_PER_S, NEVER, Nanos};

/// Rates are in bit/s, as in the implementation. Its utility uses Mbit/s of 10^6, its steps of 2^20.
const BIT: f64 = 1.0;
const UTILITY_MEGABIT: f64 = 1e6;
const STEP_MEGABIT: f64 = 1_048_576.0;
/// Ten packets of 1,400 bytes over 100 ms, or over the RTT if that is shorter.
const RATE_INITIAL: f64 = 10.0 * 1_400.0 * 8.0 / 0.1;
const RTT_INITIAL: f64 = 0.1;
/// Also the smallest step.
const RATE_MIN: f64 = 500e3;
/// Keeps sums finite. QUIC's bandwidth type holds far larger rates.
const RATE_MAX: f64 = 1e12;
/// Probes are above and below the base by this share.
const PROBE: f64 = 0.05;
const PAIRS: usize = 3;
const PROBES: usize = 2 * PAIRS;
/// A step is at most this share of the rate, and this much more after each step that was cut short.
const STEP_MAX: f64 = 0.05;
const STEP_INCREMENT: f64 = 0.05;
/// Steps in one direction grow with this power of half their number.
const AMPLIFIER: f64 = 1.2;
/// Least RTT samples per interval.
const RTT_SAMPLES: u32 = 4;
/// While starting, smaller changes of the RTT over an interval, in seconds, are ignored.
const STARTING_CHANGE: f64 = 0.001;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Starting,
    Probing,
    Moving,
}

/// A rate and its utility.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    rate: f64,
    utility: f64,
}

/// The controller. Internal rates are in bit/s on the wire.
#[derive(Clone, Debug, Default)]
pub struct Proteus {
    mode: Mode,
    /// The rate between trials, and the current rate.
    base: f64,
    rate: f64,
    /// The first interval of the current trials.
    first_id: u64,
    begun: usize,
    measured_trials: usize,
    trials: [Trial; PROBES],
    latest: Trial,
    upwards: bool,
    /// Steps in one direction.
    rounds: u32,
    /// Steps that were cut short.
    increments: f64,
    trend: RttTrend,
    has_rtt: bool,
    random: Random,
}

impl Proteus {
    /// `seed` draws the order of probes.
    pub fn new(seed: u64) -> Self {
        Self {
            base: RATE_INITIAL,
            rate: RATE_INITIAL,
            upwards: true,
            rounds: 1,
            random: Random::new(seed),
            ..Self::default()
        }
    }

    pub(super) fn rate(&self) -> f64 {
        payload_rate(self.rate, BIT)
    }

    pub(super) fn on_first_rtt(&mut self, rtt: Nanos) {
        self.has_rtt = true;
        let rtt = (rtt as f64 / NANOS_PER_S).max(1e-6);
        if rtt < RTT_INITIAL {
            self.base *= RTT_INITIAL / rtt;
        }
    }

    pub(super) fn plan(&mut self, id: u64, rtts: Rtts) -> Plan {
        let trials = if self.mode == Mode::Probing { PROBES } else { 1 };
        if !self.has_rtt || self.begun >= trials {
            // All trials are under way: wait for their results.
            self.rate = self.base;
            return Plan { rate: self.rate(), duration: NEVER, rtt_samples: 0 };
        }
        if self.begun == 0 {
            self.first_id = id;
            self.measured_trials = 0;
        }
        self.rate = if self.mode == Mode::Probing { self.probe_rate() } else { self.base };
        self.trials[self.begun] = Trial { rate: self.rate, utility: 0.0 };
        self.begun += 1;
        Plan { rate: self.rate(), duration: rtts.min, rtt_samples: RTT_SAMPLES }
    }

    /// The order within a pair is random.
    fn probe_rate(&mut self) -> f64 {
        self.upwards = if self.begun % 2 == 0 { self.random.next() & 1 == 1 } else { !self.upwards };
        self.base * if self.upwards { 1.0 + PROBE } else { 1.0 - PROBE }
    }

    pub(super) fn learn(&mut self, measured: &Measurement) -> bool {
        if measured.id < self.first_id || self.measured_trials >= self.begun {
            return false;
        }
        self.trials[self.measured_trials].utility = self.utility(measured);
        self.measured_trials += 1;
        let trials = if self.mode == Mode::Probing { PROBES } else { 1 };
        if self.measured_trials < trials {
            return false;
        }
        self.begun = 0;
        match self.mode {
            Mode::Starting => self.learn_start(),
            Mode::Probing => self.learn_probes(),
            Mode::Moving => self.learn_move(),
        }
        self.base = self.base.min(RATE_MAX);
        true
    }

    fn utility(&mut self, measured: &Measurement) -> f64 {
        let unusual = self.trend.observe(measured.mean_rtt);
        // Ignore a gradient that scatter of the RTTs can explain.
        let scatter = measured.rtt_residual / measured.mean_rtt.max(1e-9);
        let mut slope = measured.rtt_gradient;
        if scatter >= slope.abs() && !unusual {
            slope = 0.0;
        }
        let seconds = measured.duration as f64 / NANOS_PER_S;
        if self.mode == Mode::Starting && slope.abs() * seconds < STARTING_CHANGE {
            slope = 0.0;
        }
        let loss = measured.lost as f64 / measured.packets.max(1) as f64;
        // Do not reward a falling RTT.
        Utility::PROTEUS.of(wire_rate(measured.rate, UTILITY_MEGABIT), loss, slope.max(0.0))
    }

    fn learn_start(&mut self) {
        if self.trials[0].utility > self.latest.utility {
            self.base *= 2.0;
            self.latest = self.trials[0];
            self.rounds = self.rounds.saturating_add(1);
        } else {
            self.base = (self.base * 0.5).max(RATE_MIN);
            self.mode = Mode::Probing;
            self.rounds = 1;
        }
    }

    fn learn_probes(&mut self) {
        let ups = (0..PAIRS).filter(|&pair| self.prefers_up(pair)).count();
        // Two of three pairs suffice to go up, but all three must agree to go down.
        if ups == 1 {
            self.rounds = self.rounds.saturating_add(1);
        } else {
            self.upwards = ups > 1;
            let agreeing = (0..PAIRS).rev().find(|&pair| self.prefers_up(pair) == self.upwards);
            self.latest = agreeing.map_or(self.latest, |pair| self.better(pair));
            self.rounds = 1;
            // Reset the bound of steps.
            self.increments = 0.0;
            self.base *= if self.upwards { 1.0 + PROBE } else { 1.0 - PROBE };
            let step = self.step(self.mean_gradient());
            self.mode = Mode::Moving;
            self.take(step);
        }
        if (self.rounds > 1 || self.mode == Mode::Moving) && self.base <= RATE_MIN {
            self.base = RATE_MIN;
            self.increments = 0.0;
            self.rounds = 1;
            self.mode = Mode::Starting;
        }
    }

    /// The pair's trial of the higher utility.
    fn better(&self, pair: usize) -> Trial {
        let (first, second) = (self.trials[2 * pair], self.trials[2 * pair + 1]);
        if first.utility > second.utility { first } else { second }
    }

    fn prefers_up(&self, pair: usize) -> bool {
        let (first, second) = (self.trials[2 * pair], self.trials[2 * pair + 1]);
        (first.utility > second.utility) == (first.rate > second.rate)
    }

    /// Average the agreeing pairs over all pairs, so a dissenting pair makes the step smaller.
    fn mean_gradient(&self) -> f64 {
        let (first, second) = (self.trials[0].rate, self.trials[1].rate);
        let difference: f64 = (0..PAIRS)
            .filter(|&pair| self.prefers_up(pair) == self.upwards)
            .map(|pair| (self.trials[2 * pair].utility - self.trials[2 * pair + 1].utility).abs())
            .sum();
        gradient((0.0, 0.0), ((first - second).abs(), difference / PAIRS as f64))
    }

    fn learn_move(&mut self) {
        let (now, before) = (self.trials[0], self.latest);
        let slope = gradient((before.rate, before.utility), (now.rate, now.utility));
        if (slope > 0.0 && self.upwards) || (slope < 0.0 && !self.upwards) {
            self.rounds = self.rounds.saturating_add(1);
            let step = self.amplified_step(slope.abs());
            self.take(step);
            self.latest = now;
        } else {
            // Take the step back and probe again.
            self.rounds = 1;
            let step = self.amplified_step(slope.abs());
            self.base += if self.upwards { -step } else { step };
            self.mode = Mode::Probing;
            self.keep_least();
        }
    }

    fn take(&mut self, step: f64) {
        self.base += if self.upwards { step } else { -step };
        self.keep_least();
    }

    fn keep_least(&mut self) {
        if self.base < RATE_MIN {
            self.base = RATE_MIN;
            self.increments = 0.0;
            self.rounds = 1;
            self.mode = Mode::Probing;
        }
    }

    fn amplified_step(&mut self, slope: f64) -> f64 {
        // In whole numbers: 1, 1, 2, 2, 3, …
        let half = f64::from(self.rounds.div_ceil(2));
        self.step(slope * libm::pow(half, AMPLIFIER))
    }

    /// The step in bit/s for a gradient in utility per bit/s.
    fn step(&mut self, slope: f64) -> f64 {
        let step = slope * STEP_MEGABIT * STEP_MEGABIT;
        let limit = self.base * (STEP_MAX + STEP_INCREMENT * self.increments);
        if step > limit {
            self.increments += 1.0;
            return limit.max(RATE_MIN);
        }
        self.increments = (self.increments - 1.0).max(0.0);
        step.max(RATE_MIN)
    }
}

#[cfg(test)]
mod tests;
