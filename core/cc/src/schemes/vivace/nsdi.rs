//! Vivace-Latency as published with the paper: the branch NSDI-2018 of PCC-Uspace (98ac946) with its latency
//! coefficient 1, as the LEO paper's testbed starts it.
//!
//! ```text
//!          utility falls            probes agree on a step above 10 %
//! Starting ─────────────► Probing ────────────────────────────────► Moving ─┐
//!                          ▲   └──┘ else                              │  ▲  │ same direction,
//!                          └──────────────────────────────────────────┘  └──┘ step above 10 %
//! ```

mod trial;

use trial::{CHECKED_LOSS, CHECKED_PACKETS, MEGABIT, Outcome, Trial, odd_losses, share};

use super::ascent::Ascent;
use super::controller::{gradient, payload_rate};
use super::{Measurement, Plan, Rtts};
use crate::parts::random::Random;
use crate::{NANOS_PER_S, Nanos};

/// Bounds of the rate in Mbit/s; probes may fall below by ε.
const RATE_MIN: f64 = 1.3;
const RATE_MAX: f64 = 1_024.0;
/// Rate before the first doubling.
const RATE_INITIAL: f64 = 0.8;
/// ε: probes are above and below the base by this share, at least half a Mbit/s.
const PROBE: f64 = 0.05;
const PROBE_LEAST: f64 = 0.5;
/// An interval lasts the mean RTT of the last complete one (initially this), within these bounds in packets.
const FIRST_RTT: Nanos = 100_000_000;
const PACKETS: (f64, f64) = (10.0, 3_000.0);
/// For longer RTTs an interval lasts 300 ms.
const RTT_MAX: Nanos = 1_000_000_000;
const LONG_RTT_INTERVAL: Nanos = 300_000_000;
/// While starting, this many losses are ignored, and gradients within ±0.2.
const STARTING_LOSSES: u64 = 50;
const STARTING_GRADIENT: f64 = 0.2;
/// Above this share of losses, halve the rate in any mode.
const EMERGENCY_LOSS: f64 = 0.5;
/// Up to this share, probes share their mean loss, so its noise does not decide.
const SHARED_LOSS: f64 = 0.01;
/// Larger steps, as a share of the rate, skip probing around the new rate.
const LARGE_STEP: f64 = 0.1;
const MOST_PROBES: usize = 4;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Starting,
    Probing,
    Moving,
}

/// The controller. Internal rates are in Mbit/s of 2^20 bits on the wire.
#[derive(Clone, Debug, Default)]
pub struct Nsdi2018 {
    mode: Mode,
    /// The center of the probes.
    base: f64,
    /// The current rate.
    rate: f64,
    /// The interval that decides whether to double again.
    starting: Option<u64>,
    starting_utility: f64,
    starting_losses: u64,
    /// Pairs of a rate above and one below the base, in random order.
    probes: [Trial; MOST_PROBES],
    /// Number of probes (0 before they are planned), and of those begun.
    probe_count: usize,
    probes_begun: usize,
    /// Start and end of a move.
    reference: Trial,
    target: Trial,
    change: f64,
    ascent: Ascent,
    /// Probe once more if losses contradict the direction.
    may_double_check: bool,
    /// Earliest interval for another emergency stop.
    stopped_until: Option<u64>,
    next_id: u64,
    random: Random,
}

impl Nsdi2018 {
    /// `seed` draws the order of probes.
    pub fn new(seed: u64) -> Self {
        Self {
            base: RATE_INITIAL,
            rate: RATE_INITIAL,
            starting_utility: f64::NEG_INFINITY,
            starting_losses: STARTING_LOSSES,
            may_double_check: true,
            random: Random::new(seed),
            ..Self::default()
        }
    }

    pub(super) fn rate(&self) -> f64 {
        payload_rate(self.rate, MEGABIT)
    }

    pub(super) fn plan(&mut self, id: u64, rtts: Rtts) -> Plan {
        self.next_id = id + 1;
        if self.mode == Mode::Moving && self.target.rate < RATE_MIN {
            self.ascent.calm();
            self.probe();
        }
        match self.mode {
            Mode::Starting => self.plan_start(id),
            Mode::Probing => self.plan_probe(id),
            Mode::Moving => {
                self.base = self.target.rate;
                self.set_rate(self.base);
                self.target.id = self.target.id.or(Some(id));
            }
        }
        Plan { rate: self.rate(), duration: self.duration(rtts), rtt_samples: 0 }
    }

    fn duration(&self, rtts: Rtts) -> Nanos {
        let rtt = match rtts.interval {
            0 => FIRST_RTT,
            rtt if rtt > RTT_MAX => LONG_RTT_INTERVAL,
            rtt => rtt,
        };
        let packet = super::utility::PACKET_BITS * NANOS_PER_S / (self.rate * MEGABIT);
        let packets = libm::floor(rtt as f64 / packet).clamp(PACKETS.0, PACKETS.1);
        (packets * packet) as Nanos
    }

    /// The rate doubles once the last doubling has proved good.
    fn plan_start(&mut self, id: u64) {
        if self.starting.is_none() {
            self.starting = Some(id);
            self.base = self.rate * 2.0;
            self.set_rate(self.base);
        }
    }

    fn plan_probe(&mut self, id: u64) {
        if self.probe_count == 0 {
            self.base = self.base.max(RATE_MIN);
            // §4.2: two pairs of trials must agree; one does while the direction holds.
            self.probe_count = if self.ascent.is_confident() { 2 } else { 4 };
            for pair in 0..self.probe_count / 2 {
                let first = if self.random.next() & 1 == 0 { 1.0 } else { -1.0 };
                for (probe, sign) in [(2 * pair, first), (2 * pair + 1, -first)] {
                    let rate = self.base * (1.0 + sign * self.epsilon());
                    self.probes[probe] = Trial { id: None, rate, outcome: None };
                }
            }
        }
        if self.probes_begun < self.probe_count {
            let probe = &mut self.probes[self.probes_begun];
            probe.id = Some(id);
            let rate = probe.rate;
            self.probes_begun += 1;
            self.set_rate(rate);
        } else {
            self.set_rate(self.base);
            self.reference = Trial { id: Some(id), rate: self.base, outcome: self.reference.outcome };
        }
    }

    fn epsilon(&self) -> f64 {
        PROBE.max(PROBE_LEAST / self.base)
    }

    fn set_rate(&mut self, rate: f64) {
        let least = if self.mode == Mode::Starting { 0.1 } else { RATE_MIN * (1.0 - self.epsilon()) };
        self.rate = rate.max(least).min(RATE_MAX);
    }

    /// Probe around the base from the next interval on.
    fn probe(&mut self) {
        self.mode = Mode::Probing;
        self.base = self.base.clamp(RATE_MIN, RATE_MAX);
        self.probe_count = 0;
        self.probes_begun = 0;
        self.target = Trial::default();
    }

    pub(super) fn learn(&mut self, measured: &Measurement) {
        let (mut lost, mut slope) = (measured.lost, measured.rtt_gradient);
        if self.mode == Mode::Starting {
            if (self.starting_losses > 0 || lost == 0) && slope.abs() < STARTING_GRADIENT {
                slope = 0.0;
            }
            if lost > self.starting_losses {
                lost -= self.starting_losses;
                self.starting_losses = 0;
            } else {
                lost = 0;
            }
        }
        let outcome = Outcome::new(measured, lost, slope);
        if self.reference.id == Some(measured.id) {
            self.reference.outcome = Some(outcome);
        }
        self.stop_in_emergency(measured.id, outcome.loss());
        match self.mode {
            Mode::Starting => self.learn_start(measured.id, outcome.utility),
            Mode::Probing => self.learn_probe(measured.id, outcome),
            Mode::Moving => self.learn_move(measured.id, outcome),
        }
    }

    fn stop_in_emergency(&mut self, id: u64, loss: f64) {
        if loss <= EMERGENCY_LOSS {
            self.stopped_until = None;
        } else if self.stopped_until.is_none_or(|until| until <= id) {
            self.stopped_until = Some(self.next_id.saturating_sub(1));
            self.base *= 0.5;
            self.probe();
            self.set_rate(self.base);
        }
    }

    fn learn_start(&mut self, id: u64, utility: f64) {
        if self.starting != Some(id) {
            return;
        }
        self.starting = None;
        if self.starting_utility > utility {
            self.base /= 2.0;
            self.probe();
        }
        self.starting_utility = utility;
    }

    fn learn_probe(&mut self, id: u64, outcome: Outcome) {
        let probes = &mut self.probes[..self.probe_count];
        if let Some(probe) = probes.iter_mut().find(|probe| probe.id == Some(id)) {
            probe.outcome = Some(outcome);
        }
        if self.probe_count == 0 || probes.iter().any(|probe| probe.outcome.is_none()) {
            return;
        }
        let direction = self.direction();
        if direction == 0 || self.must_double_check(direction) {
            self.ascent.doubt();
            self.probe();
            return;
        }
        let (up, down) = (self.mean_of(true), self.mean_of(false));
        let change = self.ascent.change(gradient(down, up), self.base);
        if change / self.base <= LARGE_STEP {
            self.base += change;
            self.probe();
            self.set_rate(self.base);
        } else {
            self.mode = Mode::Moving;
            self.change = change;
            self.target = Trial { id: None, rate: self.base + change, outcome: None };
        }
    }

    /// Count pairs that prefer the higher rate, minus those that prefer the lower.
    fn direction(&mut self) -> i32 {
        let probes = &mut self.probes[..self.probe_count];
        let outcomes = || probes.iter().filter_map(|probe| probe.outcome);
        let loss = share(
            outcomes().map(|outcome| outcome.lost).sum(),
            outcomes().map(|outcome| outcome.packets).sum(),
        );
        if loss <= SHARED_LOSS {
            for outcome in probes.iter_mut().filter_map(|probe| probe.outcome.as_mut()) {
                outcome.utility = outcome.utility_at(loss);
            }
        }
        probes
            .chunks(2)
            .map(|pair| {
                let (first, second) = (pair[0].utility(), pair[1].utility());
                let sign = i32::from(first > second) - i32::from(first < second);
                if pair[0].rate > pair[1].rate { sign } else { -sign }
            })
            .sum()
    }

    /// §4.3: "it is highly unlikely that sending faster is the cause of lower loss".
    fn must_double_check(&mut self, direction: i32) -> bool {
        let lost = |up: bool| self.probes_of(up).map(|outcome| outcome.lost).sum::<u64>();
        let packets = |up: bool| self.probes_of(up).map(|outcome| outcome.packets).sum::<u64>();
        let (up, down) = (lost(true), lost(false));
        let odd = direction > 0
            && up > 0
            && down > up + CHECKED_PACKETS
            && share(up + down, packets(true) + packets(false)) >= CHECKED_LOSS;
        let check = odd && self.may_double_check;
        self.may_double_check = !check;
        if odd && !check {
            self.ascent.trust();
        }
        check
    }

    fn probes_of(&self, up: bool) -> impl Iterator<Item = Outcome> {
        let probes = self.probes[..self.probe_count].iter();
        probes.filter(move |probe| (probe.rate > self.base) == up).filter_map(|probe| probe.outcome)
    }

    /// Return the rate of the probes on one side of the base, and their mean utility.
    fn mean_of(&self, up: bool) -> (f64, f64) {
        let sign = if up { 1.0 } else { -1.0 };
        let pairs = (self.probe_count / 2) as f64;
        let utility: f64 = self.probes_of(up).map(|outcome| outcome.utility).sum();
        (self.base * (1.0 + sign * self.epsilon()), utility / pairs)
    }

    fn learn_move(&mut self, id: u64, outcome: Outcome) {
        if self.target.id != Some(id) {
            return;
        }
        let Some(reference) = self.reference.outcome else {
            self.probe();
            return;
        };
        let (from, to) = (self.reference.rate, self.target.rate);
        let change =
            self.ascent.change(gradient((from, reference.utility), (to, outcome.utility)), self.base);
        if odd_losses(from, &reference, to, &outcome) {
            self.ascent.doubt();
            self.probe();
        } else if change * self.change > 0.0 && change / self.base > LARGE_STEP {
            self.change = change;
            self.reference = Trial { id: Some(id), rate: to, outcome: Some(outcome) };
            self.target = Trial { id: None, rate: to + change, outcome: None };
        } else {
            if change * self.change > 0.0 {
                self.ascent.trust();
            }
            self.base += change;
            self.probe();
            self.set_rate(self.base);
        }
    }
}

#[cfg(test)]
mod tests;
