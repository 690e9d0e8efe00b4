//! Evidence that a retransmission was spurious: Eifel (RFC 3522), duplicate reports (RFC 2883, RFC 3708).

use crate::Nanos;

/// Retransmissions since the last reduction (Linux's undo_marker, undo_retrans and retrans_stamp).
#[derive(Clone, Debug, Default)]
pub struct Undo {
    possible: bool,
    /// Retransmissions without a duplicate report; `None` before the first retransmission.
    unanswered: Option<u32>,
    first_retransmitted_at: Option<Nanos>,
}

impl Undo {
    /// Begin with a reduction while `retransmissions_out` are in flight.
    pub fn begin(&mut self, retransmissions_out: u32) {
        *self = Self {
            possible: true,
            unanswered: (retransmissions_out > 0).then_some(retransmissions_out),
            first_retransmitted_at: None,
        };
    }

    /// End: the reduction is undone or final.
    pub fn end(&mut self) {
        *self = Self::default();
    }

    pub const fn is_possible(&self) -> bool {
        self.possible
    }

    pub fn on_retransmitted(&mut self, now: Nanos) {
        self.unanswered = Some(self.unanswered.unwrap_or(0).saturating_add(1));
        self.first_retransmitted_at.get_or_insert(now);
    }

    pub fn on_duplicate(&mut self) {
        if let Some(unanswered) = &mut self.unanswered {
            *unanswered = unanswered.saturating_sub(1);
        }
    }

    /// Whether every retransmission was reported as a duplicate.
    pub fn all_were_duplicates(&self) -> bool {
        self.unanswered == Some(0)
    }

    /// Whether the echo is older than the first retransmission, so the original was only late.
    pub fn answers_original(&self, echo: Nanos) -> bool {
        self.first_retransmitted_at.is_some_and(|at| echo < at)
    }
}
