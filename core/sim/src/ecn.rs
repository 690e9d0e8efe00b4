//! The bits of RFC 3168 that a packet carries.

/// Of the IP header ECT and CE, of the TCP header ECE and CWR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ecn(u8);

const CAPABLE: u8 = 1;
const MARKED: u8 = 2;
const ECHO: u8 = 4;
const ANSWER: u8 = 8;

impl Ecn {
    /// Of a data packet that queues may mark; whether its sender says that it has answered a mark.
    #[inline]
    pub const fn of_capable(answers: bool) -> Self {
        Self(CAPABLE | (answers as u8 * ANSWER))
    }

    /// Of an acknowledgement: whether a mark has arrived.
    #[inline]
    pub const fn of_ack(marked: bool) -> Self {
        Self(marked as u8 * ECHO)
    }

    /// A queue marks the packet, if it may: true.
    #[inline]
    pub const fn mark(&mut self) -> bool {
        let capable = self.0 & CAPABLE != 0;
        if capable {
            self.0 |= MARKED;
        }
        capable
    }

    /// Neither marked nor an answer to a mark.
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
