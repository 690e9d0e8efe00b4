//! The order in which a receiver reports its out-of-order blocks: the most recently touched first (RFC 2018 §4).

/// How many blocks Linux keeps in order (TCP_NUM_SACKS), of which three fit into an acknowledgement.
const KEPT: usize = 4;

/// In the place of a block that is no longer out of order.
const GONE: (u64, u64) = (u64::MAX, 0);

/// Blocks of out-of-order packets, each as it is now: a search for each would cost more than all else of an arrival where a
/// long window has hundreds of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecentBlocks {
    blocks: [(u64, u64); KEPT],
    len: usize,
}

impl RecentBlocks {
    /// Where in the order the block is that packet `seq` is in or next to; after the last if none is known.
    pub fn position(&self, seq: u64) -> usize {
        let known = &self.blocks[..self.len];
        known.iter().position(|&(start, end)| start <= seq + 1 && seq <= end).unwrap_or(self.len)
    }

    /// A packet has arrived that makes its block `mine`: that comes first, and what it has swallowed is known no more.
    pub fn touch(&mut self, mine: (u64, u64)) {
        let before = *self;
        (self.blocks[0], self.len) = (mine, 1);
        for &block in &before.blocks[..before.len] {
            let swallowed = block.0 >= mine.0 && block.1 <= mine.1;
            if block != GONE && !swallowed && self.len < KEPT {
                self.blocks[self.len] = block;
                self.len += 1;
            }
        }
    }

    /// Nothing below `value` is out of order any more.
    pub fn remove_below(&mut self, value: u64) {
        for block in &mut self.blocks[..self.len] {
            *block = if block.1 <= value { GONE } else { (block.0.max(value), block.1) };
        }
    }

    /// The blocks in order; those that are no longer out of order are left out.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.blocks[..self.len].iter().copied().filter(|&block| block != GONE)
    }

    /// Nothing is out of order any more.
    pub fn clear(&mut self) {
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ranges::RangeSet;

    fn arrived(packets: &[u64]) -> RecentBlocks {
        let (mut blocks, mut recent) = (RangeSet::default(), RecentBlocks::default());
        for &seq in packets {
            recent.touch(blocks.insert(seq, seq + 1, |_, _| {}));
        }
        recent
    }

    #[test]
    fn the_block_of_the_last_packet_comes_first() {
        let recent = arrived(&[10, 20, 30, 11]);
        assert_eq!(recent.ranges().collect::<Vec<_>>(), [(10, 12), (30, 31), (20, 21)]);
    }

    #[test]
    fn blocks_that_become_one_are_known_once_and_make_room() {
        let recent = arrived(&[10, 12, 20, 30, 11]);
        assert_eq!(recent.ranges().collect::<Vec<_>>(), [(10, 13), (30, 31), (20, 21)]);
    }

    #[test]
    fn the_oldest_block_is_forgotten() {
        let recent = arrived(&[10, 20, 30, 40, 50]);
        assert_eq!(recent.ranges().map(|(start, _)| start).collect::<Vec<_>>(), [50, 40, 30, 20]);
    }

    #[test]
    fn a_packet_next_to_a_block_belongs_to_it_and_any_other_to_none() {
        let recent = arrived(&[10, 20]);
        assert_eq!([9, 10, 11, 19, 21, 15].map(|seq| recent.position(seq)), [1, 1, 1, 0, 0, 2]);
    }

    proptest! {
        #[test]
        fn every_block_is_as_the_set_has_it(
            operations in prop::collection::vec((0_u64..60, prop::bool::weighted(0.9)), 1..80),
        ) {
            let (mut blocks, mut recent) = (RangeSet::default(), RecentBlocks::default());
            // Those that were touched, the latest first, each by a packet of it.
            let mut touched: Vec<u64> = Vec::new();
            for (at, arrives) in operations {
                if arrives {
                    recent.touch(blocks.insert(at, at + 1, |_, _| {}));
                    touched.retain(|&other| blocks.find(other).is_some_and(|block| Some(block) != blocks.find(at)));
                    touched.insert(0, at);
                    touched.truncate(KEPT);
                } else {
                    // What is left of a block that is cut is known by its first packet.
                    for seq in &mut touched {
                        if blocks.find(*seq).is_some_and(|(_, end)| end > at) {
                            *seq = (*seq).max(at);
                        }
                    }
                    blocks.remove_below(at);
                    recent.remove_below(at);
                }
                let found: Vec<_> = touched.iter().filter_map(|&seq| blocks.find(seq)).collect();
                prop_assert_eq!(recent.ranges().collect::<Vec<_>>(), found);
            }
        }
    }
}
