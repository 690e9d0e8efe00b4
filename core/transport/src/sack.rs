//! SACK blocks (RFC 2018), in packets.

/// Blocks that fit into the TCP options next to timestamps.
pub const MAX_SACK_BLOCKS: usize = 3;

/// Up to three blocks, most recent first, as offsets from the cumulative ACK. Packed: every packet has one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(Rust, packed)]
pub struct SackBlocks {
    blocks: [(u32, u32); MAX_SACK_BLOCKS],
    /// The number of blocks, and [`DUPLICATE`].
    state: u8,
}

const DUPLICATE: u8 = 0x80;

impl SackBlocks {
    /// Add the block `start..end` unless there are three.
    pub fn push(&mut self, cumulative: u64, start: u64, end: u64) {
        let len = self.len();
        if len < MAX_SACK_BLOCKS {
            let mut blocks = self.blocks;
            blocks[len] = ((start - cumulative) as u32, (end - cumulative) as u32);
            self.blocks = blocks;
            self.state += 1;
        }
    }

    /// Report that the packet that caused this ACK is a duplicate (RFC 2883).
    pub fn mark_duplicate(&mut self) {
        self.state |= DUPLICATE;
    }

    /// Whether a duplicate is reported.
    pub const fn is_duplicate(&self) -> bool {
        self.state & DUPLICATE != 0
    }

    const fn len(&self) -> usize {
        (self.state & !DUPLICATE) as usize
    }

    /// Return the number of blocks on the wire, at most three: a duplicate is one, too (RFC 2883).
    pub const fn on_the_wire(&self) -> usize {
        let blocks = self.len() + self.is_duplicate() as usize;
        if blocks > MAX_SACK_BLOCKS { MAX_SACK_BLOCKS } else { blocks }
    }

    /// Whether there is neither a block nor a duplicate.
    pub const fn says_nothing(&self) -> bool {
        self.state == 0
    }

    /// Whether there are no blocks.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return the blocks as ranges of sequence numbers, given the cumulative ACK.
    pub fn ranges(&self, cumulative: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
        let blocks = self.blocks;
        blocks
            .into_iter()
            .take(self.len())
            .map(move |(start, end)| (cumulative + u64::from(start), cumulative + u64::from(end)))
    }
}
