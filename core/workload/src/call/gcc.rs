//! Google congestion control (Carlucci et al., "Analysis and Design of the Google Congestion Control for WebRTC", MMSys 2016;
//! draft-ietf-rmcat-gcc-02), at the sender: a filter of arrival times, a detector of over-use with an adaptive threshold, and an
//! AIMD rate; beside them, the loss-based rate. The filter is libwebrtc's trend line, which replaced the draft's Kalman filter.

mod delay_trend;
mod loss;
mod over_use;
mod rate_control;

use crate::Nanos;
use delay_trend::DelayTrend;
use loss::LossBased;
use over_use::{OverUse, Usage};
use rate_control::RateControl;

/// The controller.
#[derive(Clone, Debug)]
pub struct Gcc {
    trend: DelayTrend,
    detector: OverUse,
    delay_based: RateControl,
    loss_based: LossBased,
}

impl Gcc {
    /// Create a controller with these bitrates in bit/s.
    pub fn new(start_bps: u64, min_bps: u64, max_bps: u64) -> Self {
        let [start, min, max] = [start_bps, min_bps, max_bps].map(|rate| rate as f64);
        Self {
            trend: DelayTrend::default(),
            detector: OverUse::default(),
            delay_based: RateControl::new(start, min, max),
            loss_based: LossBased::new(start, min, max),
        }
    }

    /// Packet `seq` of `bytes` left at `left` and arrived at `at`.
    pub fn on_arrival(&mut self, seq: u64, left: Nanos, at: Nanos, bytes: u32) {
        self.delay_based.on_arrival(at, bytes);
        self.loss_based.on_arrival(seq);
        if let Some(sample) = self.trend.on_arrival(left, at) {
            self.detector.on_trend(&sample);
        }
    }

    /// Set the rate after a report, which arrived at `now` and measured `rtt`.
    pub fn update(&mut self, now: Nanos, rtt: Nanos) {
        self.delay_based.update(now, rtt, self.detector.usage());
        self.loss_based.update(now);
    }

    /// The target bitrate in bit/s (draft §6: the smaller of both).
    pub fn rate_bps(&self) -> u64 {
        self.delay_based.rate_bps().min(self.loss_based.rate_bps()) as u64
    }

    /// The modified trend and its threshold in ms, and -1 for under-use, 0 for normal, 1 for over-use.
    pub fn state(&self) -> (f64, f64, i8) {
        let usage = match self.detector.usage() {
            Usage::Under => -1,
            Usage::Normal => 0,
            Usage::Over => 1,
        };
        (self.detector.modified_trend(), self.detector.threshold_ms(), usage)
    }
}
