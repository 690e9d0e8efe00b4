//! PIE (RFC 8033), with Linux's timestamps and constants.

use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::queue::pool::{Fifo, Pool};
use crate::queue::{Discipline, Tally, Waiting};
use crate::{Nanos, Queued};

const MILLISECOND: Nanos = 1_000_000;
/// RFC 8033 §4.1 and §5.1: no drops in the first 150 ms of a burst or below two queued packets.
const MAX_BURST: Nanos = 150 * MILLISECOND;
const MTU: u64 = 1514;
/// RFC 8033 §4.1: no drops below half the target while "PIE->drop_prob_ < 0.2"; §5.3: derandomisation.
const SAFE_PROBABILITY: f64 = 0.2;
const ACCUMULATED_MIN: f64 = 0.85;
const ACCUMULATED_MAX: f64 = 8.5;
/// RFC 8033 §5.1: mark instead of dropping up to this probability.
const MARK_PROBABILITY: f64 = 0.1;
/// RFC 8033 §5.2: from 10 % on, the probability grows by at most 2 % per step; a delay above 250 ms adds 2 %.
const STEP: f64 = 0.02;
const HIGH_DELAY: Nanos = 250 * MILLISECOND;

/// Parameters of `tc-pie(8)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieSettings {
    /// Target queueing delay.
    pub target: Nanos,
    /// Interval between updates of the probability.
    pub update: Nanos,
    /// Weight of the delay's deviation from the target, in 1/16 per second.
    pub alpha: u32,
    /// Weight of the delay's change, in 1/16 per second.
    pub beta: u32,
    /// Mark instead of dropping if the flow supports ECN.
    pub ecn: bool,
}

impl Default for PieSettings {
    fn default() -> Self {
        Self { target: 15 * MILLISECOND, update: 15 * MILLISECOND, alpha: 2, beta: 20, ecn: false }
    }
}

/// The controller of one queue.
#[derive(Clone, Debug)]
pub struct Controller {
    probability: f64,
    accumulated: f64,
    delay: Nanos,
    old_delay: Nanos,
    burst_left: Nanos,
    last_dequeue: Option<Nanos>,
}

impl Default for Controller {
    fn default() -> Self {
        Self {
            probability: 0.0,
            accumulated: 0.0,
            delay: 0,
            old_delay: 0,
            burst_left: MAX_BURST,
            last_dequeue: None,
        }
    }
}

impl Controller {
    /// Return whether to drop or mark the arriving packet (RFC 8033 §4.1).
    pub fn refuses(&mut self, settings: &PieSettings, backlog: u64, random: &mut Pcg64Mcg) -> bool {
        if self.burst_left > 0 {
            return false;
        }
        if self.delay < settings.target / 2 && self.probability < SAFE_PROBABILITY {
            return false;
        }
        if backlog < 2 * MTU {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        // RFC 8033 §5.3: avoid drops in a row and long stretches without drops.
        self.accumulated += self.probability;
        if self.accumulated < ACCUMULATED_MIN {
            return false;
        }
        let drawn = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        if self.accumulated >= ACCUMULATED_MAX || drawn < self.probability {
            self.accumulated = 0.0;
            return true;
        }
        false
    }

    pub fn marks(&self, settings: &PieSettings) -> bool {
        settings.ecn && self.probability <= MARK_PROBABILITY
    }

    /// Record the departure of a packet that arrived at `since`.
    pub fn on_dequeue(&mut self, now: Nanos, since: Nanos) {
        self.delay = now - since;
        let elapsed = self.last_dequeue.map_or(0, |last| now - last);
        self.last_dequeue = Some(now);
        self.burst_left = self.burst_left.saturating_sub(elapsed);
    }

    /// Update the probability (RFC 8033 §4.2); called every update interval.
    pub fn update(&mut self, settings: &PieSettings, backlog: u64) {
        let (delay, old) = (self.delay, self.old_delay);
        // Linux: with packets waiting, a delay of zero is left over from an idle queue.
        let is_measured = delay != 0 || backlog == 0;
        // §5.2: the smaller the probability, the smaller its steps.
        let mut scale = 1.0;
        if self.probability < 0.1 {
            scale /= 2.0;
            let mut below = 0.01;
            while self.probability < below && below >= 1e-6 {
                scale /= 4.0;
                below /= 10.0;
            }
        }
        let seconds = |from: Nanos, to: Nanos| (to as f64 - from as f64) * 1e-9;
        let mut change = scale * f64::from(settings.alpha) / 16.0 * seconds(settings.target, delay)
            + scale * f64::from(settings.beta) / 16.0 * seconds(old, delay);
        if change > STEP && self.probability >= 0.1 {
            change = STEP;
        }
        if delay > HIGH_DELAY {
            change += STEP;
        }
        self.probability = (self.probability + change).clamp(0.0, 1.0);
        if delay == 0 && old == 0 && is_measured {
            self.probability *= 1.0 - 1.0 / 64.0;
        }
        self.old_delay = delay;
        if delay < settings.target / 2 && old < settings.target / 2 && self.probability == 0.0 {
            *self = Self { last_dequeue: self.last_dequeue, ..Self::default() };
        }
    }
}

/// A single queue with PIE.
#[derive(Clone, Debug)]
pub struct Pie<P> {
    settings: PieSettings,
    limit: u64,
    pool: Pool<P>,
    fifo: Fifo,
    controller: Controller,
    next_update: Nanos,
    random: Pcg64Mcg,
}

impl<P: Queued> Pie<P> {
    /// Create a queue of at most `limit` packets (Linux: 1,000).
    pub fn new(limit: u64, settings: PieSettings, seed: u64) -> Self {
        Self {
            limit,
            pool: Pool::new(),
            fifo: Fifo::new(),
            controller: Controller::default(),
            next_update: settings.update,
            random: Pcg64Mcg::seed_from_u64(seed),
            settings,
        }
    }

    fn catch_up(&mut self, now: Nanos) {
        while self.next_update <= now {
            self.controller.update(&self.settings, self.pool.bytes());
            self.next_update += self.settings.update;
            if self.controller.probability == 0.0 && self.pool.packets() == 0 {
                // An idle queue has nothing to update: skip the missed intervals.
                let missed = (now.saturating_sub(self.next_update)) / self.settings.update;
                self.next_update += missed * self.settings.update;
            }
        }
    }
}

impl<P: Queued> Discipline<P> for Pie<P> {
    fn enqueue(&mut self, mut waiting: Waiting<P>, now: Nanos, tally: &mut Tally) {
        self.catch_up(now);
        if self.pool.packets() >= self.limit {
            tally.dropped += 1;
            self.controller.accumulated = 0.0;
            return;
        }
        if self.controller.refuses(&self.settings, self.pool.bytes(), &mut self.random) {
            if self.controller.marks(&self.settings) && waiting.packet.mark_congestion() {
                tally.marked += 1;
            } else {
                tally.dropped += 1;
                return;
            }
        }
        self.pool.push(&mut self.fifo, waiting);
    }

    fn dequeue(&mut self, now: Nanos, _tally: &mut Tally) -> Option<Waiting<P>> {
        self.catch_up(now);
        let waiting = self.pool.pop(&mut self.fifo)?;
        self.controller.on_dequeue(now, waiting.since);
        Some(waiting)
    }

    fn pool(&self) -> &Pool<P> {
        &self.pool
    }
}
