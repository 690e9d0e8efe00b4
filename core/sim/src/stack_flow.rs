//! A flow whose ends are those of a [`Stack`]: its datagrams as packets on the simulator's links.

use std::collections::VecDeque;

use leo_link::{Codepoint, NEVER, Nanos};
use leo_transport::{Datagram, End, SEGMENT_BYTES, Stack, StackStats};

use crate::ecn::Ecn;
use crate::packet::Head;

/// IPv4 and UDP.
const HEADERS_BYTES: usize = 28;
/// How much later than a packet sent after it a packet may arrive. Only a change of the route lets one overtake another.
const MOST_DISORDER: Nanos = 60_000_000_000;

/// A packet to send.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    pub number: u64,
    /// Its size as an IP packet.
    pub bytes: u32,
    pub ecn: Ecn,
}

/// The datagrams under way in one direction, by number. Links carry only their numbers and sizes.
#[derive(Debug, Default)]
struct Lane {
    first: u64,
    datagrams: VecDeque<(Nanos, Option<Datagram>)>,
}

impl Lane {
    fn send(&mut self, now: Nanos, datagram: Datagram) -> Outgoing {
        let number = self.first + self.datagrams.len() as u64;
        let bytes = (datagram.payload.len() + HEADERS_BYTES) as u32;
        let ecn = Ecn::of_data(Codepoint::of(datagram.ecn), false);
        self.datagrams.push_back((now, Some(datagram)));
        Outgoing { number, bytes, ecn }
    }

    /// Return the datagram of a packet that arrives, with the codepoint that it arrives with.
    fn arrive(&mut self, packet: &Head) -> Option<Datagram> {
        let place = packet.seq.checked_sub(self.first)? as usize;
        let (sent_at, datagram) = self.datagrams.get_mut(place)?;
        let (sent_at, mut datagram) = (*sent_at, datagram.take()?);
        datagram.ecn = packet.ecn.codepoint() as u8;
        // Lost datagrams are forgotten when nothing so old can arrive.
        let is_past = |(at, datagram): &(Nanos, Option<Datagram>)| {
            datagram.is_none() || at.saturating_add(MOST_DISORDER) < sent_at
        };
        while self.datagrams.front().is_some_and(is_past) {
            self.datagrams.pop_front();
            self.first += 1;
        }
        Some(datagram)
    }
}

/// Both ends, and the datagrams between them.
#[derive(Debug)]
pub struct StackFlow {
    stack: Box<dyn Stack>,
    pub transfer_bytes: Option<u64>,
    /// When the receiver opens the connection, until it does.
    opens: Nanos,
    to_receiver: Lane,
    to_sender: Lane,
    /// When packets that have arrived at the receiver left, and their propagation.
    propagations: VecDeque<(Nanos, Nanos)>,
}

impl Clone for StackFlow {
    /// # Panics
    /// Always: see [`Simulation::copies`](crate::Simulation::copies).
    fn clone(&self) -> Self {
        unreachable!("the ends of other transports cannot be copied")
    }
}

impl StackFlow {
    pub fn new(stack: Box<dyn Stack>, transfer_bytes: Option<u64>) -> Self {
        Self {
            stack,
            transfer_bytes,
            opens: NEVER,
            to_receiver: Lane::default(),
            to_sender: Lane::default(),
            propagations: VecDeque::new(),
        }
    }

    /// Let the receiver open the connection at `now`, in an event of the flow.
    pub const fn start(&mut self, now: Nanos) {
        self.opens = now;
    }

    pub fn next_event(&self) -> Nanos {
        self.opens.min(self.stack.wakes())
    }

    /// Let the ends do what is due; packets follow.
    pub fn run(&mut self, now: Nanos) {
        if now >= self.opens {
            self.opens = NEVER;
            self.stack.start(now);
        }
        self.stack.wake(now);
    }

    /// Return the next packet of the sender. Call until `None`.
    pub fn send(&mut self, now: Nanos) -> Option<Outgoing> {
        let datagram = self.stack.transmit(End::Sender, now)?;
        Some(self.to_receiver.send(now, datagram))
    }

    /// Return the next packet of the receiver. Call until `None`.
    pub fn answer(&mut self, now: Nanos) -> Option<Outgoing> {
        let datagram = self.stack.transmit(End::Receiver, now)?;
        Some(self.to_sender.send(now, datagram))
    }

    /// Process a packet that arrives at the receiver.
    pub fn on_data(&mut self, now: Nanos, packet: &Head) {
        let Some(datagram) = self.to_receiver.arrive(packet) else { return };
        self.propagations.push_back((packet.timestamp, packet.propagation));
        self.stack.on_datagram(End::Receiver, now, &datagram);
    }

    /// Process a packet that arrives at the sender. Return the RTT sample that it gives, if any, and the propagation of both
    /// packets.
    pub fn on_answer(&mut self, now: Nanos, packet: &Head) -> Option<(Nanos, Nanos)> {
        let datagram = self.to_sender.arrive(packet)?;
        self.stack.on_datagram(End::Sender, now, &datagram);
        let rtt = self.stack.take_rtt()?;
        let sent_at = now - rtt;
        while self.propagations.front().is_some_and(|(at, _)| *at < sent_at) {
            self.propagations.pop_front();
        }
        // Of packets that left together, the sample's may be any.
        let together = self.propagations.iter().take_while(|(at, _)| *at == sent_at);
        let there = together.map(|(_, propagation)| *propagation).min()?;
        Some((rtt, there + packet.propagation))
    }

    pub fn is_complete(&self) -> bool {
        self.stack.is_complete()
    }

    /// Return how the connection was lost.
    pub fn lost(&self) -> Option<String> {
        let (at, end, reason) = self.stack.lost()?;
        let end = match end {
            End::Sender => "sender",
            End::Receiver => "receiver",
        };
        Some(format!("its {end} lost the connection at {:.3} s: {reason}", at as f64 / 1e9))
    }

    pub fn stats(&self) -> StackStats {
        self.stack.stats()
    }

    /// Return the congestion window and the bytes in flight, in packets of the size that the path carries.
    pub fn window_and_flight(&self) -> (u32, u32) {
        let stats = self.stack.stats();
        let payload = stats.payload_bytes.max(1);
        ((stats.window_bytes / payload) as u32, stats.in_flight_bytes.div_ceil(payload) as u32)
    }

    /// Return the bytes of so many packets as IP packets, at their mean size.
    pub fn wire_bytes(&self, packets: u64) -> u64 {
        let stats = self.stack.stats();
        (packets * stats.sent_bytes).checked_div(stats.sent_packets).unwrap_or(0)
    }

    /// Return the packets sent, those that the delivered bytes would fill with TCP, and the delivered bytes.
    pub fn totals(&self) -> [u64; 3] {
        let stats = self.stack.stats();
        [stats.sent_packets, stats.delivered_bytes / u64::from(SEGMENT_BYTES), stats.delivered_bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Kind;

    fn arrival(number: u64) -> Head {
        Head { seq: number, ..Head::new(Kind::Data, 1_500, 0, 0) }
    }

    #[test]
    fn datagrams_come_out_once_by_their_number_and_lost_ones_are_forgotten_a_minute_later() {
        let mut lane = Lane::default();
        for now in 0..4 {
            let datagram = Datagram { payload: vec![now as u8], ecn: 2 };
            assert_eq!(lane.send(now, datagram).number, now);
        }
        assert_eq!(lane.arrive(&arrival(2)).map(|datagram| datagram.payload), Some(vec![2]));
        assert!(lane.arrive(&arrival(2)).is_none());
        assert_eq!(lane.arrive(&arrival(0)).map(|datagram| datagram.payload), Some(vec![0]));
        assert_eq!(lane.datagrams.len(), 3, "number 1 may still arrive");
        let late = lane.send(2 + MOST_DISORDER, Datagram { payload: vec![9], ecn: 0 });
        assert_eq!((late.number, late.bytes), (4, 29));
        assert!(lane.arrive(&arrival(4)).is_some());
        assert!(lane.arrive(&arrival(1)).is_none(), "forgotten");
        assert_eq!(lane.datagrams.len(), 2, "number 3 may still arrive");
    }

    #[test]
    fn a_mark_on_the_way_is_what_the_datagram_arrives_with() {
        let mut lane = Lane::default();
        let sent = lane.send(0, Datagram { payload: vec![0], ecn: Codepoint::Ect0 as u8 });
        let mut ecn = sent.ecn;
        ecn.mark();
        let datagram = lane.arrive(&Head { ecn, ..arrival(sent.number) });
        assert_eq!(datagram.map(|datagram| datagram.ecn), Some(Codepoint::Ce as u8));
    }
}
