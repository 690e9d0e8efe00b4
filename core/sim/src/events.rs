//! The event queue: one pending time for each source of events, in a winner tree.
//!
//! Links are FIFO, so a link is one source however many packets it holds: the tree stays small and an update costs the
//! logarithm of the number of sources.

use leo_link::{NEVER, Nanos};

/// Pending times by source. Of equal times the lower source comes first.
#[derive(Clone, Debug)]
pub struct EventQueue {
    /// Pending time of each source, padded to a power of two.
    times: Box<[Nanos]>,
    /// `winners[1]` is the source with the earliest time; node i has the children 2i and 2i + 1.
    winners: Box<[u32]>,
}

impl EventQueue {
    /// No source has anything pending.
    pub fn new(sources: usize) -> Self {
        let leaves = sources.next_power_of_two().max(2);
        let mut winners = vec![0; leaves];
        for node in (1..leaves).rev() {
            let child = 2 * node;
            winners[node] = if child >= leaves { (child - leaves) as u32 } else { winners[child] };
        }
        Self { times: vec![NEVER; leaves].into(), winners: winners.into() }
    }

    /// The earliest pending time and its source; `NEVER` when nothing is pending.
    #[inline]
    pub fn first(&self) -> (Nanos, usize) {
        let source = self.winners[1] as usize;
        (self.times[source], source)
    }

    /// Replace the pending time of a source.
    #[inline]
    pub fn set(&mut self, source: usize, time: Nanos) {
        self.times[source] = time;
        let leaves = self.times.len();
        let pair = source & !1;
        let mut winner = self.earlier(pair, pair + 1);
        let mut node = (source + leaves) >> 1;
        loop {
            self.winners[node] = winner as u32;
            if node == 1 {
                return;
            }
            let sibling = self.winners[node ^ 1] as usize;
            winner =
                if node & 1 == 0 { self.earlier(winner, sibling) } else { self.earlier(sibling, winner) };
            node >>= 1;
        }
    }

    /// Bring a source's pending time forward; a later time is left for when the earlier one comes.
    #[inline]
    pub fn set_earlier(&mut self, source: usize, time: Nanos) {
        if time < self.times[source] {
            self.set(source, time);
        }
    }

    #[inline]
    fn earlier(&self, left: usize, right: usize) -> usize {
        if self.times[right] < self.times[left] { right } else { left }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_is_the_earliest_and_of_equals_the_lowest(
            sources in 1_usize..70,
            updates in prop::collection::vec((0_usize..70, 0_u64..20), 1..200),
        ) {
            let mut queue = EventQueue::new(sources);
            let mut times = vec![NEVER; sources];
            for (source, time) in updates {
                let source = source % sources;
                queue.set(source, time);
                times[source] = time;
                let expected = times.iter().copied().zip(0..).min().expect("there is a source");
                prop_assert_eq!(queue.first(), expected);
            }
        }
    }
}
