//! Evidence that a retransmission was not needed: Eifel (RFC 3522), duplicate reports (RFC 2883, RFC 3708).

use crate::Nanos;

/// What was retransmitted since the last reduction; Linux's undo_marker, undo_retrans and retrans_stamp.
#[derive(Clone, Debug, Default)]
pub struct Undo {
    possible: bool,
    /// Retransmissions that no duplicate report has answered; `None` before the first.
    unanswered: Option<u32>,
    first_retransmitted_at: Option<Nanos>,
}

impl Undo {
    /// A reduction begins while `retransmissions_out` are in the network.
    pub fn begin(&mut self, retransmissions_out: u32) {
        *self = Self {
            possible: true,
            unanswered: (retransmissions_out > 0).then_some(retransmissions_out),
            first_retransmitted_at: None,
        };
    }

    /// It is taken back, or cannot be any more.
    pub fn end(&mut self) {
        *self = Self::default();
    }

    pub const fn is_possible(&self) -> bool {
        self.possible
    }

    /// A packet goes out again.
    pub fn on_retransmitted(&mut self, now: Nanos) {
        self.unanswered = Some(self.unanswered.unwrap_or(0).saturating_add(1));
        self.first_retransmitted_at.get_or_insert(now);
    }

    /// The receiver reports a packet that it had already.
    pub fn on_duplicate(&mut self) {
        if let Some(unanswered) = &mut self.unanswered {
            *unanswered = unanswered.saturating_sub(1);
        }
    }

    /// Every retransmission was one too many.
    pub fn all_were_duplicates(&self) -> bool {
        self.unanswered == Some(0)
    }

    /// The echoed timestamp is older than the first retransmission: the original had only been late.
    pub fn answers_original(&self, echo: Nanos) -> bool {
        self.first_retransmitted_at.is_some_and(|at| echo < at)
    }
}
