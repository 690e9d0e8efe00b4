//! What travels over the simulated links.

use leo_link::Nanos;
use leo_transport::SackBlocks;

use crate::ecn::Ecn;

/// What a packet is for. Odd ones go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Data = 0,
    Ack = 1,
    Syn = 2,
    SynAck = 3,
}

impl Kind {
    /// Whether it goes from the receiver to the sender.
    #[inline]
    pub const fn goes_back(self) -> bool {
        self as u8 & 1 == 1
    }
}

/// A packet of any kind.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub flow: u32,
    pub bytes: u16,
    /// Number of its flow's route that it takes, and of the link it is on within that.
    pub route: u16,
    pub hop: u8,
    pub kind: Kind,
    pub ecn: Ecn,
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
        self.ecn.mark()
    }

    #[inline]
    fn travels(&mut self, propagation: Nanos) {
        self.propagation += propagation;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_fills_a_cache_line() {
        assert_eq!(size_of::<Packet>(), 64);
    }
}
