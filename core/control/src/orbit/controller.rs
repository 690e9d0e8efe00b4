//! The controller: a sawtooth of small amplitude whose drains keep the estimate of the base RTT valid.
//!
//! ```text
//!          queue or loss          rate reduced         queue empty, or longer path
//! StartUp ───────────────► Drain ──────────────► Settle ──────────────────────────► Grow
//!                          ▲  ▲                  │                                 │
//!                          │  └── queue remains ─┘                                 │
//!                          └────────────────────────── queue or loss ───────────────┘
//!
//! any but StartUp ── the policy sees another scheme, and a queue ──► Compete
//! Compete ── the policy sees none ──► Drain
//! Compete ── the queue is mostly empty ──► Grow
//! ```

mod competition;
mod draining;
mod phase;
mod tuning;

use super::PathEstimate;
use crate::Report;
use crate::action::{Command, MAX_CWND_PACKETS, MIN_CWND_PACKETS};
use phase::{Check, Compete, Drain, Phase, Settle};
pub(crate) use tuning::GAINS;
use tuning::Tuning;

/// Delay of start-up's doubling beyond an RTT, in intervals: a report is half an interval old on average, and only
/// a whole interval with a queue shows it.
const START_UP_DELAY_INTERVALS: f64 = 1.0;

/// Largest jitter that start-up tolerates, as a share of the base RTT.
const MAX_JITTER_RTT_SHARE: f64 = 0.25;

/// Growth on a link of bursts, which shows a queue late, as a share of the growth elsewhere.
const BURSTY_GROWTH_SHARE: f64 = 0.8;

/// Packets missing in a silence that is an outage of the path. Another flow's burst can cause a shorter silence.
const OUTAGE_PACKETS: f64 = 30.0;

/// The rate at which `Tuning::growth_per_s` holds, in bytes/s: 100 Mbit/s.
const REFERENCE_RATE: f64 = 12.5e6;

/// Largest first rate, as a factor on 20 packets an RTT.
const MAX_START_FACTOR: f64 = 32.0;

/// Largest rate, in bytes/s: 20 Gbit/s.
const MAX_RATE: f64 = 2.5e9;

/// The last silence: a time without ACKs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Silence {
    /// Measurements before this time include the silence: an RTT after its end, in s.
    until_s: f64,
    /// End of the last silence that was an outage, in s.
    outage_end_s: f64,
    /// `Controller::share` before the silence, in bytes/s.
    share_before: f64,
}

/// The share before a large decrease, to which the rate may return soon.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Recovery {
    share: f64,
    until_s: f64,
}

/// Smallest and largest queueing delay since the last congestion, in s.
#[derive(Clone, Copy, Debug, PartialEq)]
struct QueueRange {
    least_s: f64,
    most_s: f64,
}

impl QueueRange {
    const EMPTY: Self = Self { least_s: f64::MAX, most_s: 0.0 };
}

/// The state of one flow's controller. Rates are in bytes/s.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Controller {
    path: PathEstimate,
    phase: Phase,
    /// The rate between drains; 0 before the first RTT.
    rate: f64,
    /// This flow's share of the capacity at the last congestion; 0 before.
    share: f64,
    /// Factor on the growth above `share`.
    acceleration: f64,
    silence: Silence,
    recovery: Option<Recovery>,
    /// Time of the last congestion, in s.
    congested_s: f64,
    queue_range: QueueRange,
}

impl Default for Controller {
    fn default() -> Self {
        Self {
            path: PathEstimate::default(),
            phase: Phase::StartUp,
            rate: 0.0,
            share: 0.0,
            acceleration: 1.0,
            silence: Silence { until_s: -1.0, outage_end_s: f64::MIN, share_before: 0.0 },
            recovery: None,
            congested_s: 0.0,
            queue_range: QueueRange::EMPTY,
        }
    }
}

impl Controller {
    pub fn observe(&mut self, report: &Report) {
        if self.is_silent() && report.delivered_bytes > 0 {
            let now = report.time_ns as f64 / 1e9;
            self.silence.until_s = now + self.path.rtt_s;
            self.silence.share_before = self.share.min(self.rate);
            if self.path.silent_s > OUTAGE_PACKETS * self.path.mss / self.rate.max(1.0) {
                self.silence.outage_end_s = now;
            }
        }
        self.path.observe(report);
    }

    /// Whether ACKs are overdue, because of an outage or a longer path.
    fn is_silent(&self) -> bool {
        let usual_s = (1.5 * self.path.dt_s).max(8.0 * self.path.mss / self.rate.max(1.0));
        self.path.silent_s > usual_s.max(0.2 * self.path.window_s())
    }

    pub fn act(&mut self, action: &[f32], report: &Report) -> Command {
        if report.srtt_us == 0 || self.path.base_s == 0.0 {
            return Command { cwnd_packets: report.cwnd, pacing_bytes_per_s: 0 };
        }
        let tuning = Tuning::of(action);
        let pace = self.step(&tuning) * tuning.pacing_gain;
        // The window bounds what an outage loses. It exceeds rate × RTT, so an RTT that rises by 200 ms does not limit.
        let window_s = self.path.rtt_s.max(self.path.base_s) + 0.2;
        let window = (pace.max(self.rate) * window_s / self.path.mss).ceil();
        Command {
            cwnd_packets: window.clamp(f64::from(MIN_CWND_PACKETS), f64::from(MAX_CWND_PACKETS)) as u32,
            pacing_bytes_per_s: pace.min(MAX_RATE) as u64,
        }
    }

    /// Advance the phase by an interval and return the sending rate.
    fn step(&mut self, tuning: &Tuning) -> f64 {
        let path = &self.path;
        let (now, dt, base, rtt) = (path.time_s, path.dt_s, path.base_s, path.rtt_s);
        let floor = self.min_rate();
        if self.rate == 0.0 {
            let first = 20.0 * path.mss / base;
            self.rate = first.max((tuning.start * path.burst_rate).min(MAX_START_FACTOR * first)).max(floor);
        }
        let queue = path.queue_s();
        let limit = tuning
            .queue_s
            .min(0.1 * base + 5e-4)
            .max(path.tolerance_s())
            .max(1.5 * path.mss / self.rate.max(1.0));
        let is_silent = now < self.silence.until_s || self.is_silent();
        let is_losing = is_losing(path, tuning, queue / limit);
        if self.path.has_rtt {
            self.queue_range.least_s = self.queue_range.least_s.min(queue);
            self.queue_range.most_s = self.queue_range.most_s.max(queue);
            if let Some(check) = self.phase.check_mut() {
                check.least_rtt_s = check.least_rtt_s.min(rtt);
            }
        }
        self.decide_competition(tuning, now, queue > limit);
        let path = &self.path;
        match self.phase {
            Phase::StartUp => {
                // The base RTT is the smallest of a few means of few samples, so jitter looks like a queue.
                let scatter_s = path.scatter_s();
                let limit = limit.max(0.03 * base).max((4.0 * scatter_s).min(MAX_JITTER_RTT_SHARE * base));
                let grows = queue > 0.25 * limit && path.slope > 3.0 * path.slope_deviation(scatter_s);
                // A growing queue continues to grow until this decision takes effect.
                let coming = if grows { path.slope.max(0.0) * (base + dt).min(3.0 * dt) } else { 0.0 };
                let is_full = queue + coming > limit;
                if (is_full || is_losing) && !is_silent {
                    self.reduce(tuning, now, true);
                } else {
                    // A report waits for its interval's end: on a short path, this is a large part of an RTT.
                    self.rate *= libm::exp2(dt / (base.max(dt) + START_UP_DELAY_INTERVALS * dt));
                }
            }
            Phase::Grow => {
                if (queue > limit || is_losing) && !is_silent {
                    self.reduce(tuning, now, false);
                } else if path.silent_s < 2.0 * dt + 0.5 * base {
                    self.grow(tuning, queue < 0.7 * limit);
                }
            }
            Phase::Compete(compete) => return self.compete(tuning, now, compete).max(floor),
            Phase::Drain(drain) => {
                self.creep(tuning);
                if now >= drain.until_s {
                    let until_s = now + rtt.max(base) + dt + self.path.window_s();
                    self.phase = Phase::Settle(Settle { until_s, check: drain.check });
                }
            }
            Phase::Settle(settle) => {
                if queue < limit || now < settle.until_s {
                    self.creep(tuning);
                }
                if now >= settle.until_s && !is_silent {
                    self.end_drain(tuning, now, queue, limit, settle.check);
                }
            }
        }
        if let Phase::Drain(drain) = self.phase {
            return drain.rate.max(floor);
        }
        self.rate = self.rate.max(floor).min(MAX_RATE);
        if matches!(self.phase, Phase::Settle(settle) if now >= settle.until_s) {
            // The queue remains. It must not remain because of this flow's growth.
            return (0.96 * self.rate).max(floor);
        }
        self.rate
    }

    /// Two packets per base RTT.
    fn min_rate(&self) -> f64 {
        2.0 * self.path.mss / self.path.base_s.max(0.01)
    }

    /// Whether the rate was larger before a recent decrease.
    fn recovers(&self, now: f64) -> bool {
        self.recovery.is_some_and(|recovery| now < recovery.until_s && self.rate < 0.96 * recovery.share)
    }

    /// Grow as other flows do during the wait. Growth per time, not per RTT, gives short and long paths equal shares.
    fn creep(&mut self, tuning: &Tuning) {
        self.rate *= 1.0 + self.growth_per_s(tuning) * self.path.dt_s;
    }

    fn growth_per_s(&self, tuning: &Tuning) -> f64 {
        let base = self.path.base_s;
        let scale = libm::pow(REFERENCE_RATE / self.rate, 1.0 - tuning.exponent);
        // Above 200 ms, the growth within an RTT would exceed what a drain removes.
        tuning.growth_per_s
            * scale
            * (0.2 / base).min(1.0)
            * if self.path.window_s() > 0.0 { BURSTY_GROWTH_SHARE } else { 1.0 }
    }

    fn grow(&mut self, tuning: &Tuning, is_empty: bool) {
        let path = &self.path;
        let (dt, base) = (path.dt_s, path.base_s);
        if self.share > 0.0 && path.answered_rate() < 1.03 * self.share || !is_empty {
            self.acceleration = 1.0;
        } else {
            self.acceleration *= libm::exp2((tuning.acceleration * dt / base.max(0.1)).min(1.0));
        }
        let recovery = if is_empty && self.recovers(path.time_s) { 0.35 / base.max(0.02) } else { 0.0 };
        let per_s = (self.growth_per_s(tuning) * self.acceleration).max(recovery).min(0.7 / base.max(dt));
        self.rate *= 1.0 + per_s * dt;
    }
}

/// Whether a full buffer drops packets: there is a queue, or far more loss than at random.
fn is_losing(path: &PathEstimate, tuning: &Tuning, queue: f64) -> bool {
    let loss = path.loss_over(path.base_s.max(0.1));
    loss > tuning.loss && queue > 0.4 || loss > 4.0 * tuning.loss
}

#[cfg(test)]
mod tests;
