//! The ECN bits of a packet (RFC 3168, RFC 9768), and PSH (RFC 9293).

use leo_link::Codepoint;

/// The codepoint of the IP header (the two low bits), and ECE, CWR and AE of the TCP header, which are the ACE field with
/// accurate ECN (RFC 9768 §3.2.2). Beside them, data have PSH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ecn(u8);

const ECHO: u8 = 1 << ACE_SHIFT;
const ANSWER: u8 = 2 << ACE_SHIFT;
const ACE_SHIFT: u32 = 2;
const ACE: u8 = 7;
const PUSH: u8 = 1 << 5;

impl Ecn {
    /// Create the bits of a data packet with this codepoint; `answers` sets CWR.
    pub const fn of_data(codepoint: Codepoint, answers: bool) -> Self {
        Self(codepoint as u8 | (answers as u8 * ANSWER))
    }

    /// Create the bits of an ACK; `marked` sets ECE.
    pub const fn of_ack(marked: bool) -> Self {
        Self(marked as u8 * ECHO)
    }

    /// Create the bits of an ACK with this ACE field.
    pub const fn of_ace(ace: u8) -> Self {
        Self(ace << ACE_SHIFT)
    }

    /// Set PSH if `pushes`.
    pub const fn pushing(self, pushes: bool) -> Self {
        Self(self.0 | (pushes as u8 * PUSH))
    }

    pub const fn pushes(self) -> bool {
        self.0 & PUSH != 0
    }

    /// The ACE field.
    pub const fn ace(self) -> u8 {
        (self.0 >> ACE_SHIFT) & ACE
    }

    pub const fn codepoint(self) -> Codepoint {
        Codepoint::of(self.0)
    }

    /// Set CE if the packet is ECN-capable; return whether it is.
    #[inline]
    pub const fn mark(&mut self) -> bool {
        let capable = self.codepoint().is_capable();
        if capable {
            self.0 |= Codepoint::Ce as u8;
        }
        capable
    }

    /// Return whether both CE and CWR are unset.
    pub const fn says_nothing(self) -> bool {
        !self.is_marked() && !self.is_answer()
    }

    pub const fn is_marked(self) -> bool {
        matches!(self.codepoint(), Codepoint::Ce)
    }

    pub const fn is_echo(self) -> bool {
        self.0 & ECHO != 0
    }

    pub const fn is_answer(self) -> bool {
        self.0 & ANSWER != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn psh_stands_beside_the_other_bits() {
        for (codepoint, answers) in [(Codepoint::NotEct, false), (Codepoint::Ect1, true)] {
            let data = Ecn::of_data(codepoint, answers);
            assert_eq!((data.pushing(true).pushes(), data.pushing(false)), (true, data));
            assert_eq!(data.pushing(true).ace(), data.ace());
            assert_eq!(data.pushing(true).codepoint(), codepoint);
        }
    }

    #[test]
    fn the_ace_field_is_ae_cwr_and_ece() {
        // RFC 9768 §3.2.2: "The least significant bit" is ECE.
        for ace in 0..8 {
            let ecn = Ecn::of_ace(ace);
            assert_eq!((ecn.ace(), ecn.codepoint()), (ace, Codepoint::NotEct));
            assert_eq!((ecn.is_echo(), ecn.is_answer()), (ace & 1 != 0, ace & 2 != 0));
        }
    }

    #[test]
    fn a_mark_turns_either_capable_codepoint_into_ce_and_leaves_the_tcp_flags() {
        // RFC 3168 §5; RFC 9331 §5.2 for ECT(1).
        for answers in [false, true] {
            for (codepoint, capable) in [
                (Codepoint::NotEct, false),
                (Codepoint::Ect1, true),
                (Codepoint::Ect0, true),
                (Codepoint::Ce, true),
            ] {
                let mut ecn = Ecn::of_data(codepoint, answers);
                assert_eq!(ecn.mark(), capable);
                assert_eq!(ecn.codepoint(), if capable { Codepoint::Ce } else { Codepoint::NotEct });
                assert_eq!((ecn.is_marked(), ecn.is_answer(), ecn.is_echo()), (capable, answers, false));
                assert_eq!(ecn.says_nothing(), !capable && !answers);
            }
        }
    }
}
