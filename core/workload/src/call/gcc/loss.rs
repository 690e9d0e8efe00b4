//! The loss-based rate (draft §6).

use crate::Nanos;

/// Losses are counted over at least this time, an interval of RTCP reports.
const INTERVAL: Nanos = 1_000_000_000;
const LOW: f64 = 0.02;
const HIGH: f64 = 0.1;
const INCREASE: f64 = 1.05;

/// The rate, and the packets since its last update.
#[derive(Clone, Debug)]
pub struct LossBased {
    rate: f64,
    min: f64,
    max: f64,
    updated: Option<Nanos>,
    /// The highest number at the last update and now.
    before: u64,
    highest: u64,
    arrived: u64,
}

impl LossBased {
    /// Create with these rates in bit/s.
    pub const fn new(start: f64, min: f64, max: f64) -> Self {
        Self { rate: start, min, max, updated: None, before: 0, highest: 0, arrived: 0 }
    }

    /// Packet `seq` has arrived.
    pub fn on_arrival(&mut self, seq: u64) {
        self.highest = self.highest.max(seq);
        self.arrived += 1;
    }

    /// Set the rate after a report that arrived at `now`.
    pub fn update(&mut self, now: Nanos) {
        let updated = *self.updated.get_or_insert(now);
        let sent = self.highest - self.before;
        if now - updated < INTERVAL || sent == 0 {
            return;
        }
        let lost = 1.0 - (self.arrived as f64 / sent as f64).min(1.0);
        if lost > HIGH {
            self.rate *= 1.0 - 0.5 * lost;
        } else if lost < LOW {
            self.rate *= INCREASE;
        }
        self.rate = self.rate.clamp(self.min, self.max);
        (self.updated, self.before, self.arrived) = (Some(now), self.highest, 0);
    }

    /// The rate in bit/s.
    pub const fn rate_bps(&self) -> f64 {
        self.rate
    }
}
