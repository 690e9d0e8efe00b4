//! DualPI2 (RFC 9332, Appendix A), with Linux's scheduler and constants, as in `tc-dualpi2(8)`.

use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::queue::pool::{Fifo, Pool};
use crate::queue::{Discipline, Tally, Waiting};
use crate::{Nanos, Queued};

const MILLISECOND: Nanos = 1_000_000;
/// Linux neither marks by chance nor drops while less than two of these wait.
const MTU: u64 = 1500;
/// The weights of the two queues add up to this.
const WHOLE: i64 = 100;

/// Parameters of `tc-dualpi2(8)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Settings {
    /// Maximum packets in both queues.
    pub limit: u64,
    /// Target queueing delay of the classic queue.
    pub target: Nanos,
    /// Interval between updates of the probability.
    pub update: Nanos,
    /// Weight of the delay's deviation from the target, per second and update.
    pub alpha_hz: f64,
    /// Weight of the delay's change, per second and update.
    pub beta_hz: f64,
    /// Marks in the L queue per square root of drops in the C queue: the k of RFC 9332 §2.1.
    pub coupling: u32,
    /// The L queue marks all packets that waited longer than this.
    pub step: Nanos,
    /// The C queue's share of the capacity while both queues are busy, in percent.
    pub classic_percent: u32,
    /// All ECN-capable packets belong into the L queue, not only those with ECT(1) and CE.
    pub any_ect: bool,
    /// Drop when the L queue's probability would exceed 1; otherwise only a full queue drops L4S packets.
    pub drop_overload: bool,
}

impl Default for DualPi2Settings {
    fn default() -> Self {
        Self {
            limit: 10_000,
            target: 15 * MILLISECOND,
            update: 16 * MILLISECOND,
            // Linux counts in 1/256 Hz and rounds .16 and 3.2 Hz to these.
            alpha_hz: 41.0 / 256.0,
            beta_hz: 819.0 / 256.0,
            coupling: 2,
            step: MILLISECOND,
            classic_percent: 10,
            any_ect: false,
            drop_overload: true,
        }
    }
}

impl DualPi2Settings {
    /// Return the credit with which the scheduler begins: for a small share of C, the L queue has the first turn.
    const fn first_credit(&self) -> i64 {
        MTU as i64 * (2 * self.classic_percent as i64 - WHOLE)
    }
}

/// Two queues: L for L4S flows, C for all others.
#[derive(Clone, Debug)]
pub struct DualPi2<P> {
    settings: DualPi2Settings,
    pool: Pool<P>,
    low: Fifo,
    classic: Fifo,
    /// The base probability, p' of RFC 9332: C drops or marks by its square, L marks by `coupling` times it.
    pub(super) probability: f64,
    old_delay: Nanos,
    pub(super) next_update: Nanos,
    /// Bytes by weight that the C queue is ahead of its share; L has the next turn unless it is positive.
    credit: i64,
    random: Pcg64Mcg,
}

/// The fate of a packet that leaves a queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Pass,
    Mark,
    Drop,
}

impl<P: Queued> DualPi2<P> {
    /// Create empty queues; `seed` drives the random drops and marks.
    pub fn new(settings: DualPi2Settings, seed: u64) -> Self {
        Self {
            pool: Pool::new(),
            low: Fifo::new(),
            classic: Fifo::new(),
            probability: 0.0,
            old_delay: 0,
            next_update: settings.update,
            credit: settings.first_credit(),
            random: Pcg64Mcg::seed_from_u64(seed),
            settings,
        }
    }

    fn belongs_low(&self, packet: &P) -> bool {
        let codepoint = packet.codepoint();
        codepoint.is_l4s() || (self.settings.any_ect && codepoint.is_capable())
    }

    /// Update the probability at all times up to `now` for which it is due.
    fn catch_up(&mut self, now: Nanos) {
        while self.next_update <= now {
            self.update(self.next_update);
            self.next_update += self.settings.update;
            if self.probability == 0.0 && self.old_delay == 0 && self.pool.packets() == 0 {
                // Idle queues have nothing to update: skip the missed intervals.
                let missed = now.saturating_sub(self.next_update) / self.settings.update;
                self.next_update += missed * self.settings.update;
            }
        }
    }

    /// RFC 9332 Appendix A.1: "p' = p' + alpha * (curq - target) + beta * (curq - prevq)".
    fn update(&mut self, now: Nanos) {
        let age = |fifo: &Fifo| self.pool.first(fifo).map_or(0, |first| now.saturating_sub(first.since));
        let delay = age(&self.low).max(age(&self.classic));
        let seconds = |from: Nanos, to: Nanos| (to as f64 - from as f64) * 1e-9;
        let settings = &self.settings;
        let change = settings.alpha_hz * seconds(settings.target, delay)
            + settings.beta_hz * seconds(self.old_delay, delay);
        // Without drops on overload, L marks everything at most, and C keeps its share of drops.
        let most = if settings.drop_overload { 1.0 } else { 1.0 / f64::from(settings.coupling) };
        self.probability = (self.probability + change).clamp(0.0, most);
        self.old_delay = delay;
    }

    fn rolls(&mut self, probability: f64) -> bool {
        let drawn = (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        drawn < probability
    }

    fn rolls_twice(&mut self) -> bool {
        self.rolls(self.probability) && self.rolls(self.probability)
    }

    /// Decide about a packet that has left its queue (RFC 9332 Appendix A.1, `dualpi2_dequeue`).
    fn judge(&mut self, packet: &P, low: bool, waited: Nanos) -> Verdict {
        let mut verdict = Verdict::Pass;
        if self.pool.bytes() >= 2 * MTU {
            let marks = f64::from(self.settings.coupling) * self.probability;
            let overload = marks > 1.0;
            verdict = match (low, overload) {
                // Appendix A.2: on overload, both queues drop alike, with any codepoint.
                (true, true) if self.settings.drop_overload && self.rolls_twice() => Verdict::Drop,
                (true, true) => Verdict::Mark,
                (true, false) if self.rolls(marks) => Verdict::Mark,
                (false, _) if self.rolls_twice() => {
                    if overload || !packet.codepoint().is_capable() {
                        Verdict::Drop
                    } else {
                        Verdict::Mark
                    }
                }
                _ => Verdict::Pass,
            };
        }
        if low && verdict == Verdict::Pass && waited > self.settings.step { Verdict::Mark } else { verdict }
    }

    /// Take the next packet by weighted round robin; return it, its queue and the change of the credit.
    fn take(&mut self) -> Option<(Waiting<P>, bool, i64)> {
        let share = i64::from(self.settings.classic_percent);
        let low = self.low.packets > 0 && (self.classic.packets == 0 || self.credit <= 0);
        let fifo = if low { &mut self.low } else { &mut self.classic };
        let waiting = self.pool.pop(fifo)?;
        let other = if low { &self.classic } else { &self.low };
        let weight = match (other.packets > 0, low) {
            // A queue that is alone runs up no debt.
            (false, _) => 0,
            (true, true) => share,
            (true, false) => share - WHOLE,
        };
        let change = weight * i64::from(waiting.bytes());
        Some((waiting, low, change))
    }
}

impl<P: Queued> Discipline<P> for DualPi2<P> {
    fn enqueue(&mut self, waiting: Waiting<P>, now: Nanos, tally: &mut Tally) {
        self.catch_up(now);
        if self.pool.packets() >= self.settings.limit {
            tally.dropped += 1;
            return;
        }
        let fifo = if self.belongs_low(&waiting.packet) { &mut self.low } else { &mut self.classic };
        self.pool.push(fifo, waiting);
    }

    fn dequeue(&mut self, now: Nanos, tally: &mut Tally) -> Option<Waiting<P>> {
        self.catch_up(now);
        // Only a packet that came to an idle link leaves as it comes: the queues were empty.
        let newest = |fifo: &Fifo| self.pool.first(fifo).is_none_or(|first| first.since == now);
        if self.pool.packets() == 1 && newest(&self.low) && newest(&self.classic) {
            self.credit = self.settings.first_credit();
        }
        loop {
            let (mut waiting, low, change) = self.take()?;
            match self.judge(&waiting.packet, low, now - waiting.since) {
                Verdict::Drop => {
                    tally.dropped += 1;
                    continue;
                }
                Verdict::Mark => tally.marked += u64::from(waiting.packet.mark_congestion()),
                Verdict::Pass => {}
            }
            self.credit += change;
            return Some(waiting);
        }
    }

    fn pool(&self) -> &Pool<P> {
        &self.pool
    }
}
