//! Trials: rates, one per interval, and their outcomes.

use crate::schemes::vivace::Measurement;
use crate::schemes::vivace::controller::wire_rate;
use crate::schemes::vivace::utility::{Utility, even_percentage};

/// The branch's megabit.
pub const MEGABIT: f64 = 1_048_576.0;
/// §4.3: double-check from this share of losses, or if losses differ by more than this many packets.
pub const CHECKED_LOSS: f64 = 0.05;
pub const CHECKED_PACKETS: u64 = 2;

/// A rate and its outcome.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trial {
    /// The interval, once it has begun.
    pub id: Option<u64>,
    pub rate: f64,
    pub outcome: Option<Outcome>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    pub utility: f64,
    /// Inputs of the utility: rate in Mbit/s, and gradient.
    pub sent_rate: f64,
    pub gradient: f64,
    pub packets: u64,
    pub lost: u64,
}

impl Outcome {
    pub fn new(measured: &Measurement, lost: u64, gradient: f64) -> Self {
        let sent_rate = wire_rate(measured.rate, MEGABIT);
        let mut outcome = Self { utility: 0.0, sent_rate, gradient, packets: measured.packets, lost };
        outcome.utility = outcome.utility_at(outcome.loss());
        outcome
    }

    pub fn utility_at(&self, loss: f64) -> f64 {
        Utility::NSDI_2018.of(self.sent_rate, loss, even_percentage(self.gradient))
    }

    pub fn loss(&self) -> f64 {
        share(self.lost, self.packets)
    }
}

impl Trial {
    pub fn utility(&self) -> f64 {
        self.outcome.map_or(0.0, |outcome| outcome.utility)
    }
}

/// Share of lost packets.
pub fn share(lost: u64, packets: u64) -> f64 {
    lost as f64 / packets.max(1) as f64
}

/// Return whether the higher rate lost less, by enough to distrust the measurement.
pub fn odd_losses(from: f64, reference: &Outcome, to: f64, outcome: &Outcome) -> bool {
    let (lost, packets) = (reference.lost + outcome.lost, reference.packets + outcome.packets);
    (from - to) * (reference.loss() - outcome.loss()) < 0.0
        && (reference.lost.abs_diff(outcome.lost) > CHECKED_PACKETS || share(lost, packets) >= CHECKED_LOSS)
}
