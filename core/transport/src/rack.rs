//! RACK loss detection (RFC 8985): a packet is lost when one sent sufficiently later has been delivered.

use std::collections::VecDeque;

use crate::rtt::RttEstimator;
use crate::scoreboard::{Scoreboard, Segment};
use crate::{NEVER, Nanos};

/// RFC 8985 §6.2 step 4 and RFC 5681: this many later packets suffice without waiting.
const DUPLICATE_THRESHOLD: u32 = 3;

/// What RACK knows of the most recently sent packet that was delivered.
#[derive(Clone, Debug, Default)]
pub struct Rack {
    sent_at: Nanos,
    seq: u64,
    rtt: Nanos,
    any: bool,
    reordering_seen: bool,
    /// Originals below this one have been judged: sacked, lost or retransmitted. They were sent in this order.
    judged: u64,
    /// Retransmissions in the order they were sent.
    retransmissions: VecDeque<(u64, Nanos)>,
}

impl Rack {
    /// A packet was delivered for the first time (RFC 8985 §6.2 steps 1 to 3).
    #[inline]
    pub fn on_delivered(&mut self, now: Nanos, seq: u64, segment: &Segment, highest: u64, min_rtt: Nanos) {
        let rtt = now - segment.sent_at;
        if segment.retransmitted {
            // "the RTT is less than the minimum": it was the original, not the retransmission, that arrived.
            if rtt < min_rtt {
                return;
            }
        } else if seq < highest {
            self.reordering_seen = true;
        }
        if !self.any || (segment.sent_at, seq) > (self.sent_at, self.seq) {
            self.any = true;
            self.rtt = rtt;
            self.sent_at = segment.sent_at;
            self.seq = seq;
        }
    }

    /// A packet that was sent again turned out to have been late, not lost.
    #[cold]
    pub fn on_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// What was deemed lost was not: it may be lost yet.
    #[cold]
    pub fn judge_anew(&mut self) {
        self.judged = 0;
    }

    /// A packet went out again.
    pub fn on_retransmitted(&mut self, seq: u64, sent_at: Nanos) {
        self.retransmissions.push_back((seq, sent_at));
    }

    /// Mark lost what should have been delivered by now (RFC 8985 §6.2 step 5).
    ///
    /// `on_lost` is told each. Returns how many were marked and when to look again.
    pub fn detect(
        &mut self,
        now: Nanos,
        board: &mut Scoreboard,
        rtt: &RttEstimator,
        recovering: bool,
        mut on_lost: impl FnMut(&Segment),
    ) -> (u32, Nanos) {
        if !self.any {
            return (0, NEVER);
        }
        let patience = self.rtt + self.reordering_window(board, rtt, recovering);
        let mut lost = 0;
        let mut look_again = NEVER;
        self.judged = self.judged.max(board.una());
        while self.judged < board.next() {
            let seq = self.judged;
            let segment = board.get(seq);
            if !segment.sacked && !segment.lost && !segment.retransmitted {
                if (self.sent_at, self.seq) <= (segment.sent_at, seq) {
                    break;
                }
                let deadline = segment.sent_at + patience;
                if deadline > now {
                    look_again = deadline;
                    break;
                }
                lost += mark_lost(board, seq, &mut on_lost);
            }
            self.judged += 1;
        }
        while let Some(&(seq, sent_at)) = self.retransmissions.front() {
            let stale = seq < board.una() || {
                let segment = board.get(seq);
                segment.sacked || !segment.retransmission_out || segment.sent_at != sent_at
            };
            if !stale {
                // Of what left at one instant the RFC takes the higher number for the later; but what an acknowledgement
                // let go may be followed by a repair that the next one, of the same instant, asks for.
                if self.sent_at <= sent_at {
                    break;
                }
                let deadline = sent_at + patience;
                if deadline > now {
                    look_again = look_again.min(deadline);
                    break;
                }
                lost += mark_lost(board, seq, &mut on_lost);
            }
            self.retransmissions.pop_front();
        }
        (lost, look_again)
    }

    /// The retransmission timer ran out (RFC 8985 §6.3): all is lost but what was sent within the last round trip.
    pub fn on_timeout(
        &mut self,
        now: Nanos,
        board: &mut Scoreboard,
        mut on_lost: impl FnMut(&Segment),
    ) -> u32 {
        let mut lost = 0;
        for seq in board.una()..board.next() {
            if seq == board.una() || board.get(seq).sent_at + self.rtt <= now {
                lost += mark_lost(board, seq, &mut on_lost);
            }
        }
        lost
    }

    /// RFC 8985 §6.2 step 4: no patience without reordering once recovery or three duplicates say loss.
    fn reordering_window(&self, board: &Scoreboard, rtt: &RttEstimator, recovering: bool) -> Nanos {
        if !self.reordering_seen && (recovering || board.sacked() >= DUPLICATE_THRESHOLD) {
            return 0;
        }
        (rtt.min() / 4).min(rtt.smoothed())
    }
}

fn mark_lost(board: &mut Scoreboard, seq: u64, on_lost: &mut impl FnMut(&Segment)) -> u32 {
    let news = board.mark_lost(seq);
    if news {
        on_lost(&board.get(seq));
    }
    u32::from(news)
}
