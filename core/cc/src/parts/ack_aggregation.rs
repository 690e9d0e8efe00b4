//! ACK aggregation (Linux's bbr_update_ack_aggregation): the excess of acknowledged packets over the bandwidth's. The
//! window must include it, or a path that aggregates ACKs starves the sender.

use crate::{Ack, Nanos};

/// Round trips in each half of the window of the maximum.
const ROUNDS: u32 = 5;
/// Limit of the extra window, in seconds of the bandwidth.
const LONGEST_S: f64 = 0.1;
const EPOCH_PACKETS_MAX: u64 = 0xf_ffff;

/// The largest excess of the last rounds.
#[derive(Clone, Debug, Default)]
pub struct AckAggregation {
    epoch_began: Nanos,
    epoch_acked: u64,
    excess: [u32; 2],
    half: usize,
    rounds: u32,
}

impl AckAggregation {
    pub const fn begin(&mut self, now: Nanos) {
        self.epoch_began = now;
        self.epoch_acked = 0;
    }

    /// `bandwidth` in packets a second, `window` in packets.
    pub fn observe(&mut self, ack: &Ack, round_start: bool, bandwidth: f64, window: u32) {
        if ack.rate.is_none() || ack.delivered == 0 {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.half ^= 1;
                self.excess[self.half] = 0;
            }
        }
        let length = ack.now.saturating_sub(self.epoch_began) as f64 * 1e-9;
        let mut expected = (bandwidth * length) as u64;
        if self.epoch_acked <= expected || self.epoch_acked + u64::from(ack.delivered) >= EPOCH_PACKETS_MAX {
            self.begin(ack.now);
            expected = 0;
        }
        self.epoch_acked += u64::from(ack.delivered);
        let excess = (self.epoch_acked - expected).min(u64::from(window)) as u32;
        self.excess[self.half] = self.excess[self.half].max(excess);
    }

    /// The largest excess in packets.
    pub fn excess(&self) -> u32 {
        self.excess[0].max(self.excess[1])
    }

    /// Extra packets for the window.
    pub fn window(&self, bandwidth: f64) -> u32 {
        self.excess().min((bandwidth * LONGEST_S).min(1e9) as u32)
    }
}
