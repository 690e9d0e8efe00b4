//! Packets on simulated links.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

use leo_link::{Codepoint, Nanos};
use leo_transport::{EcnOption, SackBlocks, timestamp_ms};

use crate::ecn::Ecn;

/// The kind of a packet. Odd values travel from receiver to sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Data = 0,
    Ack = 1,
    Syn = 2,
    SynAck = 3,
    /// A client's request to its server.
    Request = 5,
    /// A call's report of arrivals.
    Report = 7,
}

impl Kind {
    pub const fn goes_back(self) -> bool {
        self as u8 & 1 == 1
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub head: Head,
    pub sacks: SackBlocks,
    /// An ACK's counters of accurate ECN.
    pub ecn_option: EcnOption,
}

/// The TCP options that only some ACKs have.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    sacks: SackBlocks,
    ecn: EcnOption,
}

/// What makes a packet special. Almost all that arrive are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Special(u8);

impl Special {
    const OTHER_KIND: u8 = 1;
    const OPTIONS: u8 = 2;
    const GOES_ON: u8 = 4;

    /// Return whether it is data or an ACK without options, on the last link of its path.
    #[inline(always)]
    pub const fn is_nothing(self) -> bool {
        self.0 == 0
    }

    /// Return whether a link stores its options separately.
    pub const fn has_options(self) -> bool {
        self.0 & Self::OPTIONS != 0
    }

    const fn with_options(self, has_options: bool) -> Self {
        Self(self.0 & !Self::OPTIONS | if has_options { Self::OPTIONS } else { 0 })
    }

    /// Note whether more links follow the one that the packet is on.
    #[inline(always)]
    #[must_use]
    pub const fn going_on(self, goes_on: bool) -> Self {
        Self(self.0 & !Self::GOES_ON | if goes_on { Self::GOES_ON } else { 0 })
    }
}

/// The part of a packet that a link always stores in flight. It is copied in one piece.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    pub flow: u32,
    pub bytes: u16,
    /// Path number; `hop` counts the links already crossed.
    pub path: u32,
    pub hop: u8,
    pub kind: Kind,
    pub ecn: Ecn,
    pub special: Special,
    /// Low bits of the time (ms) at which an ACK left the receiver; data echoes it.
    pub sent_ms_low: u16,
    /// Sequence number of data, or cumulative ACK number.
    pub seq: u64,
    /// Send time of the data; the ACK echoes it.
    pub timestamp: Nanos,
    /// Propagation delay so far, both ways: the RTT without queueing.
    pub propagation: Nanos,
}

impl Head {
    #[inline]
    pub fn new(kind: Kind, bytes: u32, flow: usize, path: u32) -> Self {
        Self {
            flow: flow as u32,
            bytes: bytes as u16,
            path,
            hop: 0,
            kind,
            ecn: Ecn::default(),
            special: Special(if matches!(kind, Kind::Data | Kind::Ack) { 0 } else { Special::OTHER_KIND }),
            sent_ms_low: 0,
            seq: 0,
            timestamp: 0,
            propagation: 0,
        }
    }

    /// Return the time (ms) at which it left, assuming less than a minute ago.
    #[inline(always)]
    pub const fn left_ms(&self, now: Nanos) -> u32 {
        let now_ms = timestamp_ms(now);
        (now_ms as u32).wrapping_sub((now_ms as u16).wrapping_sub(self.sent_ms_low) as u32)
    }
}

/// The fields of a packet that its receiver or sender reads.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub flow: usize,
    pub seq: u64,
    pub timestamp: Nanos,
    pub propagation: Nanos,
    /// [`Head::left_ms`].
    pub left_ms: u32,
    pub pushes: bool,
}

impl Arrival {
    /// Read the packet `head`, which arrives at `now`.
    #[inline(always)]
    pub const fn of(head: &Head, now: Nanos) -> Self {
        Self {
            flow: head.flow as usize,
            seq: head.seq,
            timestamp: head.timestamp,
            propagation: head.propagation,
            left_ms: head.left_ms(now),
            pushes: head.ecn.pushes(),
        }
    }
}

impl Packet {
    /// Return the options that a link stores separately.
    #[inline]
    fn options(&self) -> Option<Options> {
        let has_sacks = !self.sacks.is_empty() || self.sacks.is_duplicate();
        let has_options = has_sacks || !self.ecn_option.is_absent();
        has_options.then_some(Options { sacks: self.sacks, ecn: self.ecn_option })
    }
}

impl Deref for Packet {
    type Target = Head;

    fn deref(&self) -> &Head {
        &self.head
    }
}

impl DerefMut for Packet {
    fn deref_mut(&mut self) -> &mut Head {
        &mut self.head
    }
}

impl From<Head> for Packet {
    #[inline]
    fn from(head: Head) -> Self {
        Self { head, sacks: SackBlocks::default(), ecn_option: EcnOption::default() }
    }
}

/// A packet in a managed queue, half as large as a [`Packet`].
#[derive(Clone, Debug)]
pub struct Queued {
    head: Head,
    /// Almost no packet that waits in a managed queue has options, so that they may allocate.
    options: Option<Box<Options>>,
}

impl leo_link::Queued for Queued {
    #[inline]
    fn bytes(&self) -> u32 {
        u32::from(self.head.bytes)
    }

    #[inline]
    fn flow(&self) -> u32 {
        self.head.flow
    }

    fn codepoint(&self) -> Codepoint {
        self.head.ecn.codepoint()
    }

    fn mark_congestion(&mut self) -> bool {
        self.head.ecn.mark()
    }
}

impl leo_link::Packet for Packet {
    type Compact = Head;
    type Extra = Options;
    type Queued = Queued;

    #[inline]
    fn pack(self, extras: &mut VecDeque<Options>) -> Head {
        let options = self.options();
        if let Some(options) = options {
            extras.push_back(options);
        }
        Head { special: self.head.special.with_options(options.is_some()), ..self.head }
    }

    #[inline]
    fn unpack(head: Head, extras: &mut VecDeque<Options>) -> Self {
        let options = if head.special.has_options() {
            extras.pop_front().unwrap_or_default()
        } else {
            Options::default()
        };
        Self { head, sacks: options.sacks, ecn_option: options.ecn }
    }

    #[inline]
    fn queue(self) -> Queued {
        Queued { head: self.head, options: self.options().map(Box::new) }
    }

    #[inline]
    fn pack_queued(queued: Queued, extras: &mut VecDeque<Options>) -> Head {
        let special = queued.head.special.with_options(queued.options.is_some());
        if let Some(options) = queued.options {
            extras.push_back(*options);
        }
        Head { special, ..queued.head }
    }

    #[inline]
    fn compact_bytes(head: &Head) -> u32 {
        u32::from(head.bytes)
    }

    #[inline]
    fn bytes(&self) -> u32 {
        u32::from(self.head.bytes)
    }

    #[inline(always)]
    fn travels(head: &mut Head, propagation: Nanos) {
        head.propagation += propagation;
    }
}

#[cfg(test)]
mod tests {
    use leo_link::Packet as _;

    use super::*;

    fn ack() -> Packet {
        let head = Head::new(Kind::Ack, 52, 7, 1);
        Head { hop: 2, sent_ms_low: 65_535, seq: 1 << 40, timestamp: 5, propagation: 9, ..head }.into()
    }

    #[test]
    fn an_acknowledgement_says_when_it_left_however_often_its_counter_has_gone_round() {
        let mut extras = VecDeque::new();
        for left_ms in [0_u32, 65_535, 65_536, 200_000] {
            let packet = Packet::from(Head { sent_ms_low: left_ms as u16, ..ack().head });
            let came = Packet::unpack(packet.pack(&mut extras), &mut extras);
            assert_eq!(came.left_ms(Nanos::from(left_ms) * 1_000_000 + 600_000_000), left_ms);
        }
    }

    #[test]
    fn what_a_packet_reports_selectively_comes_out_with_it() {
        let plain = ack();
        let (mut duplicate, mut blocks) = (SackBlocks::default(), SackBlocks::default());
        duplicate.mark_duplicate();
        for start in [30, 20, 10] {
            blocks.push(0, start, start + 5);
        }
        let sent = [SackBlocks::default(), duplicate, SackBlocks::default(), blocks]
            .map(|sacks| Packet { sacks, ..plain });
        let mut extras = VecDeque::new();
        let under_way = sent.map(|packet| packet.pack(&mut extras));
        assert_eq!(extras.len(), 2, "only what is not empty takes room");
        let came = under_way.map(|head| Packet::unpack(head, &mut extras));
        assert_eq!(came.map(|packet| packet.sacks), sent.map(|packet| packet.sacks));
        assert!(came.iter().all(|packet| packet.seq == plain.seq));
    }

    #[test]
    fn the_counters_of_accurate_ecn_come_out_with_their_packet() {
        let option = EcnOption::new(&[0, 7, 0, 9], true, 2);
        let mut extras = VecDeque::new();
        let under_way =
            [ack(), Packet { ecn_option: option, ..ack() }].map(|packet| packet.pack(&mut extras));
        let came = under_way.map(|head| Packet::unpack(head, &mut extras).ecn_option);
        assert_eq!(came, [EcnOption::default(), option]);
    }

    #[test]
    fn a_packet_under_way_takes_40_bytes() {
        assert_eq!(size_of::<Head>(), 40);
    }
}
