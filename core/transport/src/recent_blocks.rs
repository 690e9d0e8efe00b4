//! The order in which a receiver reports its out-of-order blocks: most recently changed first (RFC 2018 §4).

/// Blocks that Linux keeps in order (TCP_NUM_SACKS); an ACK holds three.
const KEPT: usize = 4;

/// Placeholder for a block that is now in order.
const GONE: (u64, u64) = (u64::MAX, 0);

/// Current extents of the most recent blocks: with many blocks, searching for them would cost most.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecentBlocks {
    blocks: [(u64, u64); KEPT],
    len: usize,
}

impl RecentBlocks {
    /// Return the index of the block that contains or adjoins packet `seq`, or the number of known blocks.
    pub fn position(&self, seq: u64) -> usize {
        let blocks = &self.blocks[..self.len];
        blocks.iter().position(|&(start, end)| start <= seq + 1 && seq <= end).unwrap_or(self.len)
    }

    /// Put `mine`, the block of a packet that just arrived, first. Drop the blocks that it has absorbed.
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

    pub fn remove_below(&mut self, value: u64) {
        for block in &mut self.blocks[..self.len] {
            *block = if block.1 <= value { GONE } else { (block.0.max(value), block.1) };
        }
    }

    /// Return the out-of-order blocks, most recent first.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.blocks[..self.len].iter().copied().filter(|&block| block != GONE)
    }

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
            // One packet of each changed block, most recent first.
            let mut touched: Vec<u64> = Vec::new();
            for (at, arrives) in operations {
                if arrives {
                    recent.touch(blocks.insert(at, at + 1, |_, _| {}));
                    touched.retain(|&other| blocks.find(other).is_some_and(|block| Some(block) != blocks.find(at)));
                    touched.insert(0, at);
                    touched.truncate(KEPT);
                } else {
                    // A block that is cut is known by its new first packet.
                    for seq in &mut touched {
                        if blocks.find(*seq).is_some_and(|(_, end)| end > at) {
                            *seq = (*seq).max(at);
                        }
                    }
                    blocks.remove_below(at);
                    recent.remove_below(at);
                }
                let expected: Vec<_> = touched.iter().filter_map(|&seq| blocks.find(seq)).collect();
                prop_assert_eq!(recent.ranges().collect::<Vec<_>>(), expected);
            }
        }
    }
}
