//! Detection that the bandwidth has stopped growing (draft-ietf-ccwg-bbr-06 §5.3.1.2 and §5.3.1.3).

use crate::Ack;

/// §5.3.1.2: three rounds with less than 25 % growth.
const GROWTH: f64 = 1.25;
const ROUNDS: u32 = 3;
/// §5.3.1.3: BBR.StartupFullLossCnt, and BBR.LossThresh.
const LOSS_EVENTS: u32 = 6;
const LOSS_THRESHOLD: f64 = 0.02;

/// BBR.full_bw, full_bw_count, full_bw_now and full_bw_reached, and the losses of a round of Startup.
#[derive(Clone, Debug, Default)]
pub struct FullPipe {
    bandwidth: f64,
    rounds: u32,
    /// Growth has stopped since the last reset.
    pub now: bool,
    /// Growth has stopped before.
    pub reached: bool,
    loss_events: u32,
    lost: u32,
    delivered: u32,
}

impl FullPipe {
    /// ResetFullBW; growth counts from `bandwidth`.
    pub const fn reset(&mut self, bandwidth: f64) {
        self.bandwidth = bandwidth;
        self.rounds = 0;
        self.now = false;
    }

    /// BBR.full_bw_count.
    pub const fn rounds(&self) -> u32 {
        self.rounds
    }

    /// CheckFullBWReached; `sample` in packets per second.
    pub fn check(&mut self, sample: f64, app_limited: bool, round_start: bool) {
        if self.now || !round_start || app_limited {
            return;
        }
        if sample >= self.bandwidth * GROWTH {
            self.reset(sample);
            return;
        }
        self.rounds += 1;
        self.now = self.rounds >= ROUNDS;
        self.reached |= self.now;
    }

    /// CheckStartupHighLoss: return whether a round lost too many packets in too many places.
    pub fn loses_too_much(&mut self, ack: &Ack, round_start: bool) -> bool {
        self.loss_events += u32::from(ack.lost > 0);
        self.lost = self.lost.saturating_add(ack.lost);
        self.delivered = self.delivered.saturating_add(ack.delivered);
        if !round_start {
            return false;
        }
        let sent = f64::from(self.lost) + f64::from(self.delivered);
        let high = self.loss_events >= LOSS_EVENTS && f64::from(self.lost) > LOSS_THRESHOLD * sent;
        (self.loss_events, self.lost, self.delivered) = (0, 0, 0);
        high
    }
}
