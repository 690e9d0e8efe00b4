//! FQ-CoDel (RFC 8290).

use crate::queue::codel::{CodelSettings, ControlLaw};
use crate::queue::pool::Pool;
use crate::queue::rotation::Rotation;
use crate::queue::{Discipline, Tally, Waiting};
use crate::{Nanos, Queued};

/// RFC 8290 §4.1.3: on overflow, at most this many packets are dropped at once from the longest queue.
const DROP_BATCH: u32 = 64;

/// Parameters of `tc-fq_codel(8)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCodelSettings {
    /// Maximum packets in all queues.
    pub limit: u64,
    /// Maximum bytes in all queues.
    pub memory_limit: u64,
    /// Number of queues.
    pub flows: u32,
    /// Bytes per turn.
    pub quantum: u32,
    /// CoDel's parameters; ECN is on by default.
    pub codel: CodelSettings,
}

impl Default for FqCodelSettings {
    fn default() -> Self {
        let codel = CodelSettings { ecn: true, ..CodelSettings::default() };
        Self { limit: 10_240, memory_limit: 32 << 20, flows: 1024, quantum: 1500, codel }
    }
}

/// One queue per flow, each with CoDel, served in turn.
#[derive(Clone, Debug)]
pub struct FqCodel<P> {
    settings: FqCodelSettings,
    queues: Rotation<P, ControlLaw>,
}

impl<P: Queued> FqCodel<P> {
    /// Create empty queues; `seed` drives the flow hash.
    pub fn new(settings: FqCodelSettings, seed: u64) -> Self {
        Self { queues: Rotation::new(settings.flows, settings.quantum, seed), settings }
    }

    /// Drop half of the longest queue, at most [`DROP_BATCH`] packets, from its head (RFC 8290 §4.1.3).
    #[cold]
    fn drop_from_fattest(&mut self, tally: &mut Tally) {
        let fattest = self.queues.fattest();
        let threshold = self.queues.flows[fattest].fifo.bytes / 2;
        let mut dropped = 0;
        for _ in 0..DROP_BATCH {
            let Some(waiting) = self.queues.pop(fattest) else { return };
            tally.dropped += 1;
            dropped += u64::from(waiting.bytes());
            if dropped >= threshold {
                return;
            }
        }
    }
}

impl<P: Queued> Discipline<P> for FqCodel<P> {
    #[inline(always)]
    fn enqueue(&mut self, waiting: Waiting<P>, _now: Nanos, tally: &mut Tally) {
        let queue = self.queues.queue_of(waiting.packet.flow());
        self.queues.push(queue, waiting);
        let pool = &self.queues.pool;
        if pool.packets() > self.settings.limit || pool.bytes() > self.settings.memory_limit {
            self.drop_from_fattest(tally);
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Nanos, tally: &mut Tally) -> Option<Waiting<P>> {
        loop {
            let queue = self.queues.turn()?;
            let Rotation { pool, flows, .. } = &mut self.queues;
            let flow = &mut flows[queue];
            if let Some(bytes) = flow.state.prepare(&self.settings.codel, now, tally, (pool, &mut flow.fifo))
            {
                flow.charge(bytes);
                return pool.pop(&mut flow.fifo);
            }
            self.queues.end_turn(queue);
        }
    }

    fn pool(&self) -> &Pool<P> {
        &self.queues.pool
    }
}
