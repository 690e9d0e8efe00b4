//! Head drop: first in, first out; a packet that does not fit pushes out the oldest. `pfifo_head_drop` in tc(8).

use crate::queue::pool::{Fifo, Pool};
use crate::queue::{Discipline, DropTail, Tally, Waiting};
use crate::{Nanos, Queued};

/// A queue as large as drop-tail's that drops at the other end: senders learn of a full queue a queueing delay sooner.
#[derive(Clone, Debug)]
pub struct HeadDrop<P> {
    limit: DropTail,
    pool: Pool<P>,
    fifo: Fifo,
    /// Packets and bytes on the transmitter. They count towards the limit, but it is too late to drop them.
    sending: (u64, u64),
}

impl<P: Queued> HeadDrop<P> {
    /// Create an empty queue of this size.
    pub const fn new(limit: DropTail) -> Self {
        Self { limit, pool: Pool::new(), fifo: Fifo::new(), sending: (0, 0) }
    }

    fn fits(&self, size: u32) -> bool {
        let (packets, bytes) = self.sending;
        self.limit.admits(packets + self.pool.packets(), bytes + self.pool.bytes(), size)
    }
}

impl<P: Queued> Discipline<P> for HeadDrop<P> {
    fn enqueue(&mut self, waiting: Waiting<P>, _now: Nanos, tally: &mut Tally) {
        // A packet for which all that wait would not make room must not cost them their place.
        if !self.limit.admits(self.sending.0, self.sending.1, waiting.bytes()) {
            tally.dropped += 1;
            return;
        }
        while !self.fits(waiting.bytes()) && self.pool.pop(&mut self.fifo).is_some() {
            tally.dropped += 1;
        }
        self.pool.push(&mut self.fifo, waiting);
    }

    fn dequeue(&mut self, _now: Nanos, _tally: &mut Tally) -> Option<Waiting<P>> {
        self.pool.pop(&mut self.fifo)
    }

    fn pool(&self) -> &Pool<P> {
        &self.pool
    }

    fn counts_sending(&self) -> bool {
        true
    }

    fn beside(&mut self, packets: u64, bytes: u64) {
        self.sending = (packets, bytes);
    }
}
