//! The ECN bits of a packet (RFC 3168).

/// ECT and CE from the IP header, ECE and CWR from the TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ecn(u8);

const CAPABLE: u8 = 1;
const MARKED: u8 = 2;
const ECHO: u8 = 4;
const ANSWER: u8 = 8;

impl Ecn {
    /// Create the bits of an ECN-capable data packet; `answers` sets CWR.
    #[inline]
    pub const fn of_capable(answers: bool) -> Self {
        Self(CAPABLE | (answers as u8 * ANSWER))
    }

    /// Create the bits of an ACK; `marked` sets ECE.
    #[inline]
    pub const fn of_ack(marked: bool) -> Self {
        Self(marked as u8 * ECHO)
    }

    /// Set CE if the packet is ECN-capable; return whether it is.
    #[inline]
    pub const fn mark(&mut self) -> bool {
        let capable = self.0 & CAPABLE != 0;
        if capable {
            self.0 |= MARKED;
        }
        capable
    }

    /// Return whether both CE and CWR are unset.
    #[inline]
    pub const fn says_nothing(self) -> bool {
        self.0 & (MARKED | ANSWER) == 0
    }

    pub const fn is_marked(self) -> bool {
        self.0 & MARKED != 0
    }

    #[inline]
    pub const fn is_echo(self) -> bool {
        self.0 & ECHO != 0
    }

    pub const fn is_answer(self) -> bool {
        self.0 & ANSWER != 0
    }
}
