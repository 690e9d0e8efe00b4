//! CoDel (RFC 8289), with Linux's constants.

use crate::queue::pool::{Fifo, Pool};
use crate::queue::{Discipline, Tally, Waiting};
use crate::{Nanos, Queued};

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
    /// Drop or mark what is due before a packet leaves `fifo` in `pool` (RFC 8289 §5.5). Return the bytes of the packet that is
    /// then the first.
    #[inline(always)]
    pub fn prepare<P: Queued>(
        &mut self,
        settings: &CodelSettings,
        now: Nanos,
        tally: &mut Tally,
        (pool, fifo): (&mut Pool<P>, &mut Fifo),
    ) -> Option<u32> {
        if self.is_first_over(settings, now, pool, fifo)? {
            self.control(settings, now, tally, (pool, fifo));
        } else {
            self.dropping = false;
        }
        pool.first(fifo).map(|first| first.bytes())
    }

    /// Drop or mark, given that the first packet's delay is over the target.
    #[cold]
    fn control<P: Queued>(
        &mut self,
        settings: &CodelSettings,
        now: Nanos,
        tally: &mut Tally,
        (pool, fifo): (&mut Pool<P>, &mut Fifo),
    ) {
        if !self.dropping {
            let marked = mark_or_drop(settings, tally, pool, fifo);
            self.begin(settings, now);
            if !marked {
                self.is_first_over(settings, now, pool, fifo);
            }
            return;
        }
        while self.dropping && now >= self.drop_next {
            self.count += 1;
            self.approach_root();
            if mark_or_drop(settings, tally, pool, fifo) {
                self.drop_next = self.control_law(settings, self.drop_next);
                return;
            }
            if self.is_first_over(settings, now, pool, fifo) == Some(true) {
                self.drop_next = self.control_law(settings, self.drop_next);
            } else {
                self.dropping = false;
            }
        }
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

    /// Return whether the first packet's delay is over the target and has been so for an interval; `None` without packets.
    #[inline(always)]
    fn is_first_over<P: Queued>(
        &mut self,
        settings: &CodelSettings,
        now: Nanos,
        pool: &Pool<P>,
        fifo: &Fifo,
    ) -> Option<bool> {
        let Some(first) = pool.first(fifo) else {
            self.first_above = 0;
            self.dropping = false;
            return None;
        };
        if now - first.since < settings.target || pool.bytes() - u64::from(first.bytes()) <= MTU {
            self.first_above = 0;
            return Some(false);
        }
        if self.first_above == 0 {
            self.first_above = now + settings.interval;
            return Some(false);
        }
        Some(now >= self.first_above)
    }
}

/// Mark the first packet and return true, or drop it.
fn mark_or_drop<P: Queued>(
    settings: &CodelSettings,
    tally: &mut Tally,
    pool: &mut Pool<P>,
    fifo: &mut Fifo,
) -> bool {
    let marks = settings.ecn && pool.first_mut(fifo).is_some_and(|first| first.packet.mark_congestion());
    if marks {
        tally.marked += 1;
    } else {
        tally.dropped += 1;
        pool.pop(fifo);
    }
    marks
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

impl<P: Queued> Codel<P> {
    /// Create a queue of at most `limit` packets (Linux: 1,000).
    pub fn new(limit: u64, settings: CodelSettings) -> Self {
        Self { settings, limit, pool: Pool::new(), fifo: Fifo::new(), law: ControlLaw::default() }
    }
}

impl<P: Queued> Discipline<P> for Codel<P> {
    fn enqueue(&mut self, waiting: Waiting<P>, _now: Nanos, tally: &mut Tally) {
        if self.pool.packets() >= self.limit {
            tally.dropped += 1;
        } else {
            self.pool.push(&mut self.fifo, waiting);
        }
    }

    fn dequeue(&mut self, now: Nanos, tally: &mut Tally) -> Option<Waiting<P>> {
        let Self { settings, pool, fifo, law, .. } = self;
        law.prepare(settings, now, tally, (pool, fifo))?;
        pool.pop(fifo)
    }

    fn pool(&self) -> &Pool<P> {
        &self.pool
    }
}
