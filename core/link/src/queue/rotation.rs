//! Flow queues served by deficit round robin with new flows first (RFC 8290 §4).

use std::collections::VecDeque;

use crate::Queued;
use crate::queue::Waiting;
use crate::queue::pool::{Fifo, Pool};

const NONE: u32 = u32::MAX;

/// One flow's queue with the state `S` of its AQM.
#[derive(Clone, Debug)]
pub struct FlowQueue<S> {
    pub fifo: Fifo,
    pub state: S,
    /// Bytes that it may still send in its turn; negative after sending more.
    deficit: i64,
    listed: Listed,
}

impl<S> FlowQueue<S> {
    /// Charge the queue for a packet that leaves it.
    #[inline]
    pub fn charge(&mut self, bytes: u32) {
        self.deficit -= i64::from(bytes);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listed {
    No,
    New,
    Old,
}

/// Flow queues by the hash of their flow, created on the flow's first packet.
#[derive(Clone, Debug)]
pub struct Rotation<P, S> {
    pub pool: Pool<P>,
    pub flows: Vec<FlowQueue<S>>,
    /// Queue index of each bucket.
    buckets: Box<[u32]>,
    /// The last flow and its queue. Most packets follow one of their flow.
    latest: (Option<u32>, u32),
    seed: u64,
    quantum: i64,
    /// Serve new flows before old ones (RFC 8290) instead of last (plain deficit round robin).
    new_first: bool,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

impl<P: Queued, S: Default> Rotation<P, S> {
    /// Create `buckets` queues with `quantum` bytes per turn, new flows first; `seed` drives the hash.
    pub fn new(buckets: u32, quantum: u32, seed: u64) -> Self {
        Self {
            pool: Pool::new(),
            flows: Vec::new(),
            buckets: vec![NONE; buckets.max(1) as usize].into(),
            latest: (None, NONE),
            seed,
            quantum: i64::from(quantum.max(1)),
            new_first: true,
            new: VecDeque::new(),
            old: VecDeque::new(),
        }
    }

    /// Make new flows wait for their turn like all others.
    pub fn in_line(mut self) -> Self {
        self.new_first = false;
        self
    }

    #[inline]
    pub fn queue_of(&mut self, flow: u32) -> usize {
        if self.latest.0 != Some(flow) {
            self.latest = (Some(flow), self.bucket_of(flow));
        }
        self.latest.1 as usize
    }

    /// Return the queue of the flow's bucket.
    fn bucket_of(&mut self, flow: u32) -> u32 {
        let bucket = (mix(u64::from(flow) ^ self.seed) % self.buckets.len() as u64) as usize;
        if self.buckets[bucket] == NONE {
            self.buckets[bucket] = self.flows.len() as u32;
            self.flows.push(FlowQueue {
                fifo: Fifo::new(),
                state: S::default(),
                deficit: 0,
                listed: Listed::No,
            });
        }
        self.buckets[bucket]
    }

    /// Append to a queue; an inactive queue joins the rotation.
    #[inline]
    pub fn push(&mut self, queue: usize, waiting: Waiting<P>) {
        let flow = &mut self.flows[queue];
        self.pool.push(&mut flow.fifo, waiting);
        if flow.listed == Listed::No {
            flow.deficit = self.quantum;
            flow.listed = if self.new_first { Listed::New } else { Listed::Old };
            let list = if self.new_first { &mut self.new } else { &mut self.old };
            list.push_back(queue as u32);
        }
    }

    /// Return the queue whose turn it is; `None` if no queue is active.
    #[inline]
    pub fn turn(&mut self) -> Option<usize> {
        loop {
            let queue = *self.new.front().or_else(|| self.old.front())? as usize;
            if self.flows[queue].deficit > 0 {
                return Some(queue);
            }
            self.flows[queue].deficit += self.quantum;
            self.send_to_end(queue);
        }
    }

    /// Return the next packet in turn and its queue; `None` if all are empty.
    pub fn next(&mut self) -> Option<(usize, Waiting<P>)> {
        loop {
            let queue = self.turn()?;
            match self.pop(queue) {
                Some(waiting) => {
                    self.flows[queue].charge(waiting.bytes());
                    return Some((queue, waiting));
                }
                None => self.end_turn(queue),
            }
        }
    }

    /// End an empty queue's turn (RFC 8290 §4.2): a new one moves behind the old ones, an old one leaves.
    pub fn end_turn(&mut self, queue: usize) {
        if self.flows[queue].listed == Listed::New && !self.old.is_empty() {
            self.send_to_end(queue);
        } else {
            self.take_first(queue);
            self.flows[queue].listed = Listed::No;
        }
    }

    /// Return the number of queues in the rotation, which may include empty ones.
    pub fn active(&self) -> usize {
        self.new.len() + self.old.len()
    }

    /// Return the queue with the most bytes.
    pub fn fattest(&self) -> usize {
        let bytes = |queue: &usize| self.flows[*queue].fifo.bytes;
        // The first of equals, like Linux.
        (0..self.flows.len()).rev().max_by_key(bytes).unwrap_or(0)
    }

    #[inline]
    pub fn pop(&mut self, queue: usize) -> Option<Waiting<P>> {
        self.pool.pop(&mut self.flows[queue].fifo)
    }

    fn send_to_end(&mut self, queue: usize) {
        if self.new.is_empty() && self.old.len() == 1 {
            // It is alone.
            return;
        }
        self.take_first(queue);
        self.flows[queue].listed = Listed::Old;
        self.old.push_back(queue as u32);
    }

    fn take_first(&mut self, queue: usize) {
        let list = if self.flows[queue].listed == Listed::New { &mut self.new } else { &mut self.old };
        let first = list.pop_front();
        debug_assert_eq!(first, Some(queue as u32), "only the first has its turn");
    }
}

/// A hash that spreads neighbouring flows (the finaliser of MurmurHash3).
const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let value = (value ^ (value >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    value ^ (value >> 33)
}
