//! The sender's record of every packet from the cumulative ACK to the next new one (RFC 6675's scoreboard).

mod packed;

use crate::Nanos;
use crate::delivery_rate::SentState;
use packed::{Packed, Totals};

/// A packet that has been sent and is not yet acknowledged in order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    /// When it was last sent.
    pub sent_at: Nanos,
    /// The connection's delivery state then.
    pub state: SentState,
    /// Selectively acknowledged.
    pub sacked: bool,
    /// Marked lost. Stays set while the retransmission is out.
    pub lost: bool,
    pub retransmitted: bool,
    /// A retransmission is in the network.
    pub retransmission_out: bool,
}

/// A ring of segments, and the counts that give the packets in flight.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Scoreboard {
    ring: Box<[Packed]>,
    una: u64,
    next: u64,
    sacked: u32,
    lost: u32,
    /// All packets from this one on were sent only once.
    once_from: u64,
    retransmissions_out: u32,
    /// Lost packets not yet retransmitted.
    to_retransmit: u32,
    latest: Totals,
    /// No such packet is below this one.
    hint: u64,
    /// A bit per ring slot with such a packet, searched by the word: long windows under heavy loss need it.
    due: Box<[u64]>,
}

const INITIAL_CAPACITY: usize = 64;
const WORD: usize = u64::BITS as usize;

impl Scoreboard {
    /// Create an empty board. The first packet allocates memory.
    pub fn new() -> Self {
        Self {
            ring: Box::default(),
            latest: Totals::default(),
            una: 0,
            next: 0,
            sacked: 0,
            lost: 0,
            retransmissions_out: 0,
            to_retransmit: 0,
            due: Box::default(),
            hint: 0,
            once_from: 0,
        }
    }

    /// Free the memory after the last use; the counts stay.
    pub fn release(&mut self) {
        self.ring = Box::default();
        self.due = Box::default();
    }

    /// First packet not acknowledged in order.
    pub const fn una(&self) -> u64 {
        self.una
    }

    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Packets sent and not acknowledged in order.
    pub const fn packets_out(&self) -> u32 {
        (self.next - self.una) as u32
    }

    /// RFC 6675's pipe: packets presumably still in the network.
    pub const fn in_flight(&self) -> u32 {
        self.packets_out() + self.retransmissions_out - self.sacked - self.lost
    }

    pub const fn sacked(&self) -> u32 {
        self.sacked
    }

    pub const fn retransmissions_out(&self) -> u32 {
        self.retransmissions_out
    }

    /// Packets marked lost and not yet delivered, retransmitted or not.
    pub const fn lost(&self) -> u32 {
        self.lost
    }

    #[inline]
    pub fn get(&self, seq: u64) -> Segment {
        self.ring[seq as usize & (self.ring.len() - 1)].unpacked(&self.latest)
    }

    /// Return when the packet was last sent.
    #[inline]
    pub fn sent_at(&self, seq: u64) -> Nanos {
        self.ring[seq as usize & (self.ring.len() - 1)].sent_at()
    }

    #[inline]
    fn packed(&mut self, seq: u64) -> &mut Packed {
        let mask = self.ring.len() - 1;
        &mut self.ring[seq as usize & mask]
    }

    /// Whether every packet was sent once and is neither lost nor acknowledged.
    #[inline]
    pub const fn is_regular(&self) -> bool {
        self.sacked == 0 && self.lost == 0 && self.una >= self.once_from
    }

    /// Append `count` new packets, at least one, that leave together, the first of them with `state`. Return the first one's
    /// number.
    #[inline]
    pub fn push(&mut self, sent_at: Nanos, state: SentState, count: u32) -> u64 {
        while self.packets_out() as usize + count as usize > self.ring.len() {
            self.grow();
        }
        let first = self.next;
        self.latest = Totals::of(&state);
        let mut packed = Packed::new(sent_at, &state);
        let ring = &mut self.ring[..];
        let mask = ring.len() - 1;
        for seq in first..first + u64::from(count) {
            ring[seq as usize & mask] = packed;
            packed.follow();
        }
        self.next += u64::from(count);
        first
    }

    #[cold]
    fn grow(&mut self) {
        let mut ring =
            vec![Packed::default(); (self.ring.len() * 2).max(INITIAL_CAPACITY)].into_boxed_slice();
        for seq in self.una..self.next {
            ring[seq as usize & (ring.len() - 1)] = *self.packed(seq);
        }
        self.due = vec![0; ring.len() / WORD].into();
        self.ring = ring;
        for seq in self.una..self.next {
            let segment = self.get(seq);
            self.set_due(seq, segment.lost && !segment.retransmission_out);
        }
    }

    fn set_due(&mut self, seq: u64, due: bool) {
        let place = seq as usize & (self.ring.len() - 1);
        let (word, bit) = (&mut self.due[place / WORD], 1 << (place % WORD));
        *word = if due { *word | bit } else { *word & !bit };
    }

    /// Remove the first packet, which is acknowledged in order.
    #[inline]
    pub fn pop(&mut self) -> Segment {
        let segment = self.get(self.una);
        if segment.sacked {
            self.sacked -= 1;
        }
        self.forget(self.una, segment);
        self.una += 1;
        segment
    }

    /// Remove all packets below `until`, which are acknowledged in order, from a [regular](Self::is_regular) board. Return when
    /// the first was sent, and the last.
    #[inline]
    pub fn pop_below(&mut self, until: u64) -> (Nanos, Nanos) {
        debug_assert!(self.is_regular() && self.una < until && until <= self.next);
        let first_sent_at = self.sent_at(self.una);
        self.una = until;
        (first_sent_at, self.sent_at(until - 1))
    }

    /// Return the connection's delivery state when the packet `seq` was sent, which was the last to be removed.
    #[inline]
    pub fn state_of_popped(&self, seq: u64) -> SentState {
        debug_assert!(seq + 1 == self.una);
        self.get(seq).state
    }

    /// Mark the packet SACKed; it must not be SACKed already.
    pub fn sack(&mut self, seq: u64) -> Segment {
        let segment = self.get(seq);
        debug_assert!(!segment.sacked && seq >= self.una && seq < self.next);
        self.forget(seq, segment);
        self.sacked += 1;
        self.packed(seq).set_sacked();
        segment
    }

    /// Remove a delivered packet from the counts of lost packets and retransmissions.
    #[inline]
    fn forget(&mut self, seq: u64, segment: Segment) {
        if segment.lost {
            self.lost -= 1;
            if !segment.retransmission_out {
                self.to_retransmit -= 1;
                self.set_due(seq, false);
            }
        }
        if segment.retransmission_out {
            self.retransmissions_out -= 1;
        }
    }

    /// Mark the packet or its retransmission lost. Returns false if it is marked already, or SACKed.
    pub fn mark_lost(&mut self, seq: u64) -> bool {
        let segment = self.get(seq);
        if segment.sacked || (segment.lost && !segment.retransmission_out) {
            return false;
        }
        if !segment.lost {
            self.lost += 1;
        }
        if segment.retransmission_out {
            self.retransmissions_out -= 1;
        }
        self.to_retransmit += 1;
        self.set_due(seq, true);
        self.hint = self.hint.min(seq);
        self.packed(seq).set_lost_again();
        true
    }

    /// Clear all loss marks but those of packets lost twice: the reduction was spurious.
    #[cold]
    pub fn forgive(&mut self) {
        (self.lost, self.to_retransmit) = (0, 0);
        for seq in self.una..self.next {
            let segment = self.get(seq);
            let still_lost = segment.lost && segment.retransmitted && !segment.retransmission_out;
            self.packed(seq).set_lost(still_lost);
            self.set_due(seq, still_lost);
            self.lost += u32::from(still_lost);
            self.to_retransmit += u32::from(still_lost);
        }
    }

    /// Return the first packet that is due for retransmission.
    pub fn first_to_retransmit(&mut self) -> Option<u64> {
        if self.to_retransmit == 0 {
            self.hint = self.next;
            return None;
        }
        let mask = self.ring.len() - 1;
        let mut seq = self.hint.max(self.una);
        loop {
            let place = seq as usize & mask;
            let word = self.due[place / WORD] >> (place % WORD);
            if word != 0 {
                self.hint = seq + u64::from(word.trailing_zeros());
                return Some(self.hint);
            }
            seq += (WORD - place % WORD) as u64;
        }
    }

    /// Count the consecutive packets due for retransmission from `seq` on, which is due, up to `most`.
    pub fn due_from(&self, seq: u64, most: u32) -> u32 {
        let due = |seq: &u64| {
            let place = *seq as usize & (self.ring.len() - 1);
            self.due[place / WORD] & 1 << (place % WORD) != 0
        };
        1 + (seq + 1..self.next).take(most as usize - 1).take_while(due).count() as u32
    }

    /// Record a retransmission.
    pub fn retransmit(&mut self, seq: u64, sent_at: Nanos, state: SentState) {
        let segment = self.get(seq);
        debug_assert!(!segment.sacked);
        if segment.lost && !segment.retransmission_out {
            self.to_retransmit -= 1;
            self.set_due(seq, false);
        }
        if !segment.retransmission_out {
            self.retransmissions_out += 1;
        }
        self.once_from = self.once_from.max(seq + 1);
        self.latest = Totals::of(&state);
        let packed = self.packed(seq);
        *packed = packed.resent(sent_at, &state);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_next_to_retransmit_is_the_first_that_is_lost_and_not_out_again(
            operations in prop::collection::vec((0_u8..6, 0_u64..300), 1..400),
        ) {
            let mut board = Scoreboard::new();
            for (operation, at) in operations {
                let seq = board.una() + at % u64::from(board.packets_out().max(1));
                let any = board.packets_out() > 0;
                match operation {
                    0 => { board.push(0, SentState::default(), 1 + (at % 39) as u32); }
                    1 if any => { board.mark_lost(seq); }
                    2 if any && !board.get(seq).sacked => { board.sack(seq); }
                    3 if any => { board.pop(); }
                    4 => if let Some(due) = board.first_to_retransmit() {
                        board.retransmit(due, 1, SentState::default());
                    },
                    5 if at == 0 => board.forgive(),
                    _ => {}
                }
                let due = |seq: &u64| board.get(*seq).lost && !board.get(*seq).retransmission_out;
                let (first, count) = {
                    let mut all = (board.una()..board.next()).filter(due);
                    (all.next(), all.count())
                };
                prop_assert_eq!(board.first_to_retransmit(), first);
                prop_assert_eq!(board.to_retransmit as usize, count + usize::from(first.is_some()));
            }
        }
    }
    #[test]
    fn a_board_takes_memory_from_the_first_packet_until_it_is_released() {
        let mut board = Scoreboard::new();
        assert_eq!((board.ring.len(), board.due.len()), (0, 0));
        board.push(0, SentState::default(), 100);
        board.mark_lost(0);
        assert_eq!((board.ring.len(), board.due.len()), (128, 2));
        let counts = |board: &Scoreboard| (board.packets_out(), board.in_flight(), board.lost());
        let before = counts(&board);
        board.release();
        assert_eq!((board.ring.len(), board.due.len(), counts(&board)), (0, 0, before));
    }
}
