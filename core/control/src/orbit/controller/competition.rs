//! Competition: distinguish another flow that fills the buffer from a longer path and from this flow's own queue, and
//! hold a share against that flow.

use super::*;

/// Time after which a loss ends the competition, in s. The queue then shows whether the other flow remains.
const COMPETE_PERIOD_S: f64 = 20.0;

/// Shortest drain of a check, in s, and its reduction of the rate.
const MIN_CHECK_S: f64 = 0.05;
const CHECK_DEPTH: f64 = 0.4;

/// While competing: growth per s at `TARGET_SHARE` of the capacity, the decrease at a loss there, and the time after
/// it in which further losses do not count, in s.
const TARGET_SHARE: f64 = 0.6;
const COMPETE_GROWTH_PER_S: f64 = 0.045;
const COMPETE_DECREASE: f64 = 0.13;
const IGNORED_LOSS_S: f64 = 0.9;

/// Exponents that move the share to `TARGET_SHARE`, whether losses are rare or frequent.
const GROWTH_EXPONENT: f64 = 4.0;
const DECREASE_EXPONENT: f64 = 0.4;

/// Growth per s above the peak rate.
const EXPLORATION_PER_S: f64 = 0.2;

/// Share of the peak rate above which the other flows have yielded.
const FULL_LINK_SHARE: f64 = 0.88;

/// Share of a checked queue above which the queue is this flow's own.
const OWN_QUEUE_SHARE: f64 = 0.7;

/// Largest capacity that a check may infer, in multiples of this flow's rate.
const MAX_INFERRED_CAPACITY: f64 = 2.5;

/// Share of the peak rate below which a check has too little effect, and a probe replaces it.
const SMALL_LINK_SHARE: f64 = 0.4;

/// Time without a loss after which a competing flow checks the queue again, in s.
const LOSSLESS_PERIOD_S: f64 = 5.0;

/// After the competition, a rate that falls to this share within this time, in s, shows that the other flow remains.
const TRIAL_FAILURE_SHARE: f64 = 0.7;
const TRIAL_PERIOD_S: f64 = 5.0;

/// Share of the rate at which the trial starts, so that a peer that competes as well detects an empty queue and stops.
const TRIAL_RATE_SHARE: f64 = 0.85;

/// Share of the expected fall of the RTT that distinguishes a queue from a longer path.
const RTT_FALL_SHARE: f64 = 0.08;

/// A probe's rate over the flow's share, and the delivery rate over that share that shows more capacity.
const PROBE_GAIN: f64 = 1.25;
const PROBE_SUCCESS_GAIN: f64 = 1.1;

/// Time after an outage without checks, in s: flows still converge to their shares.
const OUTAGE_RECOVERY_S: f64 = 5.0;

/// Time between checks, in s.
const CHECK_INTERVAL_S: f64 = 2.0;

/// Share of the time without a queue that ends the competition, and the time over which it is averaged, in s.
const EMPTY_TIME_SHARE: f64 = 0.6;
const EMPTY_AVERAGING_S: f64 = 1.0;

/// Many competing flows lose this multiple of `Tuning::loss` over this time, in s.
const CROWD_LOSS_FACTOR: f64 = 2.0;
const CROWD_WINDOW_S: f64 = 2.0;

/// A time after the competition in which the flow tries not to compete.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trial {
    until_s: f64,
    /// The rate before, in bytes/s.
    rate: f64,
}

impl Controller {
    /// Check for another flow if the queue was not empty for seconds.
    pub(super) fn detect_competition(&mut self, now: f64, is_silent: bool) {
        self.path.holds_base = matches!(self.phase, Phase::Compete(_));
        if let Some(check) = self.phase.check_mut() {
            if self.path.has_rtt {
                check.least_rtt_s = check.least_rtt_s.min(self.path.rtt_s);
            }
            return;
        }
        if is_silent || !matches!(self.phase, Phase::Grow | Phase::Drain(_) | Phase::Settle(_)) {
            return;
        }
        if let Some(trial) = self.trial {
            if self.rate < TRIAL_FAILURE_SHARE * trial.rate {
                self.start_competing(now);
                self.rate = self.rate.max(trial.rate);
            } else if now > trial.until_s {
                self.trial = None;
            }
        } else if self.share > 0.0
            && now > self.next_check_s.max(self.silence.outage_end_s + OUTAGE_RECOVERY_S)
            && !self.is_bursty()
            && self.path.is_crowded()
        {
            self.next_check_s = now + CHECK_INTERVAL_S;
            if self.rate < SMALL_LINK_SHARE * self.peak_rate {
                self.rate = PROBE_GAIN * self.share;
                self.phase = Phase::Probe(Probe { until_s: now + (2.5 * self.path.rtt_s).max(0.1) });
            } else {
                self.start_check(now);
            }
        }
    }

    /// Whether RTTs scatter so much that another flow looks like a burst.
    pub(super) fn is_bursty(&self) -> bool {
        self.path.window_s() > 2.0 * self.path.dt_s
    }

    /// Compete if the probe delivered more than this flow's share. Otherwise the capacity is smaller and all this flow's.
    pub(super) fn end_probe(&mut self, tuning: &Tuning, now: f64) {
        let path = &self.path;
        let delivered = path.delivered_over(path.rtt_s.max(3.0 * path.dt_s) + path.window_s());
        if delivered > PROBE_SUCCESS_GAIN * self.share {
            self.start_competing(now);
        } else {
            self.peak_rate = PROBE_GAIN * self.share;
            self.reduce(tuning, now, false);
        }
    }

    /// Send much less for an RTT: a queue shrinks, a longer path stays.
    pub(super) fn start_check(&mut self, now: f64) {
        let length_s = self.path.base_s.max(MIN_CHECK_S);
        let check = Check {
            rtt_before_s: self.path.rtt_s,
            least_rtt_s: f64::MAX,
            delivery_before: self.path.delivered_over(length_s),
        };
        let rate = (1.0 - CHECK_DEPTH) * self.rate;
        self.phase = Phase::Drain(Drain { until_s: now + length_s, rate, check: Some(check) });
    }

    /// Judge a queue that remains after a check.
    pub(super) fn end_check(&mut self, tuning: &Tuning, now: f64, check: Check) {
        let length_s = self.path.base_s.max(MIN_CHECK_S);
        let threshold_s = (RTT_FALL_SHARE * CHECK_DEPTH * length_s).max(self.path.tolerance_s()).max(5e-4);
        let rtt_fall_s = check.rtt_before_s - check.least_rtt_s;
        if rtt_fall_s <= threshold_s {
            self.path.rebase();
            self.queued_since_s = now;
            self.phase = Phase::Grow;
            return;
        }
        // On a full link, this flow's deliveries fell by its reduction less what other flows gained.
        let delivery_share = self.path.delivered_over(length_s) / check.delivery_before.max(1.0);
        let own_share = ((1.0 - (1.0 - CHECK_DEPTH) / delivery_share.max(0.1)) / CHECK_DEPTH).clamp(0.1, 1.0);
        let drained_share = (rtt_fall_s / (CHECK_DEPTH * length_s)).clamp(0.1, 1.0);
        if now < self.silence.outage_end_s + OUTAGE_RECOVERY_S {
            // Peers drain as well.
            self.reduce(tuning, now, false);
        } else if own_share > OWN_QUEUE_SHARE && drained_share > 0.5 * OWN_QUEUE_SHARE {
            self.peak_rate = self.rate / own_share;
            self.queued_since_s = now;
            self.reduce(tuning, now, false);
        } else {
            let capacity = (self.rate / drained_share).min(MAX_INFERRED_CAPACITY * self.rate);
            self.peak_rate = self.peak_rate.max(capacity);
            self.start_competing(now);
        }
    }

    pub(super) fn start_competing(&mut self, now: f64) {
        self.trial = None;
        self.phase = Phase::Compete(Compete {
            until_s: now + COMPETE_PERIOD_S,
            ignores_loss_until_s: now,
            empty_share: 0.0,
            last_loss_s: now,
        });
        self.rate = self.rate.max(0.5 * self.peak_rate);
        self.queue_range = QueueRange::EMPTY;
    }

    /// Grow, and decrease at a loss, so that the share of the peak rate tends to [`TARGET_SHARE`].
    pub(super) fn compete(
        &mut self,
        tuning: &Tuning,
        now: f64,
        queue: f64,
        limit: f64,
        mut compete: Compete,
    ) {
        let path = &self.path;
        let (dt, rtt) = (path.dt_s, path.rtt_s);
        let has_loss = path.loss_over(2.0 * dt) > 0.0;
        let is_empty = if queue < limit { 1.0 } else { 0.0 };
        compete.empty_share +=
            (is_empty - compete.empty_share) * (dt / (3.0 * rtt).max(EMPTY_AVERAGING_S)).min(1.0);
        if compete.empty_share > EMPTY_TIME_SHARE {
            self.share = self.rate;
            self.acceleration = 1.0;
            self.phase = Phase::Grow;
            return;
        }
        if path.delivered_over(1.0) > FULL_LINK_SHARE * self.peak_rate {
            // The other flows yield, so the queue is this flow's own.
            self.queued_since_s = now;
            self.reduce(tuning, now, false);
            return;
        }
        if path.loss_over(CROWD_WINDOW_S) > CROWD_LOSS_FACTOR * tuning.loss {
            // Among many competitors no flow holds a share: all lose packets until all yield.
            self.reduce_to(tuning, now, path.delivered_over(CROWD_WINDOW_S));
            return;
        }
        if has_loss {
            compete.last_loss_s = now;
        } else if now > compete.last_loss_s + LOSSLESS_PERIOD_S {
            self.start_check(now);
            return;
        }
        let share = (self.rate / self.peak_rate.max(1.0)).clamp(0.05, 1.0);
        if has_loss && now >= compete.ignores_loss_until_s {
            if now >= compete.until_s {
                self.trial = Some(Trial { until_s: now + TRIAL_PERIOD_S, rate: self.rate });
                self.reduce(tuning, now, false);
                self.rate *= TRIAL_RATE_SHARE;
                return;
            }
            self.rate *=
                1.0 - COMPETE_DECREASE * libm::pow(share / TARGET_SHARE, DECREASE_EXPONENT).clamp(0.1, 2.0);
            self.rate = self.rate.min(1.25 * path.delivered_over(rtt.min(0.2)));
            compete.ignores_loss_until_s = now + rtt.max(IGNORED_LOSS_S);
        } else {
            // The capacity above the peak rate is unknown.
            let explored = if share > 0.8 { EXPLORATION_PER_S * self.rate } else { 0.0 };
            self.rate += (COMPETE_GROWTH_PER_S
                * self.peak_rate
                * libm::pow(TARGET_SHARE / share, GROWTH_EXPONENT).min(5.0))
            .max(explored)
                * dt;
            self.rate = self.rate.min(1.25 * self.peak_rate);
        }
        self.phase = Phase::Compete(compete);
    }
}
