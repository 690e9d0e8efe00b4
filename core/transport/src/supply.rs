//! The data that the application provides.

use crate::SEGMENT_BYTES;

/// Data in packets; the last packet of a transfer may be short.
#[derive(Clone, Debug)]
pub struct Supply {
    /// The application has written the packets below this one; `u64::MAX` with unlimited data.
    written: u64,
    /// The receiver allows the packets below this one.
    edge: u64,
    sendable: u64,
    end: u64,
    last_bytes: u32,
}

impl Supply {
    pub const fn endless() -> Self {
        Self {
            written: u64::MAX,
            edge: u64::MAX,
            sendable: u64::MAX,
            end: u64::MAX,
            last_bytes: SEGMENT_BYTES,
        }
    }

    /// A transfer of `bytes`, at least one.
    pub fn of_bytes(bytes: u64) -> Self {
        let before_last = (bytes.max(1) - 1) / u64::from(SEGMENT_BYTES);
        let packets = before_last + 1;
        let last_bytes = (bytes.max(1) - before_last * u64::from(SEGMENT_BYTES)) as u32;
        Self { written: packets, sendable: packets, end: packets, last_bytes, ..Self::endless() }
    }

    /// Hold everything back until the application writes it.
    pub const fn unwritten(self) -> Self {
        Self { written: 0, sendable: 0, ..self }
    }

    /// Add `packets`, up to the end of a transfer.
    pub fn write(&mut self, packets: u64) {
        self.written = self.written.saturating_add(packets).min(self.end);
        self.sendable = self.written.min(self.edge);
    }

    /// Allow packets below `edge`. The receive window never shrinks.
    pub fn allow(&mut self, edge: u64) {
        self.edge = if self.edge == u64::MAX { edge } else { self.edge.max(edge) };
        self.sendable = self.written.min(self.edge);
    }

    /// Packets below this one may be sent.
    pub const fn sendable(&self) -> u64 {
        self.sendable
    }

    /// The application has written the packets below this one.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// The receiver allows the packets below this one.
    pub const fn edge(&self) -> u64 {
        self.edge
    }

    /// Packets of a transfer; `u64::MAX` without one.
    pub const fn end(&self) -> u64 {
        self.end
    }

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
            let sum: u64 = (0..supply.end()).map(|seq| u64::from(supply.payload_bytes(seq))).sum();
            assert_eq!(sum, bytes);
            assert!((0..supply.end()).all(|seq| (1..=SEGMENT_BYTES).contains(&supply.payload_bytes(seq))));
        }
    }
}
