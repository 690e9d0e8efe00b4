//! One pool for the packets of many queues. Queues are linked lists in it, so empty ones cost nothing.

use crate::packet::Queued;
use crate::queue::Waiting;

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Node<P> {
    waiting: Option<Waiting<P>>,
    next: u32,
    prior: u32,
}

/// Used and free nodes. The pool grows to the largest backlog and allocates nothing afterwards.
#[derive(Clone, Debug)]
pub struct Pool<P> {
    nodes: Vec<Node<P>>,
    free: u32,
    packets: u64,
    bytes: u64,
}

/// A FIFO queue in a pool.
#[derive(Clone, Debug)]
pub struct Fifo {
    head: u32,
    tail: u32,
    pub packets: u32,
    pub bytes: u64,
}

impl Fifo {
    pub const fn new() -> Self {
        Self { head: NONE, tail: NONE, packets: 0, bytes: 0 }
    }
}

impl<P: Queued> Pool<P> {
    pub const fn new() -> Self {
        Self { nodes: Vec::new(), free: NONE, packets: 0, bytes: 0 }
    }

    /// Packets in all queues.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Bytes in all queues.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline(always)]
    pub fn push(&mut self, fifo: &mut Fifo, waiting: Waiting<P>) {
        let bytes = u64::from(waiting.bytes());
        if self.free == NONE {
            self.grow();
        }
        let index = self.free;
        let node = &mut self.nodes[index as usize];
        self.free = node.next;
        node.waiting = Some(waiting);
        (node.next, node.prior) = (NONE, fifo.tail);
        match self.nodes.get_mut(fifo.tail as usize) {
            Some(last) => last.next = index,
            None => fifo.head = index,
        }
        fifo.tail = index;
        self.count_in(fifo, bytes);
    }

    #[inline]
    pub fn first(&self, fifo: &Fifo) -> Option<&Waiting<P>> {
        self.nodes.get(fifo.head as usize)?.waiting.as_ref()
    }

    /// Return the first packet of a queue, to mark it.
    pub fn first_mut(&mut self, fifo: &Fifo) -> Option<&mut Waiting<P>> {
        self.nodes.get_mut(fifo.head as usize)?.waiting.as_mut()
    }

    #[inline]
    pub fn pop(&mut self, fifo: &mut Fifo) -> Option<Waiting<P>> {
        let index = fifo.head;
        let node = self.nodes.get_mut(index as usize)?;
        let bytes = node.waiting.as_ref()?.bytes();
        fifo.head = node.next;
        node.next = self.free;
        self.free = index;
        match self.nodes.get_mut(fifo.head as usize) {
            Some(first) => first.prior = NONE,
            None => fifo.tail = NONE,
        }
        self.count_out(fifo, bytes);
        // Last, because a packet is copied wherever it rests on its way out.
        self.nodes.get_mut(index as usize)?.waiting.take()
    }

    pub fn pop_last(&mut self, fifo: &mut Fifo) -> Option<Waiting<P>> {
        let index = fifo.tail;
        let node = self.nodes.get_mut(index as usize)?;
        let waiting = node.waiting.take()?;
        fifo.tail = node.prior;
        node.next = self.free;
        self.free = index;
        match self.nodes.get_mut(fifo.tail as usize) {
            Some(last) => last.next = NONE,
            None => fifo.head = NONE,
        }
        self.count_out(fifo, waiting.bytes());
        Some(waiting)
    }

    /// Add a free node.
    #[cold]
    fn grow(&mut self) {
        self.free = self.nodes.len() as u32;
        self.nodes.push(Node { waiting: None, next: NONE, prior: NONE });
    }

    const fn count_in(&mut self, fifo: &mut Fifo, bytes: u64) {
        fifo.packets += 1;
        fifo.bytes += bytes;
        self.packets += 1;
        self.bytes += bytes;
    }

    fn count_out(&mut self, fifo: &mut Fifo, bytes: u32) {
        fifo.packets -= 1;
        fifo.bytes -= u64::from(bytes);
        self.packets -= 1;
        self.bytes -= u64::from(bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    impl Queued for u32 {
        fn bytes(&self) -> u32 {
            *self
        }
    }

    proptest! {
        #[test]
        fn queues_through_a_pool_behave_like_deques(operations in prop::collection::vec((0_usize..4, 0_u8..4, 1_u32..2000), 1..200)) {
            let mut pool = Pool::new();
            let mut fifos = [const { Fifo::new() }; 4];
            let mut model = [const { VecDeque::new() }; 4];
            for (index, kind, bytes) in operations {
                match kind {
                    0 => prop_assert_eq!(pool.pop(&mut fifos[index]).map(|waiting| waiting.packet), model[index].pop_front()),
                    1 => prop_assert_eq!(pool.pop_last(&mut fifos[index]).map(|waiting| waiting.packet), model[index].pop_back()),
                    _ => {
                        pool.push(&mut fifos[index], Waiting { packet: bytes, since: 0 });
                        model[index].push_back(bytes);
                    }
                }
                for (fifo, model) in fifos.iter().zip(&model) {
                    prop_assert_eq!(pool.first(fifo).map(|first| &first.packet), model.front());
                    prop_assert_eq!(fifo.packets as usize, model.len());
                    prop_assert_eq!(fifo.bytes, model.iter().map(|&bytes| u64::from(bytes)).sum::<u64>());
                }
                prop_assert_eq!(pool.bytes(), fifos.iter().map(|fifo| fifo.bytes).sum::<u64>());
            }
        }
    }
}
