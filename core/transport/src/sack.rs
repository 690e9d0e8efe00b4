//! Selective acknowledgement blocks (RFC 2018), in packets.

/// With timestamps three blocks fit into the TCP options.
pub const MAX_SACK_BLOCKS: usize = 3;

/// Up to three blocks, the most recent first. Numbers are offsets from the cumulative acknowledgement.
///
/// Without padding, for every packet of a simulation has room for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(Rust, packed)]
pub struct SackBlocks {
    blocks: [(u32, u32); MAX_SACK_BLOCKS],
    /// How many blocks there are, and [`DUPLICATE`].
    state: u8,
}

const DUPLICATE: u8 = 0x80;

impl SackBlocks {
    /// Add the block `start..end`; ignored when three are in.
    pub fn push(&mut self, cumulative: u64, start: u64, end: u64) {
        let len = self.len();
        if len < MAX_SACK_BLOCKS {
            let mut blocks = self.blocks;
            blocks[len] = ((start - cumulative) as u32, (end - cumulative) as u32);
            self.blocks = blocks;
            self.state += 1;
        }
    }

    /// Say that the packet that caused this acknowledgement had come before (RFC 2883).
    pub fn mark_duplicate(&mut self) {
        self.state |= DUPLICATE;
    }

    /// Whether a duplicate is reported.
    #[must_use]
    pub const fn is_duplicate(&self) -> bool {
        self.state & DUPLICATE != 0
    }

    const fn len(&self) -> usize {
        (self.state & !DUPLICATE) as usize
    }

    /// True without blocks.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The blocks as ranges of sequence numbers, for an acknowledgement of everything before `cumulative`.
    pub fn ranges(&self, cumulative: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
        let blocks = self.blocks;
        blocks
            .into_iter()
            .take(self.len())
            .map(move |(start, end)| (cumulative + u64::from(start), cumulative + u64::from(end)))
    }
}
