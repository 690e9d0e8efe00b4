//! Competition: hold a share of the link beside a scheme that fills the buffer. The policy detects such a scheme and
//! names the rate, because neither the queue nor a loss does.

use super::*;

/// Value of `Tuning::compete` above which the competition begins, and below whose negative it ends.
const COMPETE_THRESHOLD: f64 = 0.2;

/// Time constant with which the rate follows the target, in s.
const TARGET_TIME_S: f64 = 0.5;

/// Amplitude of the rate's square wave, whose echo in the delivery rate shows the other flows, and its half period in RTTs.
const WAVE_AMPLITUDE: f64 = 0.08;
const WAVE_RTTS: f64 = 1.5;
const MIN_WAVE_S: f64 = 0.08;

/// Largest target, as a share of the peak rate.
const MAX_PEAK_SHARE: f64 = 1.1;

/// Part of the time without a queue that ends the competition, and the time over which it is averaged, in s.
const EMPTY_TIME_SHARE: f64 = 0.6;
const EMPTY_AVERAGING_S: f64 = 1.0;

/// Many competing flows lose this multiple of `Tuning::loss` over this time, in s.
const CROWD_LOSS_FACTOR: f64 = 3.0;
const CROWD_WINDOW_S: f64 = 2.0;

impl Controller {
    /// Begin or end the competition as the policy decides.
    pub(super) fn decide_competition(&mut self, tuning: &Tuning, now: f64, has_queue: bool) {
        if let Phase::Compete(mut compete) = self.phase {
            let is_empty = if has_queue { 0.0 } else { 1.0 };
            let weight = self.path.dt_s / (3.0 * self.path.rtt_s).max(EMPTY_AVERAGING_S);
            compete.empty_share += (is_empty - compete.empty_share) * weight.min(1.0);
            self.phase = Phase::Compete(compete);
            if tuning.compete < -COMPETE_THRESHOLD {
                self.path.holds_base = false;
                self.reduce(tuning, now, false);
            } else if compete.empty_share > EMPTY_TIME_SHARE {
                // Nobody fills the buffer, whatever the policy sees.
                self.path.holds_base = false;
                self.share = self.rate;
                self.acceleration = 1.0;
                self.phase = Phase::Grow;
            }
        } else if tuning.compete > COMPETE_THRESHOLD && has_queue && self.phase != Phase::StartUp {
            self.path.holds_base = true;
            self.phase = Phase::Compete(Compete { wave_until_s: now, is_high: false, empty_share: 0.0 });
        }
    }

    /// Move the rate towards the target, and return it with the wave.
    pub(super) fn compete(&mut self, tuning: &Tuning, now: f64, mut compete: Compete) -> f64 {
        let path = &self.path;
        let delivered = path.delivered_over(1.0);
        let mut target = (delivered * tuning.target).min(MAX_PEAK_SHARE * path.peak_rate);
        if path.loss_over(CROWD_WINDOW_S) > CROWD_LOSS_FACTOR * tuning.loss {
            target = target.min(path.delivered_over(CROWD_WINDOW_S));
        }
        self.rate += (target - self.rate) * (path.dt_s / TARGET_TIME_S).min(1.0);
        if now >= compete.wave_until_s {
            compete.is_high = !compete.is_high;
            compete.wave_until_s = now + (WAVE_RTTS * path.rtt_s).max(MIN_WAVE_S);
        }
        self.phase = Phase::Compete(compete);
        self.rate * if compete.is_high { 1.0 + WAVE_AMPLITUDE } else { 1.0 - WAVE_AMPLITUDE }
    }
}
