//! Congestion: measure the flow's share of the full link, drain the queue, and judge the result.

use super::*;

/// After a decrease, a small queue is drained without another decrease for this time. Flows with longer paths may
/// detect the first queue later.
const DECREASE_INTERVAL_S: f64 = 0.25;

/// Factor by which a rate measured over a window of bursts may be too low.
const BURSTY_RATE_FACTOR: f64 = 1.03;

/// Decrease on a link of bursts: a fuller link waits longer for the next burst.
const BURSTY_DECREASE: f64 = 0.07;

/// Time after a jump of the RTT in which a remaining queue is a longer path, in s.
const JUMP_WINDOW_S: f64 = 3.0;

/// Shortest drain of a check, in s, and its reduction of the rate.
const MIN_CHECK_S: f64 = 0.05;
const CHECK_DEPTH: f64 = 0.4;

/// Share of the expected fall of the RTT that distinguishes a queue from a longer path.
const RTT_FALL_SHARE: f64 = 0.08;

impl Controller {
    /// Measure this flow's share of the full link, decrease the rate, and drain the queue.
    pub(super) fn reduce(&mut self, tuning: &Tuning, now: f64, is_starting: bool) {
        let path = &self.path;
        let base = path.base_s;
        let recent = path.delivered_over(within(0.5 * base, 3.0 * path.dt_s, 0.2));
        let latest = path.delivered_over(2.0 * path.dt_s);
        let mut share = path.delivery.min(self.rate);
        if now < self.silence.until_s + 1.5 * path.rtt_s {
            share = latest.max(recent).max(self.silence.share_before);
        } else if path.window_s() > 0.0 {
            // A rate over few bursts is random. While the queue forms, this flow sends at its share of the capacity,
            // unless much less is delivered.
            share = self
                .rate
                .min(BURSTY_RATE_FACTOR * path.delivered_over(within(base, 1.0 * path.window_s(), 2.0)));
        } else if is_starting {
            // Only the last interval was full. Earlier this flow sent less, or a token bucket passed more.
            let last = path.delivered_over(path.dt_s);
            let has_enough_packets = last * path.dt_s > 20.0 * path.mss;
            share = if has_enough_packets { last } else { latest.max(recent) }.min(self.rate);
        } else if recent < 0.92 * share {
            share = recent;
        }
        if !is_starting && now < self.congested_s + DECREASE_INTERVAL_S && share > 0.9 * self.rate {
            // A flow with a longer path has reacted to the last queue, but its reaction has not arrived yet.
            self.drain(tuning, now, share);
            return;
        }
        self.congested_s = now;
        self.queue_range = QueueRange::EMPTY;
        self.reduce_to(tuning, now, share);
    }

    /// Set the rate to somewhat less than `share`, and drain the queue.
    pub(super) fn reduce_to(&mut self, tuning: &Tuning, now: f64, share: f64) {
        let path = &self.path;
        let base = path.base_s;
        let share = share.max(self.min_rate());
        if self.recovers(now) || self.share == 0.0 {
            self.recovery = None;
        } else if share < 0.85 * self.share
            && (now < self.silence.until_s + 2.0 * base + 1.5 || path.loss_over(base + 0.05) > 0.02)
        {
            self.recovery = Some(Recovery { share: self.share, until_s: now + base + 2.0 });
        }
        self.share = share;
        self.acceleration = 1.0;
        let decrease = if path.window_s() > 0.0 { BURSTY_DECREASE } else { tuning.decrease };
        self.rate = share * (1.0 - decrease);
        self.drain(tuning, now, share);
    }

    /// Send less than `share` until the queue must be empty.
    fn drain(&mut self, tuning: &Tuning, now: f64, share: f64) {
        let path = &self.path;
        let base = path.base_s;
        let share = share.max(self.min_rate());
        // Until the sender learns of a loss, packets behind the lost packet count as in flight. After an outage, so do
        // lost packets.
        let loss = path.loss_over(path.rtt_s);
        let counts_lost = loss > 0.0 && loss < tuning.loss || now < self.silence.until_s + 2.0 * base;
        let excess_s = if counts_lost { 0.0 } else { path.inflight / share - base };
        let queued_s = path.queue_s().max(excess_s).min(2.0 * base + 0.05);
        let depth = (queued_s / base).clamp(0.02, tuning.drain_depth.min(0.9));
        let length_s = queued_s / depth;
        self.phase =
            Phase::Drain(Drain { until_s: now + length_s, rate: share * (1.0 - depth), check: None });
    }

    /// Judge the queue after a drain has taken effect.
    pub(super) fn end_drain(
        &mut self,
        tuning: &Tuning,
        now: f64,
        queue: f64,
        limit: f64,
        check: Option<Check>,
    ) {
        if queue <= limit {
            self.phase = Phase::Grow;
            return;
        }
        if let Some(check) = check {
            self.end_check(tuning, now, check);
            return;
        }
        let path = &self.path;
        let window_s = path.window_s().max(3.0 * path.dt_s);
        let recent = path.delivered_over(within(path.rtt_s, window_s, 0.2));
        let full_share = if path.window_s() > 0.0 { 0.92 } else { 0.93 };
        if path.answered_share(within(0.5 * path.rtt_s, window_s, 0.2)) < full_share
            && now > self.silence.until_s + path.rtt_s
        {
            self.reduce_to(tuning, now, recent);
            return;
        }
        let QueueRange { least_s, most_s } = self.queue_range;
        if queue < 0.8 * most_s {
            // The queue shrinks, so it is this flow's.
            self.queue_range = QueueRange { least_s: f64::MAX, most_s: queue };
            self.drain(tuning, now, path.delivery.min(self.rate));
            return;
        }
        let wait_s = (3.0 * path.base_s).max(0.8);
        if now < self.congested_s + 0.5 * wait_s {
            self.queue_range.least_s = f64::MAX;
        }
        if now < self.congested_s + wait_s {
            self.phase = Phase::Settle(Settle { until_s: now, check: None });
            return;
        }
        let varies = most_s - least_s > limit.max(0.2 * most_s);
        let remains = least_s > limit && queue > (4.0 * limit).max(0.2 * path.base_s);
        let is_bursty = self.is_bursty();
        if remains && varies && !is_bursty {
            self.start_check(now);
        } else if varies || least_s < limit {
            self.reduce(tuning, now, false);
        } else if is_bursty || now < path.jumped_s + JUMP_WINDOW_S {
            // Bursts hide a drain's effect, and no queue grows as fast as a path changes. The new base may include a
            // queue.
            self.path.rebase();
            let rate = 0.9 * self.rate;
            self.phase = Phase::Drain(Drain { until_s: now + self.path.base_s, rate, check: None });
        } else {
            self.start_check(now);
        }
    }

    /// Whether RTTs scatter so much that another flow looks like a burst.
    fn is_bursty(&self) -> bool {
        self.path.window_s() > 2.0 * self.path.dt_s
    }

    /// Send much less for an RTT: a queue shrinks, a longer path stays.
    fn start_check(&mut self, now: f64) {
        let length_s = self.path.base_s.max(MIN_CHECK_S);
        let check = Check { rtt_before_s: self.path.rtt_s, least_rtt_s: f64::MAX };
        let rate = (1.0 - CHECK_DEPTH) * self.rate;
        self.phase = Phase::Drain(Drain { until_s: now + length_s, rate, check: Some(check) });
    }

    /// Judge a queue that remains after a check.
    fn end_check(&mut self, tuning: &Tuning, now: f64, check: Check) {
        let length_s = self.path.base_s.max(MIN_CHECK_S);
        let threshold_s = (RTT_FALL_SHARE * CHECK_DEPTH * length_s).max(self.path.tolerance_s()).max(5e-4);
        if check.rtt_before_s - check.least_rtt_s <= threshold_s {
            self.path.rebase();
            self.phase = Phase::Grow;
        } else {
            self.reduce(tuning, now, false);
        }
    }
}

/// `value` between `low` and `high`, or `low` where that is larger.
fn within(value: f64, low: f64, high: f64) -> f64 {
    value.min(high).max(low)
}
