//! CoDel (RFC 8289), with Linux's constants.

use crate::queue::pool::{Fifo, Pool};
use crate::queue::{Discipline, Tally, Waiting};
use crate::{Nanos, Packet};

const MILLISECOND: Nanos = 1_000_000;
/// RFC 8289 §4.4: with at most one MTU queued, CoDel never drops.
const MTU: u64 = 1514;

/// Parameters of `tc-codel(8)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelSettings {
    /// Acceptable standing queueing delay.
    pub target: Nanos,
    /// How long the delay must exceed the target before a drop: about the largest RTT.
    pub interval: Nanos,
    /// Mark instead of dropping if the flow supports ECN.
    pub ecn: bool,
}

impl Default for CodelSettings {
    fn default() -> Self {
        Self { target: 5 * MILLISECOND, interval: 100 * MILLISECOND, ecn: false }
    }
}

/// RFC 8289 §5.3: the control law's state.
#[derive(Clone, Debug, Default)]
pub struct ControlLaw {
    first_above: Nanos,
    drop_next: Nanos,
    count: u32,
    /// Linux's approximation of 1 / √count: one Newton step per change of the count. Its first values are .5,
    /// .56 and .49 where the exact ones are .71, .58 and .5.
    inverse_root: f64,
    last_count: u32,
    dropping: bool,
}

impl ControlLaw {
    /// Dequeue (RFC 8289 §5.5). `pop` returns the next packet and the remaining backlog in bytes.
    pub fn dequeue<P: Packet>(
        &mut self,
        settings: &CodelSettings,
        now: Nanos,
        tally: &mut Tally,
        mut pop: impl FnMut() -> Option<(Waiting<P>, u64)>,
    ) -> Option<Waiting<P>> {
        let (mut waiting, mut over) = self.next(settings, now, &mut pop)?;
        if self.dropping {
            if !over {
                self.dropping = false;
                return Some(waiting);
            }
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                self.approach_root();
                if settings.ecn && waiting.packet.mark_congestion() {
                    tally.marked += 1;
                    self.drop_next = self.control_law(settings, self.drop_next);
                    return Some(waiting);
                }
                tally.dropped += 1;
                (waiting, over) = self.next(settings, now, &mut pop)?;
                if over {
                    self.drop_next = self.control_law(settings, self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if over {
            if settings.ecn && waiting.packet.mark_congestion() {
                tally.marked += 1;
                self.begin(settings, now);
            } else {
                tally.dropped += 1;
                self.begin(settings, now);
                (waiting, _) = self.next(settings, now, &mut pop)?;
            }
        }
        Some(waiting)
    }

    /// Enter the drop state (RFC 8289 §5.4). If the last one ended recently, resume at its drop rate.
    fn begin(&mut self, settings: &CodelSettings, now: Nanos) {
        self.dropping = true;
        let since = self.count.wrapping_sub(self.last_count);
        let recent = now.saturating_sub(self.drop_next) < 16 * settings.interval;
        if since > 1 && recent {
            self.count = since;
            self.approach_root();
        } else {
            (self.count, self.inverse_root) = (1, 1.0);
        }
        self.last_count = self.count;
        self.drop_next = self.control_law(settings, now);
    }

    fn approach_root(&mut self) {
        let root = self.inverse_root;
        self.inverse_root = root / 2.0 * (3.0 - f64::from(self.count) * root * root);
    }

    /// RFC 8289 §5.4: t + interval / √count
    fn control_law(&self, settings: &CodelSettings, at: Nanos) -> Nanos {
        at + (settings.interval as f64 * self.inverse_root) as Nanos
    }

    /// Pop the next packet; return whether the delay has been above the target for an interval, too.
    fn next<P: Packet>(
        &mut self,
        settings: &CodelSettings,
        now: Nanos,
        pop: &mut impl FnMut() -> Option<(Waiting<P>, u64)>,
    ) -> Option<(Waiting<P>, bool)> {
        let Some((waiting, backlog)) = pop() else {
            self.first_above = 0;
            self.dropping = false;
            return None;
        };
        let sojourn = now - waiting.since;
        if sojourn < settings.target || backlog <= MTU {
            self.first_above = 0;
            return Some((waiting, false));
        }
        if self.first_above == 0 {
            self.first_above = now + settings.interval;
            return Some((waiting, false));
        }
        let over = now >= self.first_above;
        Some((waiting, over))
    }
}

/// A single queue with CoDel.
#[derive(Clone, Debug)]
pub struct Codel<P> {
    settings: CodelSettings,
    limit: u64,
    pool: Pool<P>,
    fifo: Fifo,
    law: ControlLaw,
}

impl<P> Codel<P> {
    /// Create a queue of at most `limit` packets (Linux: 1,000).
    pub fn new(limit: u64, settings: CodelSettings) -> Self {
        Self { settings, limit, pool: Pool::new(), fifo: Fifo::new(), law: ControlLaw::default() }
    }
}

impl<P: Packet> Discipline<P> for Codel<P> {
    fn enqueue(&mut self, waiting: Waiting<P>, _now: Nanos, tally: &mut Tally) {
        if self.pool.packets() >= self.limit {
            tally.dropped += 1;
        } else {
            self.pool.push(&mut self.fifo, waiting);
        }
    }

    fn dequeue(&mut self, now: Nanos, tally: &mut Tally) -> Option<Waiting<P>> {
        let Self { settings, pool, fifo, law, .. } = self;
        law.dequeue(settings, now, tally, || {
            let waiting = pool.pop(fifo)?;
            Some((waiting, pool.bytes()))
        })
    }

    fn pool(&self) -> &Pool<P> {
        &self.pool
    }
}
