//! Selective acknowledgement blocks (RFC 2018), in packets.

/// With timestamps three blocks fit into the TCP options.
pub const MAX_SACK_BLOCKS: usize = 3;

/// Up to three blocks, the most recent first. Numbers are offsets from the cumulative acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); MAX_SACK_BLOCKS],
    len: u8,
    duplicate: bool,
}

impl SackBlocks {
    /// Add the block `start..end`; ignored when three are in.
    pub fn push(&mut self, cumulative: u64, start: u64, end: u64) {
        if usize::from(self.len) < MAX_SACK_BLOCKS {
            self.blocks[usize::from(self.len)] = ((start - cumulative) as u32, (end - cumulative) as u32);
            self.len += 1;
        }
    }

    /// Say that the packet that caused this acknowledgement had come before (RFC 2883).
    pub fn mark_duplicate(&mut self) {
        self.duplicate = true;
    }

    /// Whether a duplicate is reported.
    #[must_use]
    pub const fn is_duplicate(&self) -> bool {
        self.duplicate
    }

    /// True without blocks.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The blocks as ranges of sequence numbers, for an acknowledgement of everything before `cumulative`.
    pub fn ranges(&self, cumulative: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.blocks[..usize::from(self.len)]
            .iter()
            .map(move |&(start, end)| (cumulative + u64::from(start), cumulative + u64::from(end)))
    }
}
