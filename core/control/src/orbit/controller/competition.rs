//! Beside a flow that fills the buffer: how it is told from a longer path and from our own queue, and our share.

use super::*;

/// Time beside a flow that fills the buffer; then a loss ends it, and the queue tells whether it is still there.
const COMPETING_S: f64 = 20.0;

/// Least length in s, and depth, of a drain that checks whether there is a queue.
const CHECK_S: f64 = 0.05;
const CHECK_DEPTH: f64 = 0.4;

/// Beside a flow that fills the buffer: growth per s at `COMPETING_SHARE` of the capacity, decrease at a loss there,
/// and the time after it in which other losses do not count, in s.
const COMPETING_SHARE: f64 = 0.6;
const COMPETING_GROWTH: f64 = 0.045;
const COMPETING_DECREASE: f64 = 0.13;
const COMPETING_DEAF_S: f64 = 0.9;

/// Growth per s beyond the highest rate so far.
const EXPLORATION: f64 = 0.2;

/// Share of the highest rate from which on the others have yielded.
const WHOLE: f64 = 0.88;

/// Share of a queue that answers a drain from which on it is ours.
const OURS: f64 = 0.7;

/// The capacity that a drain tells is at most so many times our rate.
const UNSEEN: f64 = 2.5;

/// A smaller share of the highest rate is too small for a drain to be answered.
const SMALL_SHARE: f64 = 0.4;

/// Time without a loss after which a drain checks again whether there is a queue, in s.
const QUIET_S: f64 = 5.0;

/// After competing, a rate that falls to this part within this time, in s, tells that the other flow is still there.
const TRIAL_LOSS: f64 = 0.7;
const TRIAL_S: f64 = 5.0;

/// Part of our share that we go on with then, so that a peer that competes, too, sees an empty queue and leaves.
const TRIAL_PART: f64 = 0.85;

/// Part of the expected answer to a drain that tells a queue from a longer path.
const ANSWER: f64 = 0.08;

/// What a flow with a small share sends of it to see whether more arrives, and the part of it that says so.
const TEST: f64 = 1.25;
const ARRIVED: f64 = 1.1;

/// Time after a silence without questions, in s: flows find their shares again.
const CALM_S: f64 = 5.0;

/// Time between two questions, in s.
const ASK_S: f64 = 2.0;

/// Part of the time without a queue that ends a competition, and the time over which it is averaged, in s.
const EMPTY: f64 = 0.6;
const EMPTY_S: f64 = 1.0;

/// Exponents that draw the share to `COMPETING_SHARE`, whether losses are rare or frequent.
const GROWTH_EXPONENT: f64 = 4.0;
const DECREASE_EXPONENT: f64 = 0.4;

/// Many flows that compete lose this multiple of the loss that counts, over this time in s.
const CROWD_LOSS: f64 = 2.0;
const CROWD_S: f64 = 2.0;

impl Controller {
    /// Ask whether another flow keeps a queue where the queue was not empty for seconds.
    pub(super) fn watch(&mut self, now: f64, in_gap: bool) {
        self.path.holds_base = matches!(self.phase, Phase::Compete { .. });
        if self.path.heard {
            self.least_s = self.least_s.min(self.path.rtt_s);
        }
        let is_open = matches!(self.phase, Phase::Grow | Phase::Drain { .. } | Phase::Settle { .. });
        if !is_open || self.checked_s > 0.0 || in_gap {
            return;
        }
        if self.trial_until_s > 0.0 {
            if self.rate < TRIAL_LOSS * self.trial_rate {
                self.begin_to_compete(now);
                self.rate = self.rate.max(self.trial_rate);
            } else if now > self.trial_until_s {
                self.trial_until_s = 0.0;
            }
        } else if self.known > 0.0
            && now > self.asked_until_s.max(self.outage_s + CALM_S)
            && !self.is_bursty()
            && self.path.is_crowded()
        {
            self.asked_until_s = now + ASK_S;
            if self.rate < SMALL_SHARE * self.highest {
                self.rate = TEST * self.known;
                self.phase = Phase::Test { until_s: now + (2.5 * self.path.rtt_s).max(0.1) };
            } else {
                self.check(now);
            }
        }
    }

    /// Whether answers scatter so much that no other flow can be told from a burst.
    pub(super) fn is_bursty(&self) -> bool {
        self.path.window_s() > 2.0 * self.path.dt_s
    }

    /// The answer to more than our share is here: if no more arrived, the capacity is smaller and ours alone.
    pub(super) fn tested(&mut self, tuning: &Tuning, now: f64) {
        let arrived =
            self.path.delivered_over(self.path.rtt_s.max(3.0 * self.path.dt_s) + self.path.window_s());
        if arrived > ARRIVED * self.known {
            self.begin_to_compete(now);
        } else {
            self.highest = TEST * self.known;
            self.congested(tuning, now, false);
        }
    }

    /// Send much less for an RTT: a queue answers, a longer path does not.
    pub(super) fn check(&mut self, now: f64) {
        self.checked_s = self.path.rtt_s;
        self.checked_delivery = self.path.delivered_over(self.path.base_s.max(CHECK_S));
        self.least_s = f64::MAX;
        let length_s = self.path.base_s.max(CHECK_S);
        self.phase = Phase::Drain { until_s: now + length_s, rate: (1.0 - CHECK_DEPTH) * self.rate };
    }

    pub(super) fn checked(&mut self, tuning: &Tuning, now: f64, queue: f64, limit: f64) {
        let length_s = self.path.base_s.max(CHECK_S);
        let answer_s = (ANSWER * CHECK_DEPTH * length_s).max(self.path.tolerance_s()).max(5e-4);
        let fell = self.checked_s - self.least_s;
        let answered = fell > answer_s;
        // Of a full link, less was ours by the part that we left out and others took.
        let kept = self.path.delivered_over(length_s) / self.checked_delivery.max(1.0);
        let share = ((1.0 - (1.0 - CHECK_DEPTH) / kept.max(0.1)) / CHECK_DEPTH).clamp(0.1, 1.0);
        self.checked_s = 0.0;
        self.phase = Phase::Grow;
        if queue > limit {
            if answered {
                let left_out = (fell / (CHECK_DEPTH * length_s)).clamp(0.1, 1.0);
                if now < self.outage_s + CALM_S {
                    // Others drain, too: peers do.
                    self.congested(tuning, now, false);
                    return;
                }
                if share > OURS && left_out > 0.5 * OURS {
                    self.highest = self.rate / share;
                    self.queued_since_s = now;
                    self.congested(tuning, now, false);
                    return;
                }
                self.highest = self.highest.max((self.rate / left_out).min(UNSEEN * self.rate));
                self.begin_to_compete(now);
            } else {
                self.path.rebase();
                self.queued_since_s = now;
            }
        }
    }

    fn begin_to_compete(&mut self, now: f64) {
        self.trial_until_s = 0.0;
        self.phase =
            Phase::Compete { until_s: now + COMPETING_S, deaf_until_s: now, empty: 0.0, watched_s: now };
        self.rate = self.rate.max(0.5 * self.highest);
        self.queue_range_s = (f64::MAX, 0.0);
    }

    /// Grow and yield to loss so that our share of the highest rate tends to [`COMPETING_SHARE`].
    pub(super) fn compete(&mut self, tuning: &Tuning, now: f64, queue: f64, limit: f64) {
        let Phase::Compete { until_s, mut deaf_until_s, mut empty, mut watched_s } = self.phase else {
            return;
        };
        let path = &self.path;
        let (dt, rtt) = (path.dt_s, path.rtt_s);
        let loses = path.loss_over(2.0 * dt) > 0.0;
        let is_empty = if queue < limit { 1.0 } else { 0.0 };
        empty += (is_empty - empty) * (dt / (3.0 * rtt).max(EMPTY_S)).min(1.0);
        if empty > EMPTY {
            self.known = self.rate;
            self.haste = 1.0;
            self.phase = Phase::Grow;
            return;
        }
        if path.delivered_over(1.0) > WHOLE * self.highest {
            // The others yield: the queue is ours.
            self.queued_since_s = now;
            self.congested(tuning, now, false);
            return;
        }
        if path.loss_over(CROWD_S) > CROWD_LOSS * tuning.loss {
            // Against many, nobody holds a share: all lose until all yield.
            self.drain(tuning, now, path.delivered_over(CROWD_S));
            return;
        }
        if loses {
            watched_s = now;
        } else if now > watched_s + QUIET_S {
            self.check(now);
            return;
        }
        let share = (self.rate / self.highest.max(1.0)).clamp(0.05, 1.0);
        if loses && now >= deaf_until_s {
            if now >= until_s {
                self.trial_until_s = now + TRIAL_S;
                self.trial_rate = self.rate;
                self.congested(tuning, now, false);
                self.rate *= TRIAL_PART;
                return;
            }
            self.rate *= 1.0
                - COMPETING_DECREASE * libm::pow(share / COMPETING_SHARE, DECREASE_EXPONENT).clamp(0.1, 2.0);
            self.rate = self.rate.min(1.25 * path.delivered_over(rtt.min(0.2)));
            deaf_until_s = now + rtt.max(COMPETING_DEAF_S);
        } else {
            // Beyond what was ever reached, the capacity is not known.
            let explored = if share > 0.8 { EXPLORATION * self.rate } else { 0.0 };
            self.rate += (COMPETING_GROWTH
                * self.highest
                * libm::pow(COMPETING_SHARE / share, GROWTH_EXPONENT).min(5.0))
            .max(explored)
                * dt;
            self.rate = self.rate.min(1.25 * self.highest);
        }
        self.phase = Phase::Compete { until_s, deaf_until_s, empty, watched_s };
    }
}
