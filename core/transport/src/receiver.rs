//! The receiving side: in-order delivery, selective and delayed acknowledgements (RFC 5681 §4.2, RFC 2018).

use crate::ranges::RangeSet;
use crate::receive_window::ReceiveWindow;
use crate::sack::{MAX_SACK_BLOCKS, SackBlocks};
use crate::{NEVER, Nanos};

const MILLISECOND: Nanos = 1_000_000;
/// Linux's TCP_ATO_MIN.
const DELAYED_ACK: Nanos = 40 * MILLISECOND;
/// Linux acknowledges the first packets of a connection one by one, so that slow start gets going.
const QUICK_ACKS: u32 = 16;

/// An acknowledgement that must go out now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckToSend {
    /// Next packet expected in order.
    pub cumulative: u64,
    /// What arrived beyond it.
    pub sacks: SackBlocks,
    /// Timestamp of the packet that RFC 7323 §4.3 says to echo.
    pub echo: Nanos,
    /// When it leaves, on a clock of milliseconds: its own timestamp.
    pub left_ms: u32,
    /// A mark has arrived that the sender has not answered (RFC 3168: ECE).
    pub marked: bool,
}

/// A receiver whose application reads at once.
#[derive(Clone, Debug)]
pub struct Receiver {
    next: u64,
    out_of_order: RangeSet,
    /// Ends of recently arrived out-of-order packets, the most recent first: the order of the blocks.
    recent: [u64; MAX_SACK_BLOCKS],
    unacknowledged: u32,
    quick: u32,
    echo: Nanos,
    deadline: Nanos,
    duplicates: u64,
    window: ReceiveWindow,
    first_left_ms: u32,
    /// Acknowledgements say that a mark has arrived.
    marked: bool,
}

impl Receiver {
    /// Nothing received yet, and a buffer that never limits the sender.
    #[must_use]
    pub fn new() -> Self {
        Self::with_window(ReceiveWindow::unlimited())
    }

    /// Nothing received yet.
    #[must_use]
    pub fn with_window(window: ReceiveWindow) -> Self {
        Self {
            next: 0,
            out_of_order: RangeSet::default(),
            recent: [0; MAX_SACK_BLOCKS],
            unacknowledged: 0,
            quick: QUICK_ACKS,
            echo: 0,
            deadline: NEVER,
            duplicates: 0,
            window,
            first_left_ms: u32::MAX,
            marked: false,
        }
    }

    /// The answer to a connection's opening leaves at `now`.
    pub fn open(&mut self, now: Nanos) {
        self.first_left_ms = self.first_left_ms.min((now / MILLISECOND) as u32);
    }

    /// Packets given to the application, in order.
    #[must_use]
    pub const fn delivered(&self) -> u64 {
        self.next
    }

    /// Packets that had arrived before.
    #[must_use]
    pub const fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Packets below this one may be sent.
    #[must_use]
    pub const fn edge(&self) -> u64 {
        self.window.edge(self.next)
    }

    /// When a delayed acknowledgement is due.
    #[must_use]
    pub const fn next_timer(&self) -> Nanos {
        self.deadline
    }

    /// What the header of the packet says that [`Receiver::on_data`] is told of next: `answered`, the sender has reduced
    /// its window (CWR); `marked`, a queue has marked the packet (CE).
    ///
    /// RFC 3168 §6.1.3: the receiver sets ECE "until it receives a CWR packet". Linux acknowledges at once around both.
    #[cold]
    pub fn on_ecn(&mut self, answered: bool, marked: bool) {
        if answered {
            self.marked = false;
            self.quick = self.quick.max(1);
        }
        if marked && !self.marked {
            self.marked = true;
            self.quick = self.quick.max(2);
        }
    }

    /// Packet `seq`, sent at `timestamp`, arrives at `now`. `echo_ms`: when the acknowledgement left whose timestamp it
    /// echoes; before the first one left there is none.
    #[inline]
    pub fn on_data(&mut self, now: Nanos, seq: u64, timestamp: Nanos, echo_ms: u32) -> Option<AckToSend> {
        let echo_ms = (echo_ms >= self.first_left_ms).then_some(echo_ms);
        if self.window.on_data(now, echo_ms) {
            self.quick |= 1;
        }
        let read = self.next;
        let ack = self.take(now, seq, timestamp);
        // Behind a hole there is nothing to read, so that what fills it brings a round's worth at once.
        if self.next > read {
            self.window.on_read(now, self.next);
        }
        ack
    }

    #[inline]
    fn take(&mut self, now: Nanos, seq: u64, timestamp: Nanos) -> Option<AckToSend> {
        if seq == self.next && self.out_of_order.is_empty() {
            self.next += 1;
            if self.unacknowledged == 0 {
                self.echo = timestamp;
            }
            self.unacknowledged += 1;
            // RFC 5681 §4.2: "an ACK SHOULD be generated for at least every second full-sized segment".
            if self.unacknowledged >= 2 || self.quick > 0 {
                return Some(self.acknowledge(now, false));
            }
            self.deadline = now + DELAYED_ACK;
            return None;
        }
        self.on_irregular(now, seq, timestamp)
    }

    /// The delayed acknowledgement's time has come, if it has.
    pub fn on_timer(&mut self, now: Nanos) -> Option<AckToSend> {
        (now >= self.deadline).then(|| self.acknowledge(now, false))
    }

    /// Around losses every packet is acknowledged at once. RFC 7323 §4.3 (B): an acknowledgement of out-of-order data
    /// echoes the packet that last advanced the cumulative point.
    #[cold]
    fn on_irregular(&mut self, now: Nanos, seq: u64, timestamp: Nanos) -> Option<AckToSend> {
        let mut duplicate = seq < self.next;
        if seq == self.next {
            self.echo = timestamp;
            self.next += 1;
            if let Some((_, end)) = self.out_of_order.find(self.next) {
                self.next = end;
            }
            self.out_of_order.remove_below(self.next);
        } else if seq > self.next {
            let mut new = false;
            self.out_of_order.insert(seq, seq + 1, |_, _| new = true);
            duplicate = !new;
            self.recent.rotate_right(1);
            self.recent[0] = seq;
        }
        self.duplicates += u64::from(duplicate);
        Some(self.acknowledge(now, duplicate))
    }

    fn acknowledge(&mut self, now: Nanos, duplicate: bool) -> AckToSend {
        self.unacknowledged = 0;
        self.quick = self.quick.saturating_sub(1);
        self.deadline = NEVER;
        let mut sacks = SackBlocks::default();
        if !self.out_of_order.is_empty() {
            self.fill_blocks(&mut sacks);
        }
        if duplicate {
            sacks.mark_duplicate();
        }
        let left_ms = (now / MILLISECOND) as u32;
        self.first_left_ms = self.first_left_ms.min(left_ms);
        AckToSend { cumulative: self.next, sacks, echo: self.echo, left_ms, marked: self.marked }
    }

    /// RFC 2018 §4: the first block holds the packet that triggered the acknowledgement, the others repeat recent ones.
    fn fill_blocks(&mut self, sacks: &mut SackBlocks) {
        let mut used = [(0, 0); MAX_SACK_BLOCKS];
        let mut recent = [0; MAX_SACK_BLOCKS];
        let mut len = 0;
        for seq in self.recent {
            if let Some(range) = self.out_of_order.find(seq)
                && !used[..len].contains(&range)
            {
                used[len] = range;
                recent[len] = seq;
                len += 1;
                sacks.push(self.next, range.0, range.1);
            }
        }
        // Two entries in one block leave room for older blocks.
        self.recent = recent;
    }
}

impl Default for Receiver {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warmed_up() -> Receiver {
        let mut receiver = Receiver::new();
        for seq in 0..u64::from(QUICK_ACKS) {
            assert!(receiver.on_data(0, seq, 0, 0).is_some());
        }
        receiver
    }

    #[test]
    fn every_second_packet_is_acknowledged_and_a_single_one_after_40_ms() {
        let mut receiver = warmed_up();
        assert_eq!(receiver.on_data(0, 16, 7, 0), None);
        assert_eq!(receiver.next_timer(), DELAYED_ACK);
        let ack = receiver.on_data(1, 17, 8, 0).expect("the second packet is acknowledged");
        assert_eq!((ack.cumulative, ack.echo), (18, 7));
        assert_eq!(receiver.next_timer(), NEVER);
        assert_eq!(receiver.on_data(2, 18, 9, 0), None);
        assert_eq!(receiver.on_timer(2 + DELAYED_ACK).map(|ack| ack.cumulative), Some(19));
    }

    #[test]
    fn holes_are_reported_with_the_most_recent_block_first() {
        let mut receiver = warmed_up();
        receiver.on_data(0, 18, 0, 0);
        receiver.on_data(0, 20, 0, 0);
        let ack = receiver.on_data(0, 21, 0, 0).expect("out of order packets are acknowledged at once");
        assert_eq!(ack.cumulative, 16);
        assert_eq!(ack.sacks.ranges(16).collect::<Vec<_>>(), [(20, 22), (18, 19)]);
        receiver.on_data(0, 16, 0, 0);
        let ack = receiver.on_data(0, 17, 0, 0).expect("a hole that closes is acknowledged at once");
        assert_eq!(ack.cumulative, 19);
        assert_eq!(ack.sacks.ranges(19).collect::<Vec<_>>(), [(20, 22)]);
    }

    #[test]
    fn the_echo_is_that_of_the_packet_which_last_advanced_the_cumulative_point() {
        // RFC 7323 §4.3: (A) delayed acknowledgements echo the earliest packet, (B) out-of-order data is not echoed,
        // (C) a filled hole is.
        let mut receiver = warmed_up();
        let echo = |receiver: &mut Receiver, seq, timestamp| {
            receiver.on_data(100, seq, timestamp, 0).map(|ack| (ack.cumulative, ack.echo))
        };
        assert_eq!(echo(&mut receiver, 16, 10), None);
        assert_eq!(echo(&mut receiver, 17, 11), Some((18, 10)));
        assert_eq!(echo(&mut receiver, 19, 13), Some((18, 10)));
        assert_eq!(echo(&mut receiver, 20, 14), Some((18, 10)));
        assert_eq!(echo(&mut receiver, 18, 30), Some((21, 30)));
        assert_eq!(echo(&mut receiver, 21, 31), None);
        assert_eq!(echo(&mut receiver, 20, 40), Some((22, 31)));
    }

    #[test]
    fn a_packet_that_comes_twice_is_counted_and_reported() {
        let mut receiver = warmed_up();
        let ack = receiver.on_data(0, 3, 0, 0).expect("a duplicate is acknowledged at once");
        assert!(ack.sacks.is_duplicate());
        assert_eq!(receiver.duplicates(), 1);
        assert_eq!(receiver.delivered(), 16);
    }
}
