//! The counters that each end keeps (RFC 9768 §3.2.1).

use super::CE;

/// RFC 9768 §3.2.1: "r.cep = 5".
const FIRST_CEP: u64 = 5;
/// RFC 9768 §3.2.1: "r.e0b = r.e1b = 1 and r.ceb = 0", by ECN bits; Not-ECT has no counter.
const FIRST_BYTES: [u64; 4] = [0, 1, 1, 0];

/// The counters cep, ceb, e0b and e1b of one end.
#[derive(Clone, Debug)]
pub struct Counters {
    pub(super) cep: u64,
    /// By ECN bits.
    pub(super) bytes: [u64; 4],
}

impl Default for Counters {
    fn default() -> Self {
        Self { cep: FIRST_CEP, bytes: FIRST_BYTES }
    }
}

impl Counters {
    /// Packets marked CE.
    pub const fn marked_packets(&self) -> u64 {
        self.cep - FIRST_CEP
    }

    /// Payload bytes that came with these ECN bits.
    pub const fn payload_bytes(&self, ecn_bits: u8) -> u64 {
        let ecn = ecn_bits as usize & CE;
        self.bytes[ecn] - FIRST_BYTES[ecn]
    }
}
