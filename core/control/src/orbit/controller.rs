//! The controller: a sawtooth of small amplitude whose drains keep the base RTT known.

mod competition;

use super::PathEstimate;
use crate::Report;
use crate::action::{Command, MAX_CWND_PACKETS, MIN_CWND_PACKETS};

/// Numbers of an action.
pub(crate) const GAINS: usize = 8;

/// What the policy scales. An action of zeros leaves these.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tuning {
    /// Gain on the pacing rate.
    pace: f64,
    /// Growth of the rate at 100 Mbit/s, per second.
    growth: f64,
    /// Decrease after a queue was seen.
    back_off: f64,
    /// Queueing delay that counts as congestion, in s.
    queue_s: f64,
    /// Growth per RTT of the growth itself, beyond the last known capacity.
    acceleration: f64,
    /// Deepest reduction while draining.
    drain: f64,
    /// Exponent of the rate in its growth: 1 keeps shares, 0 equalises them fastest.
    exponent: f64,
    /// Loss that counts as congestion without a queue.
    loss: f64,
}

impl Tuning {
    fn of(action: &[f32]) -> Self {
        let at = |index: usize| {
            let value = action.get(index).copied().unwrap_or(0.0);
            if value.is_nan() { 0.0 } else { f64::from(value).clamp(-1.0, 1.0) }
        };
        let scaled = |index: usize, by: f64| libm::pow(by, at(index));
        Self {
            pace: scaled(0, 1.1),
            growth: 0.08 * scaled(1, 8.0),
            back_off: 0.03 * scaled(2, 8.0),
            queue_s: 1.6e-3 * scaled(3, 8.0),
            acceleration: 1.0 * scaled(4, 8.0),
            drain: 0.5 * scaled(5, 2.0),
            exponent: 0.1 + 0.5 * at(6),
            loss: 0.03 * scaled(7, 8.0),
        }
    }
}

/// Time in which the highest rate is forgotten, in s.
const FORGETTING_S: f64 = 100.0;

/// After a decrease, a small queue is drained without another one for so long: others may see it later.
const REFRACTORY_S: f64 = 0.25;

/// A rate over a window of bursts may be so much too low.
const BURSTY: f64 = 1.03;

/// The least decrease on a link of bursts: a fuller link waits longer for the next burst.
const BURSTY_BACK_OFF: f64 = 0.07;

/// Intervals that doubling takes beside an RTT: a report is half an interval old on average, and a queue is told by the
/// first whole interval of it.
const START_UP_DELAY: f64 = 1.0;

/// Part of the base RTT that a start-up takes for jitter at most.
const MOST_SCATTER: f64 = 0.25;

/// Time after a jump of the RTT in which a queue that stays is a longer path, in s.
const JUMP_S: f64 = 3.0;

/// Growth on a link of bursts, whose queue is known late, as a part of the growth elsewhere.
const BURSTY_GROWTH: f64 = 0.8;

/// Packets missing in a silence that is the path's; a shorter one may be another flow's burst.
const OUTAGE_PACKETS: f64 = 30.0;

/// The rate at which `growth` holds, in bytes/s: 100 Mbit/s.
const REFERENCE_RATE: f64 = 12.5e6;

/// Largest rate, in bytes/s: 20 Gbit/s.
const LARGEST_RATE: f64 = 2.5e9;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Doubles every RTT until a queue forms.
    StartUp,
    /// Grows slowly.
    Grow,
    /// Sends less until the queue must be gone.
    Drain { until_s: f64, rate: f64 },
    /// Waits an RTT for the answer to the drain.
    Settle { until_s: f64 },
    /// Sends more than its small share, to see whether that is all there is.
    Test { until_s: f64 },
    /// Holds its share against a flow that fills the buffer.
    Compete { until_s: f64, deaf_until_s: f64, empty: f64, watched_s: f64 },
}

/// The state of one flow's controller.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Controller {
    path: PathEstimate,
    phase: Phase,
    /// The rate between drains, in bytes/s; 0 before the first RTT.
    rate: f64,
    /// Our share of the capacity when a queue was last seen; 0 before.
    known: f64,
    /// Factor on the growth beyond `known`.
    haste: f64,
    /// End of the wait after a silence.
    gap_until_s: f64,
    /// End of the last silence of many packets' length.
    outage_s: f64,
    /// `known` before the silence.
    before_gap: f64,
    /// The RTT before a drain that checks whether there is a queue, in s; 0 without such a drain. And the least since.
    checked_s: f64,
    least_s: f64,
    /// The delivery rate before that drain, in bytes/s.
    checked_delivery: f64,
    /// What was known before a large drop, to return to soon if no queue speaks against it, and until when.
    memory: f64,
    memory_until_s: f64,
    /// When the last queue was seen.
    event_s: f64,
    /// Smallest and largest queue since then, in s.
    queue_range_s: (f64, f64),
    /// Since when there has always been a queue.
    queued_since_s: f64,
    /// Until when a crowded path is not asked again.
    asked_until_s: f64,
    /// Until when we try to do without competing, and the rate before.
    trial_until_s: f64,
    trial_rate: f64,
    /// The highest delivery rate of the last minute or so, in bytes/s.
    highest: f64,
}

impl Default for Controller {
    fn default() -> Self {
        Self {
            path: PathEstimate::default(),
            phase: Phase::StartUp,
            rate: 0.0,
            known: 0.0,
            haste: 1.0,
            gap_until_s: -1.0,
            outage_s: f64::MIN,
            before_gap: 0.0,
            checked_s: 0.0,
            least_s: 0.0,
            checked_delivery: 0.0,
            memory: 0.0,
            memory_until_s: 0.0,
            event_s: 0.0,
            queue_range_s: (f64::MAX, 0.0),
            queued_since_s: 0.0,
            asked_until_s: 0.0,
            trial_until_s: 0.0,
            trial_rate: 0.0,
            highest: 0.0,
        }
    }
}

impl Controller {
    pub fn observe(&mut self, report: &Report) {
        if self.is_silent() && report.delivered_bytes > 0 {
            self.gap_until_s = report.time_ns as f64 / 1e9 + self.path.rtt_s;
            self.before_gap = self.known.min(self.rate);
            if self.path.silent_s > OUTAGE_PACKETS * self.path.mss / self.rate.max(1.0) {
                self.outage_s = report.time_ns as f64 / 1e9;
            }
        }
        self.path.observe(report);
    }

    /// Whether answers are missing: an outage, or a longer path.
    fn is_silent(&self) -> bool {
        let usual_s = (1.5 * self.path.dt_s).max(8.0 * self.path.mss / self.rate.max(1.0));
        self.path.silent_s > usual_s.max(0.2 * self.path.window_s())
    }

    pub fn act(&mut self, action: &[f32], report: &Report) -> Command {
        if report.srtt_us == 0 || self.path.base_s == 0.0 {
            return Command { cwnd_packets: report.cwnd, pacing_bytes_per_s: 0 };
        }
        let tuning = Tuning::of(action);
        let pace = self.step(&tuning) * tuning.pace;
        // The rate decides; the window ends what an outage swallows, and lets an RTT rise at once by 200 ms.
        let window_s = self.path.rtt_s.max(self.path.base_s) + 0.2;
        let window = (pace.max(self.rate) * window_s / self.path.mss).ceil();
        Command {
            cwnd_packets: window.clamp(f64::from(MIN_CWND_PACKETS), f64::from(MAX_CWND_PACKETS)) as u32,
            pacing_bytes_per_s: pace.min(LARGEST_RATE) as u64,
        }
    }

    fn step(&mut self, tuning: &Tuning) -> f64 {
        let path = &self.path;
        let (now, dt, base, rtt, silent) = (path.time_s, path.dt_s, path.base_s, path.rtt_s, path.silent_s);
        let floor = 2.0 * path.mss / base.max(0.01);
        if self.rate == 0.0 {
            self.rate = (20.0 * path.mss / base).max(floor);
        }
        let queue = path.queue_s();
        let limit = tuning
            .queue_s
            .min(0.1 * base + 5e-4)
            .max(path.tolerance_s())
            .max(1.5 * path.mss / self.rate.max(1.0));
        let in_gap = now < self.gap_until_s || self.is_silent();
        let losing = losing(path, tuning, queue / limit);
        if queue < limit || in_gap || self.phase == Phase::StartUp {
            self.queued_since_s = now;
        }
        let queued_s = now - self.queued_since_s;
        // Beside a flow that fills the buffer, the rate of before is what tells the capacity.
        let forgotten = if queued_s > 0.5 || matches!(self.phase, Phase::Compete { .. }) {
            0.0
        } else {
            dt / FORGETTING_S
        };
        self.highest = (self.highest * (1.0 - forgotten)).max(path.delivered_over(0.2));
        if self.path.heard {
            self.queue_range_s = (self.queue_range_s.0.min(queue), self.queue_range_s.1.max(queue));
        }
        self.watch(now, in_gap);
        let path = &self.path;
        match self.phase {
            Phase::StartUp => {
                // The base RTT is the least of the first means, of a few samples each: jitter looks like a queue.
                let scatter_s = path.scatter_s();
                let limit = limit.max(0.03 * base).max((4.0 * scatter_s).min(MOST_SCATTER * base));
                let grows = queue > 0.25 * limit && path.slope > 3.0 * path.slope_deviation(scatter_s);
                // A queue that grows goes on growing until the answer to this decision.
                let coming = if grows { path.slope.max(0.0) * (base + dt).min(3.0 * dt) } else { 0.0 };
                let full = queue + coming > limit;
                if (full || losing) && !in_gap {
                    self.congested(tuning, now, true);
                } else {
                    // A report waits for its interval's end: on a short path that is a large part of an RTT.
                    self.rate *= libm::exp2(dt / (base.max(dt) + START_UP_DELAY * dt));
                }
            }
            Phase::Grow => {
                if (queue > limit || losing) && !in_gap {
                    self.congested(tuning, now, false);
                } else if silent < 2.0 * dt + 0.5 * base {
                    self.grow(tuning, queue < 0.7 * limit);
                }
            }
            Phase::Test { until_s } => {
                if in_gap {
                    self.phase = Phase::Grow;
                } else if now >= until_s {
                    self.tested(tuning, now);
                }
            }
            Phase::Compete { .. } => {}
            Phase::Drain { until_s, rate } => {
                self.creep(tuning);
                if now < until_s {
                    return rate.max(floor);
                }
                self.phase = Phase::Settle { until_s: now + rtt.max(base) + dt + self.path.window_s() };
            }
            Phase::Settle { until_s } => {
                if queue < limit || now < until_s {
                    self.creep(tuning);
                }
                if now >= until_s && !in_gap {
                    self.settled(tuning, now, queue, limit);
                }
            }
        }
        self.compete(tuning, now, queue, limit);
        if let Phase::Drain { rate, .. } = self.phase {
            return rate.max(floor);
        }
        self.rate = self.rate.max(floor).min(LARGEST_RATE);
        if matches!(self.phase, Phase::Settle { until_s } if now >= until_s) {
            // The queue stays: it must not be for our growth.
            return (0.96 * self.rate).max(floor);
        }
        self.rate
    }

    /// Whether a larger rate was right a moment ago.
    fn recovers(&self, now: f64) -> bool {
        now < self.memory_until_s && self.rate < 0.96 * self.memory
    }

    /// Grow as other flows do while we wait: growth in time, not in RTTs, gives short and long paths equal shares.
    fn creep(&mut self, tuning: &Tuning) {
        self.rate *= 1.0 + self.growth_per_s(tuning) * self.path.dt_s;
    }

    fn growth_per_s(&self, tuning: &Tuning) -> f64 {
        let base = self.path.base_s;
        let scale = libm::pow(REFERENCE_RATE / self.rate, 1.0 - tuning.exponent);
        // Beyond 200 ms, growth between two answers would exceed what a drain takes.
        tuning.growth
            * scale
            * (0.2 / base).min(1.0)
            * if self.path.window_s() > 0.0 { BURSTY_GROWTH } else { 1.0 }
    }

    fn grow(&mut self, tuning: &Tuning, is_empty: bool) {
        let path = &self.path;
        let (dt, base) = (path.dt_s, path.base_s);
        if self.known > 0.0 && path.answered_rate() < 1.03 * self.known || !is_empty {
            self.haste = 1.0;
        } else {
            self.haste *= libm::exp2((tuning.acceleration * dt / base.max(0.1)).min(1.0));
        }
        let back = if is_empty && self.recovers(self.path.time_s) { 0.35 / base.max(0.02) } else { 0.0 };
        let per_s = (self.growth_per_s(tuning) * self.haste).max(back).min(0.7 / base.max(dt));
        self.rate *= 1.0 + per_s * dt;
    }

    /// Measure our share of the full link and drain the queue.
    fn congested(&mut self, tuning: &Tuning, now: f64, starting: bool) {
        let path = &self.path;
        let base = path.base_s;
        let recent = path.delivered_over(within(0.5 * base, 3.0 * path.dt_s, 0.2));
        let latest = path.delivered_over(2.0 * path.dt_s);
        let mut share = path.delivery.min(self.rate);
        if now < self.gap_until_s + 1.5 * path.rtt_s {
            share = latest.max(recent).max(self.before_gap);
        } else if path.window_s() > 0.0 {
            // A rate over few bursts is chance. As the queue forms we send the capacity, unless much less arrives.
            share = self.rate.min(BURSTY * path.delivered_over(within(base, 1.0 * path.window_s(), 2.0)));
        } else if starting {
            // The last interval was full: before it we sent less, and a token bucket may have let more pass.
            let last = path.delivered_over(path.dt_s);
            let counted = last * path.dt_s > 20.0 * path.mss;
            share = if counted { last } else { latest.max(recent) }.min(self.rate);
        } else if recent < 0.92 * share {
            share = recent;
        }
        if !starting && now < self.event_s + REFRACTORY_S && share > 0.9 * self.rate {
            // A flow with a longer path has seen the last queue, but its answer is not here yet.
            self.empty(tuning, now, share);
            return;
        }
        self.event_s = now;
        self.queue_range_s = (f64::MAX, 0.0);
        self.drain(tuning, now, share);
    }

    fn drain(&mut self, tuning: &Tuning, now: f64, share: f64) {
        let path = &self.path;
        let base = path.base_s;
        let share = share.max(2.0 * path.mss / base.max(0.01));
        if self.recovers(now) || self.known == 0.0 {
            self.memory = 0.0;
        } else if share < 0.85 * self.known
            && (now < self.gap_until_s + 2.0 * base + 1.5 || path.loss_over(base + 0.05) > 0.02)
        {
            self.memory = self.known;
            self.memory_until_s = now + base + 2.0;
        }
        self.known = share;
        self.haste = 1.0;
        let back_off = if path.window_s() > 0.0 { BURSTY_BACK_OFF } else { tuning.back_off };
        self.rate = share * (1.0 - back_off);
        self.empty(tuning, now, share);
    }

    /// Send less than our share until the queue must be gone.
    fn empty(&mut self, tuning: &Tuning, now: f64, share: f64) {
        let path = &self.path;
        let base = path.base_s;
        let share = share.max(2.0 * path.mss / base.max(0.01));
        // Packets behind a lost one count as in flight until it is answered, and after an outage those that are lost.
        let lost = path.loss_over(path.rtt_s);
        let counts_lost = lost > 0.0 && lost < tuning.loss || now < self.gap_until_s + 2.0 * base;
        let beyond_s = if counts_lost { 0.0 } else { path.inflight / share - base };
        let queued = path.queue_s().max(beyond_s).min(2.0 * base + 0.05);
        let depth = (queued / base).clamp(0.02, tuning.drain.min(0.9));
        let length = queued / depth;
        self.phase = Phase::Drain { until_s: now + length, rate: share * (1.0 - depth) };
    }

    /// The answer to the drain is here.
    fn settled(&mut self, tuning: &Tuning, now: f64, queue: f64, limit: f64) {
        if self.checked_s > 0.0 {
            self.checked(tuning, now, queue, limit);
            return;
        }
        let path = &self.path;
        let base = path.base_s;
        if queue > limit {
            let window_s = path.window_s().max(3.0 * path.dt_s);
            let recent = path.delivered_over(within(path.rtt_s, window_s, 0.2));
            let much_less = if path.window_s() > 0.0 { 0.92 } else { 0.93 };
            if path.answered_share(within(0.5 * path.rtt_s, window_s, 0.2)) < much_less
                && now > self.gap_until_s + path.rtt_s
            {
                self.drain(tuning, now, recent);
                return;
            }
            let (least, most) = self.queue_range_s;
            if queue < 0.8 * most {
                // It drains: it is ours.
                self.queue_range_s = (f64::MAX, queue);
                self.empty(tuning, now, path.delivery.min(self.rate));
                return;
            }
            let wait_s = (3.0 * base).max(0.8);
            if now < self.event_s + 0.5 * wait_s {
                self.queue_range_s.0 = f64::MAX;
            }
            if now < self.event_s + wait_s {
                self.phase = Phase::Settle { until_s: now };
                return;
            }
            let varies = most - least > limit.max(0.2 * most);
            let stays = least > limit && queue > (4.0 * limit).max(0.2 * base);
            if stays && varies && !self.is_bursty() {
                self.check(now);
                return;
            }
            if varies || least < limit {
                self.congested(tuning, now, false);
                return;
            }
            if self.is_bursty() || now < self.path.jumped_s + JUMP_S {
                // Bursts hide the answer to a drain, and no queue grows as fast as a path changes. What we take as the
                // base may contain a queue.
                self.path.rebase();
                self.phase = Phase::Drain { until_s: now + self.path.base_s, rate: 0.9 * self.rate };
            } else {
                self.check(now);
            }
            return;
        }
        self.checked_s = 0.0;
        self.phase = Phase::Grow;
    }
}

/// Whether packets are lost to a full buffer: with a queue, or far more than at random.
fn losing(path: &PathEstimate, tuning: &Tuning, queue: f64) -> bool {
    let loss = path.loss_over(path.base_s.max(0.1));
    loss > tuning.loss && queue > 0.4 || loss > 4.0 * tuning.loss
}

/// `value` between `low` and `high`, or `low` where that is larger.
fn within(value: f64, low: f64, high: f64) -> f64 {
    value.min(high).max(low)
}

#[cfg(test)]
mod tests;
