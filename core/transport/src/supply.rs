//! What the application has given the connection to send.

use crate::SEGMENT_BYTES;

/// Data in packets, of which the last of a transfer may be short.
#[derive(Clone, Debug)]
pub struct Supply {
    /// Written so far; never ends with an endless supply.
    packets: u64,
    /// Of a transfer.
    end: u64,
    last_bytes: u32,
}

impl Supply {
    /// Data without end.
    pub const fn endless() -> Self {
        Self { packets: u64::MAX, end: u64::MAX, last_bytes: SEGMENT_BYTES }
    }

    /// Nothing until the application writes it.
    pub const fn empty() -> Self {
        Self { packets: 0, end: u64::MAX, last_bytes: SEGMENT_BYTES }
    }

    /// The application writes so many full packets.
    pub const fn write(&mut self, packets: u64) {
        self.packets = self.packets.saturating_add(packets);
    }

    /// So many bytes, at least one.
    pub fn of_bytes(bytes: u64) -> Self {
        let before_last = (bytes.max(1) - 1) / u64::from(SEGMENT_BYTES);
        Self {
            packets: before_last + 1,
            end: before_last + 1,
            last_bytes: (bytes.max(1) - before_last * u64::from(SEGMENT_BYTES)) as u32,
        }
    }

    /// How many packets there are to send, since the beginning.
    #[inline]
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// How many a transfer has; for others a number that is never reached.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.end
    }

    /// Payload of packet `seq`.
    #[inline]
    pub const fn payload_bytes(&self, seq: u64) -> u32 {
        if seq + 1 == self.end { self.last_bytes } else { SEGMENT_BYTES }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packets_of_a_transfer_hold_its_bytes() {
        for bytes in [1, 1_447, 1_448, 1_449, 2_896, 1_000_000] {
            let supply = Supply::of_bytes(bytes);
            let sum: u64 = (0..supply.packets()).map(|seq| u64::from(supply.payload_bytes(seq))).sum();
            assert_eq!(sum, bytes);
            assert!(
                (0..supply.packets()).all(|seq| (1..=SEGMENT_BYTES).contains(&supply.payload_bytes(seq)))
            );
        }
    }
}
