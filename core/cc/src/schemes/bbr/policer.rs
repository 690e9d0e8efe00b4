//! Detection of a token-bucket policer by a steady rate with steady loss (draft-cardwell-iccrg-bbr-congestion-control-00,
//! appendix; Linux's long-term bandwidth sampling).

use crate::{Ack, MILLISECOND, Nanos};

const INTERVAL_ROUNDS_MIN: u32 = 4;
const INTERVAL_ROUNDS_MAX: u32 = 4 * INTERVAL_ROUNDS_MIN;
/// Share of lost over delivered packets that indicates a policer.
const LOSS_SHARE: f64 = 50.0 / 256.0;
/// Two intervals agree within an eighth, or within 4 kbit/s (in packets per second).
const RATIO: f64 = 0.125;
const DIFFERENCE: f64 = 4_000.0 / 8.0 / 1_500.0;
/// Rounds for which the policer's rate is used.
const ROUNDS_BELIEVED: u32 = 48;

/// Compares intervals between losses.
#[derive(Clone, Debug, Default)]
pub struct Policer {
    sampling: bool,
    rounds: u32,
    since: Nanos,
    delivered: u64,
    lost: u64,
    bandwidth: Option<f64>,
    believed: bool,
}

impl Policer {
    /// The detected policer's rate in packets per second.
    pub const fn rate(&self) -> Option<f64> {
        if self.believed { self.bandwidth } else { None }
    }

    /// Process an ACK; return true when the policer's rate expires and BBR must probe for bandwidth again.
    pub fn observe(&mut self, ack: &Ack, round_start: bool, in_probe_bw: bool, app_limited: bool) -> bool {
        if self.believed {
            self.rounds += u32::from(in_probe_bw && round_start);
            if self.rounds >= ROUNDS_BELIEVED {
                *self = Self::default();
                return true;
            }
            return false;
        }
        if !self.sampling {
            if ack.lost == 0 {
                return false;
            }
            self.begin(ack);
            self.sampling = true;
        }
        if app_limited {
            *self = Self::default();
            return false;
        }
        self.rounds += u32::from(round_start);
        if self.rounds < INTERVAL_ROUNDS_MIN {
            return false;
        }
        if self.rounds > INTERVAL_ROUNDS_MAX {
            *self = Self::default();
            return false;
        }
        if ack.lost > 0 {
            self.end_interval(ack);
        }
        false
    }

    fn begin(&mut self, ack: &Ack) {
        self.since = ack.now;
        self.delivered = ack.total_delivered;
        self.lost = ack.total_lost;
        self.rounds = 0;
    }

    fn end_interval(&mut self, ack: &Ack) {
        let delivered = (ack.total_delivered - self.delivered) as f64;
        let lost = (ack.total_lost - self.lost) as f64;
        let length = ack.now.saturating_sub(self.since);
        if delivered == 0.0 || lost < LOSS_SHARE * delivered || length < MILLISECOND {
            return;
        }
        let bandwidth = delivered * 1e9 / length as f64;
        if let Some(before) = self.bandwidth {
            let difference = (bandwidth - before).abs();
            if difference <= RATIO * before || difference <= DIFFERENCE {
                self.bandwidth = Some(f64::midpoint(bandwidth, before));
                self.believed = true;
                self.rounds = 0;
                return;
            }
        }
        self.bandwidth = Some(bandwidth);
        self.begin(ack);
    }
}
