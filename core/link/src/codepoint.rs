//! The ECN codepoint of an IP header (RFC 3168 §5, RFC 8311, RFC 9331).

/// The two low bits of the former TOS byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Codepoint {
    /// The transport does not support ECN.
    #[default]
    NotEct = 0b00,
    /// ECN-capable, and asks for the low latency service (RFC 9331 §4.1).
    Ect1 = 0b01,
    /// ECN-capable, with the response of RFC 3168.
    Ect0 = 0b10,
    /// A queue has marked the packet.
    Ce = 0b11,
}

impl Codepoint {
    /// Bits of the former TOS byte that hold the codepoint.
    pub const MASK: u8 = 0b11;

    /// Return the codepoint in the low bits of a header's byte.
    #[inline]
    pub const fn of(byte: u8) -> Self {
        match byte & Self::MASK {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Return whether a queue may mark the packet instead of dropping it (RFC 3168 §5).
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }

    /// Return whether the packet belongs into the L4S queue. RFC 9331 §5.1: a node "MUST classify arriving
    /// ECT(1) packets for L4S treatment" and CE packets as well.
    pub const fn is_l4s(self) -> bool {
        matches!(self, Self::Ect1 | Self::Ce)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_low_bits_of_the_byte_are_the_codepoint_whatever_its_other_bits_are() {
        for (bits, codepoint) in [
            (0b00, Codepoint::NotEct),
            (0b01, Codepoint::Ect1),
            (0b10, Codepoint::Ect0),
            (0b11, Codepoint::Ce),
        ] {
            // RFC 2474: the other six bits are the DSCP.
            for dscp in [0, 0xb8, 0xfc] {
                assert_eq!(Codepoint::of(dscp | bits), codepoint);
            }
            assert_eq!(codepoint as u8, bits);
        }
    }

    #[test]
    fn only_ect_1_and_ce_get_the_low_latency_service_and_only_not_ect_is_dropped() {
        // RFC 9331 §5.1 and RFC 3168 §5.
        let all = [Codepoint::NotEct, Codepoint::Ect1, Codepoint::Ect0, Codepoint::Ce];
        assert_eq!(all.map(Codepoint::is_l4s), [false, true, false, true]);
        assert_eq!(all.map(Codepoint::is_capable), [false, true, true, true]);
    }
}
