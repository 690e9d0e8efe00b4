//! The receiver: in-order delivery, selective and delayed ACKs (RFC 5681 §4.2, RFC 2018).

use crate::accurate_ecn::{AccurateFeedback, Counters, Echo};
use crate::ranges::RangeSet;
use crate::receive_window::ReceiveWindow;
use crate::recent_blocks::RecentBlocks;
use crate::sack::{MAX_SACK_BLOCKS, SackBlocks};
use crate::{NEVER, Nanos, timestamp_ms};

const MILLISECOND: Nanos = 1_000_000;
/// Linux's TCP_ATO_MIN.
const DELAYED_ACK: Nanos = 40 * MILLISECOND;
/// Linux acknowledges the first packets of a connection one by one to speed up slow start.
const QUICK_ACKS: u32 = 16;
/// Behind a hole this many packets get an ACK each (TCP_FASTRETRANS_THRESH); further ACKs are compressed.
const SINGLY: u32 = 3;
/// Most packets in a compressed ACK (net.ipv4.tcp_comp_sack_nr).
const MAX_COMPRESSED: u32 = 44;
/// A compressed ACK waits for RTT / 20, at most this long (net.ipv4.tcp_comp_sack_delay_ns), plus the timer
/// slack (net.ipv4.tcp_comp_sack_slack_ns), which an idle host uses up.
const COMPRESSION: Nanos = MILLISECOND;
const COMPRESSION_SLACK: Nanos = MILLISECOND / 10;
/// Blocks that a later ACK surely repeats (TCP_SACK_BLOCKS_EXPECTED). Other blocks flush a waiting ACK first.
const SAFE_BLOCKS: usize = 2;

/// An ACK that must go out now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckToSend {
    /// Next packet expected in order.
    pub cumulative: u64,
    /// Blocks that arrived beyond it.
    pub sacks: SackBlocks,
    /// Timestamp to echo (RFC 7323 §4.3).
    pub echo: Nanos,
    /// Departure time in ms: the ACK's own timestamp.
    pub left_ms: u32,
    /// ECE (RFC 3168): a mark has arrived and the sender has not answered it.
    pub marked: bool,
}

/// A receiver whose application reads at once. In the order of use, as the sender.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Receiver {
    next: u64,
    echo: Nanos,
    /// When the delayed or compressed ACK is due.
    deadline: Nanos,
    unacknowledged: u32,
    quick: u32,
    first_left_ms: u32,
    /// The next packet carries PSH.
    pushed: bool,
    /// The next ACK reports a duplicate.
    duplicate: bool,
    /// ACKs carry ECE.
    marked: bool,
    /// Packets behind the hole that wait for a compressed ACK.
    compressed: u32,
    window: ReceiveWindow,
    out_of_order: RangeSet,
    recent: RecentBlocks,
    accurate_ecn: Option<Box<Echo>>,
    /// The first packet of the hole behind which packets arrive, and how many of them got an ACK each.
    hole: u64,
    singly: u32,
    duplicates: u64,
}

impl Receiver {
    /// Create a receiver whose buffer never limits the sender.
    pub fn new() -> Self {
        Self::with_window(ReceiveWindow::unlimited())
    }

    /// Create a receiver with this window.
    pub fn with_window(window: ReceiveWindow) -> Self {
        Self {
            next: 0,
            out_of_order: RangeSet::default(),
            recent: RecentBlocks::default(),
            unacknowledged: 0,
            quick: QUICK_ACKS,
            echo: 0,
            deadline: NEVER,
            hole: u64::MAX,
            singly: 0,
            compressed: 0,
            pushed: false,
            duplicates: 0,
            duplicate: false,
            window,
            first_left_ms: u32::MAX,
            marked: false,
            accurate_ecn: None,
        }
    }

    /// Feed marks back by [`Receiver::feedback`] instead of ECE.
    pub fn use_accurate_ecn(&mut self) {
        self.accurate_ecn = Some(Box::default());
    }

    /// Note that the SYN-ACK leaves at `now`.
    pub fn open(&mut self, now: Nanos) {
        self.first_left_ms = self.first_left_ms.min(timestamp_ms(now) as u32);
    }

    /// Packets delivered to the application, in order.
    pub const fn delivered(&self) -> u64 {
        self.next
    }

    /// Packets that arrived more than once.
    pub const fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Packets below this one may be sent.
    pub const fn edge(&self) -> u64 {
        self.window.edge(self.next)
    }

    /// When to call [`Receiver::on_timer`] next.
    pub const fn next_timer(&self) -> Nanos {
        self.deadline
    }

    /// Take the ECN bits of the packet that [`Receiver::on_data`] gets next. `answered`: the sender has
    /// reduced its window (CWR). `marked`: a queue marked the packet (CE). Linux acknowledges both at once.
    /// RFC 3168 §6.1.3: the receiver sets ECE "until it receives a CWR packet".
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

    /// Note that the packet that [`Receiver::on_data`] gets next carries PSH. Linux's tcp_cleanup_rbuf
    /// acknowledges it as soon as it is read (since 6.6 and the stable kernels of 2023, also one of full size).
    pub const fn on_push(&mut self) {
        self.pushed = true;
    }

    /// Count the ECN bits and payload bytes of the packet that [`Receiver::on_data`] gets next.
    pub fn on_ecn_bits(&mut self, ecn_bits: u8, payload_bytes: u32) {
        let echo = self.accurate_ecn.as_mut();
        if echo.is_some_and(|echo| echo.on_packet(ecn_bits, payload_bytes)) {
            self.quick = self.quick.max(1);
        }
    }

    /// Return what `ack`, which leaves now, feeds back; `None` without accurate ECN.
    pub fn feedback(&mut self, ack: &SackBlocks) -> Option<AccurateFeedback> {
        self.accurate_ecn.as_mut().map(|echo| echo.feedback(ack.on_the_wire()))
    }

    /// The counters of accurate ECN, if in use.
    pub fn ecn_counters(&self) -> Option<&Counters> {
        self.accurate_ecn.as_deref().map(Echo::counters)
    }

    /// Take packet `seq`, sent at `timestamp`, at `now`; return the ACK if one is due. `echo_ms`: when the
    /// ACK left whose timestamp the packet echoes, ignored if no ACK had left.
    #[inline(always)]
    pub fn on_data(&mut self, now: Nanos, seq: u64, timestamp: Nanos, echo_ms: u32) -> Option<AckToSend> {
        let echo_ms = (echo_ms >= self.first_left_ms).then_some(echo_ms);
        if self.window.on_data(now, echo_ms) {
            self.quick |= 1;
        }
        let read = self.next;
        let ack = self.take(now, seq, timestamp);
        // Only in-order data is read. The packet that fills a hole is read first and may end a round (Linux's
        // tcp_recvmsg checks after each buffer); those behind it count for the next round.
        if self.next > read {
            self.window.on_read(now, read + 1);
        }
        ack
    }

    #[inline(always)]
    fn take(&mut self, now: Nanos, seq: u64, timestamp: Nanos) -> Option<AckToSend> {
        let pushed = std::mem::take(&mut self.pushed);
        if seq == self.next && self.out_of_order.is_empty() {
            self.next += 1;
            if self.unacknowledged == 0 {
                self.echo = timestamp;
            }
            self.unacknowledged += 1;
            // RFC 5681 §4.2: "an ACK SHOULD be generated for at least every second full-sized segment".
            if self.unacknowledged >= 2 || self.quick > 0 || pushed {
                return Some(self.acknowledge(now));
            }
            self.deadline = now + DELAYED_ACK;
            return None;
        }
        self.on_irregular(now, seq, timestamp)
    }

    /// Return the waiting ACK if it is due.
    pub fn on_timer(&mut self, now: Nanos) -> Option<AckToSend> {
        (now >= self.deadline).then(|| self.acknowledge(now))
    }

    #[cold]
    fn on_irregular(&mut self, now: Nanos, seq: u64, timestamp: Nanos) -> Option<AckToSend> {
        if seq > self.next {
            return self.on_behind_hole(now, seq);
        }
        if seq == self.next {
            // RFC 7323 §4.3 (B): ACKs of out-of-order data echo the packet that last advanced `next`.
            self.echo = timestamp;
            self.next += 1;
            if let Some((_, end)) = self.out_of_order.find(self.next) {
                self.next = end;
            }
            self.out_of_order.remove_below(self.next);
            self.recent.remove_below(self.next);
        } else {
            // Linux's tcp_data_queue: tcp_enter_quickack_mode.
            self.quick = self.quick.max(QUICK_ACKS);
            self.mark_duplicate();
        }
        Some(self.acknowledge(now))
    }

    /// After three duplicate ACKs, compress the ACKs of packets behind the hole (__tcp_ack_snd_check).
    fn on_behind_hole(&mut self, now: Nanos, seq: u64) -> Option<AckToSend> {
        // Linux's tcp_sack_new_ofo_skb: send the waiting ACK before it loses a block.
        let unsafe_block = self.recent.position(seq) >= SAFE_BLOCKS;
        let flushed = (self.compressed > 0 && unsafe_block).then(|| self.acknowledge(now));
        let mut new = false;
        self.recent.touch(self.out_of_order.insert(seq, seq + 1, |_, _| new = true));
        if !new {
            self.mark_duplicate();
        }
        if self.hole != self.next {
            (self.hole, self.singly) = (self.next, 0);
        }
        if flushed.is_none() {
            let at_once = self.quick > 0 || self.compressed >= MAX_COMPRESSED;
            if at_once || self.singly < SINGLY {
                self.singly += u32::from(!at_once);
                return Some(self.acknowledge(now));
            }
        }
        self.compressed += 1;
        if self.compressed == 1 {
            self.deadline = now + COMPRESSION.min(self.window.rtt() / 20) + COMPRESSION_SLACK;
        }
        flushed
    }

    fn mark_duplicate(&mut self) {
        self.duplicates += 1;
        self.duplicate = true;
    }

    #[inline(always)]
    fn acknowledge(&mut self, now: Nanos) -> AckToSend {
        self.unacknowledged = 0;
        self.compressed = 0;
        self.quick = self.quick.saturating_sub(1);
        self.deadline = NEVER;
        let mut sacks = SackBlocks::default();
        if self.out_of_order.is_empty() {
            self.recent.clear();
        } else {
            for (start, end) in self.recent.ranges().take(MAX_SACK_BLOCKS) {
                sacks.push(self.next, start, end);
            }
        }
        if self.duplicate {
            self.duplicate = false;
            sacks.mark_duplicate();
        }
        let left_ms = timestamp_ms(now) as u32;
        self.first_left_ms = self.first_left_ms.min(left_ms);
        AckToSend { cumulative: self.next, sacks, echo: self.echo, left_ms, marked: self.marked }
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
    fn a_packet_with_psh_is_acknowledged_at_once_unless_it_is_behind_a_hole() {
        let mut receiver = warmed_up();
        receiver.on_push();
        assert_eq!(receiver.on_data(0, 16, 0, 0).map(|ack| ack.cumulative), Some(17));
        assert_eq!(receiver.on_data(1, 17, 0, 0), None, "it is said of one packet");
        receiver.window.set_rtt(40 * MILLISECOND);
        for seq in 19..22 {
            receiver.on_data(2, seq, 0, 0);
        }
        receiver.on_push();
        assert_eq!(receiver.on_data(3, 22, 0, 0), None, "nothing is read");
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

    /// Send packets behind the hole at 16, one every 0.3 ms. Returns the packet count and time of each ACK.
    fn behind_the_hole(receiver: &mut Receiver, packets: impl Iterator<Item = u64>) -> Vec<(usize, Nanos)> {
        let mut sent = Vec::new();
        for (count, (at, seq)) in (0..).step_by(300_000).zip(packets).enumerate() {
            let due = receiver.next_timer();
            if receiver.on_timer(at).is_some() {
                sent.push((count, due));
            }
            if receiver.on_data(at, seq, 0, 0).is_some() {
                sent.push((count + 1, at));
            }
        }
        sent
    }

    #[test]
    fn behind_a_hole_three_packets_are_acknowledged_singly_and_then_those_of_a_millisecond_together() {
        // __tcp_ack_snd_check, Linux 5.8 and later: at 0.9 ms the fourth packet starts the timer of 1.1 ms.
        let mut receiver = warmed_up();
        receiver.window.set_rtt(40 * MILLISECOND);
        let sent = behind_the_hole(&mut receiver, 17..28);
        assert_eq!(sent, [(1, 0), (2, 300_000), (3, 600_000), (7, 2_000_000)]);
        assert_eq!(receiver.next_timer(), 2_100_000 + COMPRESSION + COMPRESSION_SLACK);
        let filled =
            receiver.on_data(3_100_000, 16, 0, 0).expect("a hole that closes is acknowledged at once");
        assert_eq!((filled.cumulative, receiver.next_timer()), (28, NEVER));
    }

    #[test]
    fn an_acknowledgement_that_waits_goes_out_before_a_third_block() {
        let mut receiver = warmed_up();
        receiver.window.set_rtt(40 * MILLISECOND);
        assert_eq!(behind_the_hole(&mut receiver, [17, 18, 19, 21].into_iter()).len(), 3);
        let ack = receiver.on_data(1_200_000, 23, 0, 0).expect("a third block");
        assert_eq!(ack.sacks.ranges(16).collect::<Vec<_>>(), [(21, 22), (17, 20)], "the state before it");
        assert_eq!(receiver.next_timer(), 1_200_000 + COMPRESSION + COMPRESSION_SLACK);
        let ack = receiver.on_timer(receiver.next_timer()).expect("the third block waits, too");
        assert_eq!(ack.sacks.ranges(16).collect::<Vec<_>>(), [(23, 24), (21, 22), (17, 20)]);
    }

    #[test]
    fn after_a_packet_from_before_the_hole_sixteen_are_acknowledged_singly() {
        let mut receiver = warmed_up();
        receiver.window.set_rtt(40 * MILLISECOND);
        receiver.on_data(0, 3, 0, 0);
        let sent = behind_the_hole(&mut receiver, 17..47);
        assert_eq!(sent[17], (18, 17 * 300_000), "fifteen are left of sixteen, and three more");
        assert!(sent[18].0 > 19);
    }

    #[test]
    fn the_echo_is_that_of_the_packet_which_last_advanced_the_cumulative_point() {
        // RFC 7323 §4.3: echo the earliest packet (A), no out-of-order data (B), but a hole's filler (C).
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
