//! RACK loss detection (RFC 8985): a packet is lost when one sent sufficiently later has been delivered.

use std::collections::VecDeque;

use crate::rtt::RttEstimator;
use crate::scoreboard::{Scoreboard, Segment};
use crate::{NEVER, Nanos};

/// This many later deliveries mark a packet lost without waiting (RFC 8985 §6.2 step 4, RFC 5681).
const DUPLICATE_THRESHOLD: u32 = 3;

/// RACK state: the most recently sent packet that was delivered, and the packets still to be checked.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Rack {
    sent_at: Nanos,
    seq: u64,
    rtt: Nanos,
    any: bool,
    reordering_seen: bool,
    /// All originals below this one are sacked, lost or retransmitted. Originals were sent in order.
    judged: u64,
    /// Retransmissions in the order they were sent.
    retransmissions: VecDeque<(u64, Nanos)>,
}

impl Rack {
    /// Note the first delivery of a packet (RFC 8985 §6.2 steps 1 to 3).
    #[inline]
    pub fn on_delivered(&mut self, now: Nanos, seq: u64, segment: &Segment, highest: u64, min_rtt: Nanos) {
        let rtt = now - segment.sent_at;
        if segment.retransmitted {
            // "the RTT is less than the minimum": the ACK answers the original, not the retransmission.
            if rtt < min_rtt {
                return;
            }
        } else if seq < highest {
            self.reordering_seen = true;
        }
        self.take(rtt, seq, segment.sent_at);
    }

    /// Note the delivery of packets that were sent once, in order and without a gap; `seq` is the last of them.
    #[inline]
    pub fn on_delivered_in_order(&mut self, now: Nanos, seq: u64, sent_at: Nanos) {
        self.take(now - sent_at, seq, sent_at);
    }

    #[inline(always)]
    fn take(&mut self, rtt: Nanos, seq: u64, sent_at: Nanos) {
        if !self.any || (sent_at, seq) > (self.sent_at, self.seq) {
            (self.any, self.rtt, self.sent_at, self.seq) = (true, rtt, sent_at, seq);
        }
    }

    /// Note that a retransmitted packet was late, not lost.
    #[cold]
    pub fn on_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// Check all packets again, after packets marked lost turned out not to be.
    #[cold]
    pub fn judge_anew(&mut self) {
        self.judged = 0;
    }

    pub fn on_retransmitted(&mut self, seq: u64, sent_at: Nanos) {
        self.retransmissions.push_back((seq, sent_at));
    }

    /// Mark overdue packets lost (RFC 8985 §6.2 step 5). Returns their number and when to check again.
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
                // RFC 8985 breaks ties of send time by sequence number. That fails here: packets released by
                // one ACK and a later retransmission caused by another ACK can have the same send time.
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

    /// On a retransmission timeout, mark all packets lost except those of the last round trip (RFC 8985 §6.3).
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

    /// RFC 8985 §6.2 step 4: without reordering, do not wait in recovery or after three duplicates.
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
