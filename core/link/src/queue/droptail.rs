//! The size of a drop-tail queue.

/// Limits of a drop-tail queue; the packet on the transmitter counts as queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropTail {
    /// At most this many packets.
    pub packets: u64,
    /// At most this many bytes.
    pub bytes: u64,
}

impl DropTail {
    /// A queue that drops nothing.
    pub const INFINITE: Self = Self { packets: u64::MAX, bytes: u64::MAX };

    /// Limit the queue to `packets` packets.
    pub const fn of_packets(packets: u64) -> Self {
        Self { packets, bytes: u64::MAX }
    }

    /// Limit the queue to `bytes` bytes.
    pub const fn of_bytes(bytes: u64) -> Self {
        Self { packets: u64::MAX, bytes }
    }

    /// Return whether one more packet of `size` bytes fits.
    pub const fn admits(&self, packets: u64, bytes: u64, size: u32) -> bool {
        packets < self.packets && bytes + size as u64 <= self.bytes
    }
}
