//! Vivace as a Linux module: PCC-Kernel's branch vivace (ed39d0f).
//!
//! ```text
//!          utility falls            both pairs agree
//! Starting ─────────────► Probing ───────────────────► Moving ─┐ a step up
//!                          ▲   └──┘ they do not         │   ▲──┘
//!                          └────────────────────────────┘ a step down
//! ```

use super::utility::kernel_utility;
use super::{Measurement, Plan, Rtts};
use crate::parts::random::Random;
use crate::{NANOS_PER_S, NEVER, Nanos, SEGMENT_BYTES};

const PACKET: f64 = SEGMENT_BYTES as f64;
/// Initial and least rate in bytes per second, and the least after a step in packets per RTT.
const RATE_INITIAL: f64 = 524_288.0;
const RATE_MIN: f64 = 1_024.0;
const PACKETS_PER_RTT_MIN: f64 = 2.0;
/// sk_max_pacing_rate is practically unlimited; this keeps sums finite.
const RATE_MAX: f64 = 1e11;
/// RTT before the first sample, in seconds.
const RTT_UNKNOWN: f64 = 0.001;
/// Least packets per interval. It also lasts until its first packet is acknowledged.
const INTERVAL_PACKETS: f64 = 50.0;
const PROBE: f64 = 0.05;
const PROBES: usize = 4;
/// Growth per interval while starting.
const STARTING_GAIN: f64 = 1.5;
/// While starting, less loss than this is ignored.
const STARTING_LOSS: f64 = 0.1;
/// Latency inflation below 3 % is ignored, and below two packets' time.
const INFLATION_MIN: f64 = 0.03;
const INFLATION_PACKETS: f64 = 2.0;
/// A step is this times the gradient and the amplifier.
const STEP: f64 = 25_000.0;
const AMPLIFIER_MIN: f64 = 2.0;
/// Most steps after a change of direction before the amplifier grows again.
const SWINGS: u32 = 2;
/// A step changes the rate by at most a tenth, and 7 % more after each step that was cut short.
const BOUND: f64 = 0.1;
const BOUND_INCREMENT: f64 = 0.07;
/// Rates that differ by less do not determine a gradient, so steps are a tenth larger.
const DIFFERENCE_MIN: f64 = 0.02;
const STEP_MIN: f64 = 1.1 * DIFFERENCE_MIN;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Starting,
    Probing,
    Moving,
    /// Recovering from a timeout, without measuring.
    Repairing,
}

/// The controller. Rates are in payload bytes per second.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    mode: Mode,
    base: f64,
    rate: f64,
    prior: f64,
    /// Utility that the next step is compared with.
    utility: f64,
    first_id: u64,
    begun: usize,
    measured_trials: usize,
    rates: [f64; PROBES],
    utilities: [f64; PROBES],
    amplifier: f64,
    swings: u32,
    bound: f64,
    rtt: f64,
    random: Random,
}

impl Kernel {
    /// `seed` draws the order of probes.
    pub fn new(seed: u64) -> Self {
        Self {
            base: RATE_INITIAL,
            rate: RATE_INITIAL,
            prior: RATE_INITIAL,
            utility: f64::MIN,
            amplifier: AMPLIFIER_MIN,
            bound: BOUND,
            rtt: RTT_UNKNOWN,
            random: Random::new(seed),
            ..Self::default()
        }
    }

    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) fn plan(&mut self, id: u64, rtts: Rtts) -> Plan {
        if rtts.smoothed > 0 {
            self.rtt = rtts.smoothed as f64 / NANOS_PER_S;
        }
        if self.begun >= self.trials() {
            // All trials are under way: wait for their results.
            self.rate = self.base;
            return Plan { rate: self.rate, duration: NEVER, rtt_samples: 0 };
        }
        if self.begun == 0 {
            self.first_id = id;
            self.measured_trials = 0;
            if self.mode == Mode::Probing {
                self.draw_probes();
            } else {
                self.rates[0] = self.base;
            }
        }
        self.rate = self.rates[self.begun];
        self.begun += 1;
        let duration = (INTERVAL_PACKETS * PACKET * NANOS_PER_S / self.rate.max(1.0)) as Nanos;
        Plan { rate: self.rate, duration, rtt_samples: 1 }
    }

    const fn trials(&self) -> usize {
        match self.mode {
            Mode::Starting | Mode::Moving => 1,
            Mode::Probing => PROBES,
            Mode::Repairing => 0,
        }
    }

    fn draw_probes(&mut self) {
        for pair in 0..PROBES / 2 {
            let first = if self.random.next() & 1 == 0 { PROBE } else { -PROBE };
            self.rates[2 * pair] = (self.base * (1.0 + first)).max(RATE_MIN);
            self.rates[2 * pair + 1] = (self.base * (1.0 - first)).max(RATE_MIN);
        }
    }

    pub(super) const fn on_timeout(&mut self) {
        self.mode = Mode::Repairing;
        self.begun = 0;
        self.measured_trials = 0;
    }

    pub(super) const fn on_repaired(&mut self) {
        self.mode = Mode::Probing;
        self.begun = 0;
        self.measured_trials = 0;
    }

    pub(super) fn learn(&mut self, measured: &Measurement) -> bool {
        if measured.id < self.first_id || self.measured_trials >= self.begun {
            return false;
        }
        self.utilities[self.measured_trials] = self.utility_of(measured);
        self.measured_trials += 1;
        if self.measured_trials < self.trials() {
            return false;
        }
        self.begun = 0;
        match self.mode {
            Mode::Starting => self.learn_start(),
            Mode::Probing => self.learn_probes(),
            Mode::Moving => self.learn_move(),
            Mode::Repairing => {}
        }
        self.base = self.base.clamp(RATE_MIN, RATE_MAX);
        true
    }

    fn utility_of(&self, measured: &Measurement) -> f64 {
        if measured.inner_delivered == 0 {
            return 0.0;
        }
        let rise = measured.smoothed_rtt_rise;
        let packet_time = measured.inner_seconds / measured.inner_delivered as f64;
        let sending = (measured.duration as f64 / NANOS_PER_S).max(1e-9);
        let mut inflation = rise / sending;
        let starts = self.mode == Mode::Starting;
        if rise.abs() < INFLATION_PACKETS * packet_time
            || inflation.abs() < INFLATION_MIN
            || (starts && inflation < 0.0)
        {
            inflation = 0.0;
        }
        let mut loss = measured.lost as f64 / measured.packets.max(1) as f64;
        if starts && loss < STARTING_LOSS {
            loss = 0.0;
        }
        kernel_utility(measured.target_rate, loss, inflation)
    }

    fn learn_start(&mut self) {
        if self.utilities[0] > self.utility {
            self.utility = self.utilities[0];
            self.prior = self.base;
            self.base *= STARTING_GAIN;
        } else {
            std::mem::swap(&mut self.base, &mut self.prior);
            self.mode = Mode::Probing;
        }
    }

    fn learn_probes(&mut self) {
        let ups = |pair: usize| {
            let (first, second) = (2 * pair, 2 * pair + 1);
            (self.utilities[first] > self.utilities[second]) == (self.rates[first] > self.rates[second])
        };
        if ups(0) != ups(1) {
            return;
        }
        // Go to the better rate of the second pair, and compare the next step with it.
        let better = if self.utilities[2] > self.utilities[3] { 2 } else { 3 };
        self.utility = self.utilities[better];
        self.base = self.rates[better];
        self.prior = self.base;
        self.mode = Mode::Moving;
    }

    fn learn_move(&mut self) {
        let utility = self.utilities[0];
        let difference = self.prior - self.base;
        let step = if difference.abs() < DIFFERENCE_MIN * self.base {
            0.0
        } else {
            (self.utility - utility) / difference * STEP
        };
        self.utility = utility;
        self.amplify(step);
        let step = self.bounded(step * self.amplifier);
        // There is no gradient right after probing. Go up, like the module, in any direction of the probes.
        let least = STEP_MIN * self.base;
        let step = if step >= 0.0 { step.max(least) } else { step.min(-least) };
        self.prior = self.base;
        self.base = (self.base + step).max(PACKETS_PER_RTT_MIN * PACKET / self.rtt.max(1e-6));
        if step < 0.0 {
            self.mode = Mode::Probing;
        }
    }

    fn amplify(&mut self, step: f64) {
        if (step > 0.0) == (self.base > self.prior) {
            if self.swings > 0 {
                self.swings -= 1;
            } else {
                self.amplifier += 1.0;
            }
        } else {
            self.swings = (self.swings + 1).min(SWINGS);
            self.amplifier = AMPLIFIER_MIN;
            self.bound = BOUND;
        }
    }

    fn bounded(&mut self, step: f64) -> f64 {
        let limit = self.base * self.bound;
        if step.abs() > limit {
            self.bound += BOUND_INCREMENT;
            return step.clamp(-limit, limit);
        }
        self.bound = BOUND;
        step
    }
}

#[cfg(test)]
mod tests;
