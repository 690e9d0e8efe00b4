//! Bounds of the data in flight and of the rate, learnt from loss (draft-ietf-ccwg-bbr-06 §5.5).

use crate::{Ack, AtSending};

/// BBR.LossThresh, Beta and Headroom.
const LOSS_THRESHOLD: f64 = 0.02;
const BETA: f64 = 0.7;
const HEADROOM: f64 = 0.15;
const WINDOW_MIN: u32 = 4;
/// No bound.
pub const INFINITE: u32 = u32::MAX;

/// Long-term and short-term bounds, and the delivery signals of a round that set them.
#[derive(Clone, Debug, Default)]
pub struct Bounds {
    /// BBR.inflight_longterm
    pub long_term: u32,
    /// BBR.inflight_shortterm and bw_shortterm
    pub short_term: u32,
    pub bandwidth_short_term: f64,
    bandwidth_latest: f64,
    /// BBR.inflight_latest
    pub delivered_latest: u32,
    loss_round_delivered: u64,
    pub loss_round_start: bool,
    loss_in_round: bool,
    /// BBR.probe_up_cnt, bw_probe_up_acks, bw_probe_up_rounds
    probe_up_packets: u32,
    probe_up_acked: u32,
    probe_up_rounds: u32,
}

impl Bounds {
    pub fn new() -> Self {
        Self {
            long_term: INFINITE,
            short_term: INFINITE,
            bandwidth_short_term: f64::INFINITY,
            probe_up_packets: INFINITE,
            ..Self::default()
        }
    }

    /// UpdateLatestDeliverySignals; `sample` in packets per second.
    pub fn note_delivery(&mut self, ack: &Ack, newest: &AtSending, sample: f64) {
        self.loss_round_start = false;
        let delivered = (ack.total_delivered - newest.delivered) as u32;
        self.bandwidth_latest = self.bandwidth_latest.max(sample);
        self.delivered_latest = self.delivered_latest.max(delivered);
        if newest.delivered >= self.loss_round_delivered {
            self.loss_round_delivered = ack.total_delivered;
            self.loss_round_start = true;
        }
    }

    /// NoteLoss; return true for the first loss of a round.
    pub const fn note_loss(&mut self, total_delivered: u64) -> bool {
        let first = !self.loss_in_round;
        if first {
            self.loss_round_delivered = total_delivered;
        }
        self.loss_in_round = true;
        first
    }

    /// Forget a spurious loss.
    pub const fn forget_loss(&mut self) {
        self.loss_in_round = false;
    }

    /// UpdateCongestionSignals and AdaptLowerBoundsFromCongestion: once a round with losses, unless probing.
    pub fn adapt_short_term(&mut self, probing: bool, bandwidth: f64, window: u32) {
        if !self.loss_round_start {
            return;
        }
        if self.loss_in_round && !probing {
            if self.bandwidth_short_term.is_infinite() {
                self.bandwidth_short_term = bandwidth;
            }
            if self.short_term == INFINITE {
                self.short_term = window;
            }
            self.bandwidth_short_term = self.bandwidth_latest.max(BETA * self.bandwidth_short_term);
            let reduced = (BETA * f64::from(self.short_term)) as u32;
            self.short_term = self.delivered_latest.max(reduced);
        }
        self.loss_in_round = false;
    }

    /// AdvanceLatestDeliverySignals
    pub fn end_ack(&mut self, ack: &Ack, newest: &AtSending, sample: f64) {
        if self.loss_round_start {
            self.bandwidth_latest = sample;
            self.delivered_latest = (ack.total_delivered - newest.delivered) as u32;
        }
    }

    /// ResetShortTermModel
    pub const fn reset_short_term(&mut self) {
        self.short_term = INFINITE;
        self.bandwidth_short_term = f64::INFINITY;
    }

    /// ResetCongestionSignals
    pub const fn reset_signals(&mut self) {
        self.loss_in_round = false;
        self.bandwidth_latest = 0.0;
        self.delivered_latest = 0;
    }

    /// IsInflightTooHigh
    pub fn is_too_high(in_flight: u32, lost: u64) -> bool {
        lost as f64 > f64::from(in_flight) * LOSS_THRESHOLD
    }

    /// InflightAtLoss: the packets in flight when losses passed the threshold.
    pub fn in_flight_at_loss(in_flight: u32, lost: u64) -> u32 {
        let before = f64::from(in_flight.saturating_sub(1));
        let lost_before = lost.saturating_sub(1) as f64;
        let prefix = (LOSS_THRESHOLD * before - lost_before) / (1.0 - LOSS_THRESHOLD);
        (before + prefix).max(1.0) as u32
    }

    /// HandleInflightTooHigh
    pub fn lower_long_term(&mut self, in_flight: u32, target: u32) {
        self.long_term = in_flight.max((f64::from(target) * BETA) as u32).max(WINDOW_MIN);
    }

    /// StartProbeBW_REFILL
    pub const fn begin_refill(&mut self) {
        self.reset_short_term();
        self.probe_up_rounds = 0;
        self.probe_up_acked = 0;
    }

    pub const fn stop_probing_up(&mut self) {
        self.probe_up_packets = INFINITE;
    }

    /// RaiseInflightLongtermSlope: twice as fast each round.
    pub fn raise_slope(&mut self, window: u32) {
        let growth = 1_u32 << self.probe_up_rounds;
        self.probe_up_rounds = (self.probe_up_rounds + 1).min(30);
        self.probe_up_packets = (window / growth).max(1);
    }

    /// ProbeInflightLongtermUpward
    pub fn probe_upward(&mut self, ack: &Ack, window: u32, round_start: bool) {
        if !ack.window_limited || window < self.long_term {
            return;
        }
        self.probe_up_acked = self.probe_up_acked.saturating_add(ack.delivered);
        if self.probe_up_acked >= self.probe_up_packets {
            let grown = self.probe_up_acked / self.probe_up_packets;
            self.probe_up_acked -= grown * self.probe_up_packets;
            self.long_term = self.long_term.saturating_add(grown);
        }
        if round_start {
            self.raise_slope(window);
        }
    }

    /// InflightWithHeadroom
    pub fn with_headroom(&self) -> u32 {
        if self.long_term == INFINITE {
            return INFINITE;
        }
        let headroom = ((HEADROOM * f64::from(self.long_term)) as u32).max(1);
        self.long_term.saturating_sub(headroom).max(WINDOW_MIN)
    }
}
