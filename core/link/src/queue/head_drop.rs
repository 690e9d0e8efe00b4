//! Head drop: first in, first out; a packet that does not fit pushes out the oldest. `pfifo_head_drop` in tc(8).

use std::collections::VecDeque;

use crate::queue::{Discipline, DropTail, Tally, Waiting};
use crate::{Nanos, Packet};

/// A queue as large as drop-tail's that drops at the other end: senders learn of a full queue a queueing delay sooner.
#[derive(Clone, Debug)]
pub struct HeadDrop<P> {
    limit: DropTail,
    waiting: VecDeque<Waiting<P>>,
    bytes: u64,
    /// Packets and bytes on the transmitter. They count towards the limit, but it is too late to drop them.
    sending: (u64, u64),
}

impl<P> HeadDrop<P> {
    /// Create an empty queue of this size.
    pub const fn new(limit: DropTail) -> Self {
        Self { limit, waiting: VecDeque::new(), bytes: 0, sending: (0, 0) }
    }

    /// Set the bytes on the transmitter as the next packet arrives.
    pub const fn beside(&mut self, packets: u64, bytes: u64) {
        self.sending = (packets, bytes);
    }

    fn fits(&self, size: u32) -> bool {
        let (packets, bytes) = self.sending;
        self.limit.admits(packets + self.waiting.len() as u64, bytes + self.bytes, size)
    }

    fn pop(&mut self) -> Option<Waiting<P>> {
        let oldest = self.waiting.pop_front()?;
        self.bytes -= u64::from(oldest.bytes);
        Some(oldest)
    }
}

impl<P: Packet> Discipline<P> for HeadDrop<P> {
    fn enqueue(&mut self, waiting: Waiting<P>, _now: Nanos, tally: &mut Tally) {
        // A packet for which all that wait would not make room must not cost them their place.
        if !self.limit.admits(self.sending.0, self.sending.1, waiting.bytes) {
            tally.dropped += 1;
            return;
        }
        while !self.fits(waiting.bytes) && self.pop().is_some() {
            tally.dropped += 1;
        }
        self.bytes += u64::from(waiting.bytes);
        self.waiting.push_back(waiting);
    }

    fn dequeue(&mut self, _now: Nanos, _tally: &mut Tally) -> Option<Waiting<P>> {
        self.pop()
    }

    fn packets(&self) -> u64 {
        self.waiting.len() as u64
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}
