//! Undoing spurious reductions, and F-RTO's detection of them (RFC 5682, with SACK).

use leo_cc::CongestionControl;

use super::{Sender, State};
use crate::{AckToSend, Nanos};

/// RFC 5682 §2.1 (2) b: "transmit up to two new (previously unsent) segments".
const NEW_PACKETS: u64 = 2;

impl Sender {
    /// Undo a spurious reduction. `original`: the ACK has a packet sent before the timeout and never again.
    #[inline]
    pub(super) fn take_back_mistakes(&mut self, now: Nanos, ack: &AckToSend, advanced: bool, original: bool) {
        if !self.undo.is_possible() {
            return;
        }
        if ack.sacks.is_duplicate() {
            self.undo.on_duplicate();
        }
        let spurious = match self.state {
            // Linux's tcp_try_undo_dsack: every retransmission was reported as a duplicate.
            State::Open => self.undo.all_were_duplicates(),
            State::Cwr { .. } => false,
            // RFC 3522: the echo is the original's. Retransmissions in flight must arrive first.
            State::Recovery { .. } => {
                self.undo.all_were_duplicates()
                    || (advanced
                        && self.undo.answers_original(ack.echo)
                        && self.board.retransmissions_out() == 0)
            }
            State::Loss { may_be_spurious, .. } => {
                (advanced && (self.undo.answers_original(ack.echo) || self.undo.all_were_duplicates()))
                    // RFC 5682 §3.1: data from before the timeout arrives without a retransmission.
                    || (may_be_spurious && original)
            }
        };
        if spurious {
            self.take_back(now);
        }
    }

    #[cold]
    pub(super) fn take_back(&mut self, now: Nanos) {
        self.undo.end();
        self.stats.undone += 1;
        self.board.forgive();
        self.rack.judge_anew();
        self.state = State::Open;
        self.reduction = None;
        self.asking = 0;
        self.backoff = 0;
        self.scheme.on_undo(now);
        self.scheme_deadline = self.scheme.next_timer();
    }

    /// After a timeout, the arrival of an original below this number shows that the timeout was spurious.
    #[inline]
    pub(super) const fn originals_end(&self) -> u64 {
        match self.state {
            State::Loss { until, .. } => until,
            _ => 0,
        }
    }

    /// F-RTO (RFC 5682 §3.1, Linux's tcp_process_loss): after a timeout that may be spurious, answer the
    /// first ACK with new data, not repairs. The next ACK then tells late packets from lost ones.
    /// `selectively`: the ACK has new SACKs.
    #[inline]
    pub(super) fn look_for_originals(&mut self, advanced: bool, selectively: bool) {
        let State::Loss { until, may_be_spurious: true } = self.state else { return };
        if self.board.next() > until {
            // Step 3: the new data arrives, but not the data before it.
            if !advanced || selectively {
                self.believe_timeout(until);
            }
        } else if advanced && self.board.una() < until {
            let new = (self.supply.sendable() - until).min(NEW_PACKETS) as u32;
            if new == 0 {
                self.believe_timeout(until);
            } else {
                self.asking = self.board.in_flight() + new;
                self.asks_with_new = true;
            }
        }
    }

    fn believe_timeout(&mut self, until: u64) {
        self.state = State::Loss { until, may_be_spurious: false };
        self.asks_with_new = false;
    }
}
