//! The AccECN TCP option (RFC 9768 §3.2.3): up to three byte counters of 24 bits, as on the wire.

use super::{CE, ECT_0, ECT_1};

/// RFC 9768 §3.2.3: "it MUST set the Kind field to 172 if using Order 0, or to 174 if using Order 1".
const ORDER_0: u8 = 172;
const ORDER_1: u8 = 174;
const FIELDS: usize = 3;
const FIELD_BYTES: u8 = 3;
const HEADER_BYTES: u8 = 2;
/// A TCP header's 40 bytes of options, less the 12 of timestamps.
const ROOM: usize = 28;
pub const COUNTER_MASK: u64 = (1 << 24) - 1;

/// An option, or none (length 0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct EcnOption {
    kind: u8,
    length: u8,
    fields: [[u8; 3]; FIELDS],
}

impl Default for EcnOption {
    fn default() -> Self {
        Self::ABSENT
    }
}

impl EcnOption {
    /// No option.
    // The derived default calls a function per packet.
    pub const ABSENT: Self = Self { kind: 0, length: 0, fields: [[0; 3]; FIELDS] };

    /// Create an option with the first `fields` counters of `bytes` (indexed by ECN bits), that of ECT(1) first or
    /// last.
    pub fn new(bytes: &[u64; 4], ect_1_first: bool, fields: usize) -> Self {
        let kind = if ect_1_first { ORDER_1 } else { ORDER_0 };
        let mut option = Self { kind, length: HEADER_BYTES + FIELD_BYTES * fields as u8, ..Self::ABSENT };
        for (field, ecn) in option.fields.iter_mut().zip(order(kind)).take(fields) {
            let [_, counter @ ..] = ((bytes[ecn] & COUNTER_MASK) as u32).to_be_bytes();
            *field = counter;
        }
        option
    }

    /// Whether there is none.
    pub const fn is_absent(&self) -> bool {
        self.length == 0
    }

    /// Return the counters with the ECN bits that each belongs to.
    pub fn counters(self) -> impl Iterator<Item = (usize, u64)> {
        let fields = usize::from(self.length.saturating_sub(HEADER_BYTES) / FIELD_BYTES);
        order(self.kind)
            .into_iter()
            .zip(self.fields)
            .take(fields)
            .map(|(ecn, [high, middle, low])| (ecn, u64::from(u32::from_be_bytes([0, high, middle, low]))))
    }

    /// Return how many counters fit next to `blocks` SACK blocks; `None` if not even an empty option does. RFC 9768
    /// §3.2.3.3: two SACK blocks have precedence, "because loss feedback is more critical"; Linux gives it to all.
    pub const fn fitting(blocks: usize) -> Option<usize> {
        // Linux pads a SACK option to whole words: 4 + 8 n bytes.
        let sacks = if blocks == 0 { 0 } else { 4 + 8 * blocks };
        let room = ROOM.saturating_sub(sacks);
        if room < HEADER_BYTES as usize {
            return None;
        }
        let fields = (room - HEADER_BYTES as usize) / FIELD_BYTES as usize;
        Some(if fields > FIELDS { FIELDS } else { fields })
    }
}

/// RFC 9768 §3.2.3: order 0 is EE0B, ECEB, EE1B; order 1 "in the opposite order".
pub const fn order(kind: u8) -> [usize; FIELDS] {
    if kind == ORDER_1 { [ECT_1, CE, ECT_0] } else { [ECT_0, CE, ECT_1] }
}

/// The order of an option whose first counter is that of ECT(1), or of ECT(0).
pub const fn order_from(ect_1_first: bool) -> [usize; FIELDS] {
    order(if ect_1_first { ORDER_1 } else { ORDER_0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_length_and_order_of_the_fields_are_those_of_the_rfc() {
        // RFC 9768 §3.2.3: kinds 172 and 174; lengths 2, 5, 8 and 11; 24 low bits in network byte order.
        let mut bytes = [0; 4];
        (bytes[ECT_0], bytes[CE], bytes[ECT_1]) = (0x0102_0304, 5, 0xffff_ffff);
        let wire = |option: EcnOption| (option.kind, option.length, option.fields);
        let (e0b, ceb, e1b) = ([2, 3, 4], [0, 0, 5], [255; 3]);
        assert_eq!(wire(EcnOption::new(&bytes, false, 3)), (172, 11, [e0b, ceb, e1b]));
        assert_eq!(wire(EcnOption::new(&bytes, true, 3)), (174, 11, [e1b, ceb, e0b]));
        assert_eq!(wire(EcnOption::new(&bytes, true, 2)), (174, 8, [e1b, ceb, [0; 3]]));
        assert_eq!(wire(EcnOption::new(&bytes, false, 1)), (172, 5, [e0b, [0; 3], [0; 3]]));
        assert_eq!(wire(EcnOption::new(&bytes, false, 0)), (172, 2, [[0; 3]; 3]));
    }

    #[test]
    fn what_was_put_in_comes_out_with_its_codepoint() {
        let mut bytes = [0; 4];
        (bytes[ECT_0], bytes[CE], bytes[ECT_1]) = (0x0102_0304, 5, 1);
        let read = |first, fields| EcnOption::new(&bytes, first, fields).counters().collect::<Vec<_>>();
        assert_eq!(read(false, 2), [(ECT_0, 0x02_0304), (CE, 5)]);
        assert_eq!(read(true, 3), [(ECT_1, 1), (CE, 5), (ECT_0, 0x02_0304)]);
        assert_eq!(read(true, 0), []);
        assert!(EcnOption::default().is_absent() && EcnOption::default().counters().next().is_none());
    }

    #[test]
    fn sack_blocks_come_first() {
        // 28 bytes: three blocks take all; two leave 8 bytes, an option of two counters.
        assert_eq!([0, 1, 2, 3].map(EcnOption::fitting), [Some(3), Some(3), Some(2), None]);
        assert_eq!(size_of::<EcnOption>(), 11);
    }
}
