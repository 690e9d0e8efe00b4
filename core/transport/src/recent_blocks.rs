//! The order in which a receiver reports its out-of-order blocks: the most recently touched first (RFC 2018 §4).

use crate::ranges::RangeSet;

/// How many blocks Linux keeps in order (TCP_NUM_SACKS), of which three fit into an acknowledgement.
const KEPT: usize = 4;

/// Blocks of out-of-order packets, each known by a packet in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecentBlocks {
    members: [u64; KEPT],
    len: usize,
}

impl RecentBlocks {
    /// Where in the order the block is that packet `seq` is in or next to; after the last if none is known.
    pub fn position(&self, blocks: &RangeSet, seq: u64) -> usize {
        self.members[..self.len]
            .iter()
            .position(|&member| {
                blocks.find(member).is_some_and(|(start, end)| start <= seq + 1 && seq <= end)
            })
            .unwrap_or(self.len)
    }

    /// Packet `seq`, which is in `blocks`, has arrived: its block comes first, and blocks that are one now are known once.
    pub fn touch(&mut self, blocks: &RangeSet, seq: u64) {
        let mine = blocks.find(seq);
        let before = *self;
        (self.members[0], self.len) = (seq, 1);
        for &member in &before.members[..before.len] {
            let its = blocks.find(member);
            if its.is_some() && its != mine && self.len < KEPT {
                self.members[self.len] = member;
                self.len += 1;
            }
        }
    }

    /// The blocks in order; those that are no longer out of order are left out.
    pub fn ranges(&self, blocks: &RangeSet) -> impl Iterator<Item = (u64, u64)> {
        self.members[..self.len].iter().filter_map(|&member| blocks.find(member))
    }

    /// Nothing is out of order any more.
    pub fn clear(&mut self) {
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrived(packets: &[u64]) -> (RangeSet, RecentBlocks) {
        let (mut blocks, mut recent) = (RangeSet::default(), RecentBlocks::default());
        for &seq in packets {
            blocks.insert(seq, seq + 1, |_, _| {});
            recent.touch(&blocks, seq);
        }
        (blocks, recent)
    }

    #[test]
    fn the_block_of_the_last_packet_comes_first() {
        let (blocks, recent) = arrived(&[10, 20, 30, 11]);
        assert_eq!(recent.ranges(&blocks).collect::<Vec<_>>(), [(10, 12), (30, 31), (20, 21)]);
    }

    #[test]
    fn blocks_that_become_one_are_known_once_and_make_room() {
        let (blocks, recent) = arrived(&[10, 12, 20, 30, 11]);
        assert_eq!(recent.ranges(&blocks).collect::<Vec<_>>(), [(10, 13), (30, 31), (20, 21)]);
    }

    #[test]
    fn the_oldest_block_is_forgotten() {
        let (blocks, recent) = arrived(&[10, 20, 30, 40, 50]);
        assert_eq!(recent.ranges(&blocks).map(|(start, _)| start).collect::<Vec<_>>(), [50, 40, 30, 20]);
    }

    #[test]
    fn a_packet_next_to_a_block_belongs_to_it_and_any_other_to_none() {
        let (blocks, recent) = arrived(&[10, 20]);
        assert_eq!([9, 10, 11, 19, 21, 15].map(|seq| recent.position(&blocks, seq)), [1, 1, 1, 0, 0, 2]);
    }
}
