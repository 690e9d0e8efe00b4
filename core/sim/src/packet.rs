//! What travels over the simulated links.

use leo_link::Nanos;
use leo_transport::SackBlocks;

/// A data packet or an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub flow: u32,
    pub bytes: u16,
    /// Number of its flow's route that it takes, and of the link it is on within that.
    pub route: u16,
    pub hop: u8,
    pub is_ack: bool,
    /// Its flow understands marks (RFC 3168: ECT), and it has been marked (CE).
    pub ecn_capable: bool,
    pub ce: bool,
    /// Its number, or the next packet expected.
    pub seq: u64,
    /// When the data was sent; an acknowledgement echoes it.
    pub timestamp: Nanos,
    /// Propagation so far, there and back: the RTT that an empty path would have had.
    pub propagation: Nanos,
    pub sacks: SackBlocks,
}

impl leo_link::Packet for Packet {
    #[inline]
    fn bytes(&self) -> u32 {
        u32::from(self.bytes)
    }

    #[inline]
    fn flow(&self) -> u32 {
        self.flow
    }

    #[inline]
    fn mark_congestion(&mut self) -> bool {
        self.ce |= self.ecn_capable;
        self.ecn_capable
    }

    #[inline]
    fn travels(&mut self, propagation: Nanos) {
        self.propagation += propagation;
    }
}
