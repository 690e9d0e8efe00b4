//! The record that the eBPF program writes for each ACK. Its layout mirrors `kernel_bridge/bridge/bpf/ack.h`.

use std::ptr;

/// Kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An ACK.
    Acknowledged,
    /// Recovery or a timeout began or ended; `ca_state` is the new state.
    StateChanged,
    /// The kernel undid the last window reduction.
    Undone,
}

/// One record. Counters are totals of the connection and wrap, so the next record makes up for a dropped one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckRecord {
    /// `CLOCK_MONOTONIC`, in µs.
    pub time_us: u64,
    /// Bytes acknowledged cumulatively.
    pub bytes_acked: u64,
    /// RTT of the newest packet delivered; negative: no sample.
    pub rtt_us: i64,
    /// Interval of the delivery-rate sample, in µs.
    pub rate_interval_us: i64,
    /// Packets delivered in that interval; negative: no sample.
    pub rate_delivered: i32,
    /// `delivered` at the time when the newest packet delivered now was sent.
    pub prior_delivered: u32,
    /// Packets in flight before this ACK.
    pub prior_in_flight: u32,
    /// Packets in flight after this ACK.
    pub in_flight: u32,
    /// Packets delivered.
    pub delivered: u32,
    /// Packets deemed lost.
    pub lost: u32,
    /// Packets sent, retransmissions included.
    pub sent: u32,
    /// Packets sent but not yet acknowledged cumulatively.
    pub packets_out: u32,
    /// Smoothed RTT, in eighths of a µs.
    pub srtt_us_8: u32,
    /// Smallest RTT of the last 300 s, in µs; `u32::MAX` before the first sample.
    pub min_rtt_us: u32,
    /// Payload of a full packet, in bytes.
    pub mss: u32,
    /// The flow's generation.
    pub generation: u32,
    /// The flow's slot.
    pub slot: u16,
    /// See [`AckRecord::kind`].
    pub kind: u8,
    /// The kernel's `tcp_ca_state`.
    pub ca_state: u8,
    /// Whether the application limited the rate sample.
    pub app_limited: u8,
    pub(crate) unused: [u8; 3],
}

const _: () = assert!(size_of::<AckRecord>() == 88);

impl AckRecord {
    /// Parse the bytes that the program wrote; `None` if there are too few.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        // SAFETY: long enough, and every bit pattern is valid: the record is integers without padding.
        (bytes.len() >= size_of::<Self>()).then(|| unsafe { ptr::read_unaligned(bytes.as_ptr().cast()) })
    }

    /// Return the kind of this record.
    pub const fn kind(&self) -> Kind {
        match self.kind {
            0 => Kind::Acknowledged,
            1 => Kind::StateChanged,
            _ => Kind::Undone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_the_program_writes_them() {
        let mut bytes = [0; 96];
        bytes[0..8].copy_from_slice(&5_u64.to_ne_bytes());
        bytes[16..24].copy_from_slice(&(-1_i64).to_ne_bytes());
        bytes[32..36].copy_from_slice(&(-1_i32).to_ne_bytes());
        bytes[76..80].copy_from_slice(&9_u32.to_ne_bytes());
        bytes[80..82].copy_from_slice(&1023_u16.to_ne_bytes());
        bytes[82] = 1;
        bytes[83] = 4;
        let record = AckRecord::from_bytes(&bytes).unwrap();
        assert_eq!((record.time_us, record.rtt_us, record.rate_delivered), (5, -1, -1));
        assert_eq!((record.generation, record.slot, record.ca_state), (9, 1023, 4));
        assert_eq!(record.kind(), Kind::StateChanged);
        assert_eq!(AckRecord::from_bytes(&bytes[..87]), None);
    }
}
