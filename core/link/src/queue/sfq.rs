//! Stochastic fairness queueing (McKenney, INFOCOM 1990), as in `tc-sfq(8)`.

use crate::queue::pool::Pool;
use crate::queue::rotation::Rotation;
use crate::queue::{Discipline, Tally, Waiting};
use crate::{Nanos, Queued};

/// Parameters of `tc-sfq(8)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SfqSettings {
    /// Maximum packets in all queues.
    pub limit: u64,
    /// Maximum packets in one queue.
    pub depth: u64,
    /// Number of queues.
    pub flows: u32,
    /// Bytes per turn.
    pub quantum: u32,
}

impl Default for SfqSettings {
    fn default() -> Self {
        Self { limit: 127, depth: 127, flows: 1024, quantum: 1500 }
    }
}

/// One queue per flow, served in turn; on overflow the longest drops its last packet.
#[derive(Clone, Debug)]
pub struct Sfq<P> {
    settings: SfqSettings,
    queues: Rotation<P, ()>,
}

impl<P: Queued> Sfq<P> {
    /// Create empty queues; `seed` drives the flow hash.
    pub fn new(settings: SfqSettings, seed: u64) -> Self {
        Self { queues: Rotation::new(settings.flows, settings.quantum, seed).in_line(), settings }
    }
}

impl<P: Queued> Discipline<P> for Sfq<P> {
    fn enqueue(&mut self, waiting: Waiting<P>, _now: Nanos, tally: &mut Tally) {
        let queue = self.queues.queue_of(waiting.packet.flow());
        if u64::from(self.queues.flows[queue].fifo.packets) >= self.settings.depth {
            tally.dropped += 1;
            return;
        }
        self.queues.push(queue, waiting);
        if self.queues.pool.packets() > self.settings.limit {
            let fattest = self.queues.fattest();
            let Rotation { pool, flows, .. } = &mut self.queues;
            tally.dropped += u64::from(pool.pop_last(&mut flows[fattest].fifo).is_some());
        }
    }

    fn dequeue(&mut self, _now: Nanos, _tally: &mut Tally) -> Option<Waiting<P>> {
        self.queues.next().map(|(_, waiting)| waiting)
    }

    fn pool(&self) -> &Pool<P> {
        &self.queues.pool
    }
}
