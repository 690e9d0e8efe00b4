//! In-band telemetry for flows whose scheme asks for it: the headers of packets on their way (LeoTCP, section III-A).

mod bandwidth;
mod port;

pub use bandwidth::bandwidth_bps;
pub use port::Port;

use std::collections::VecDeque;

use leo_cc::{Header, Hop};
use leo_link::{Departure, Nanos};
use leo_transport::SackBlocks;

use crate::packet::Packet;

/// Packets that a new flow has room for.
const SLOTS: usize = 64;

/// The header of a packet.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    seq: u64,
    /// Tells transmissions of the same packet apart.
    sent_at: Nanos,
    header: Header,
    /// Bytes that waited when it came to the hop that it is on.
    queue_found: u32,
    /// Hops behind it.
    hops: u8,
    arrived: bool,
}

/// The headers of a flow's packets, by sequence number: those of packets that got lost are overwritten.
#[derive(Clone, Debug)]
pub struct Headers {
    slots: Box<[Slot]>,
    /// As many for each slot as the longest route has.
    hops: Box<[Hop]>,
    most_hops: usize,
    /// The data packet that reached the receiver last.
    latest: u64,
    /// Acknowledgements on their way and the packets that they answer.
    answers: VecDeque<Answer>,
}

/// An acknowledgement, known by what it says: no two say the same unless they answer packets that had come before.
#[derive(Clone, Copy, Debug)]
struct Answer {
    cumulative: u64,
    echo: Nanos,
    sacks: SackBlocks,
    seq: u64,
}

impl Headers {
    pub fn new(most_hops: usize) -> Self {
        Self {
            slots: vec![Slot::default(); SLOTS].into(),
            hops: vec![Hop::default(); SLOTS * most_hops].into(),
            most_hops,
            latest: 0,
            answers: VecDeque::new(),
        }
    }

    const fn index(&self, seq: u64) -> usize {
        seq as usize & (self.slots.len() - 1)
    }

    /// Packet `seq`, one of `outstanding`, leaves the sender and finds `queued_bytes` before the first link.
    pub fn begin(&mut self, seq: u64, outstanding: u32, now: Nanos, header: Header, queued_bytes: u64) {
        if outstanding as usize > self.slots.len() {
            self.grow();
        }
        let index = self.index(seq);
        self.slots[index] =
            Slot { seq, sent_at: now, header, queue_found: saturated(queued_bytes), hops: 0, arrived: false };
    }

    /// The place of `packet`, unless another transmission of it or another packet has taken it.
    fn find(&self, packet: &Packet) -> Option<usize> {
        let index = self.index(packet.seq);
        let slot = &self.slots[index];
        (slot.seq == packet.seq && slot.sent_at == packet.timestamp).then_some(index)
    }

    /// `packet` left `link`, whose switch is `port`.
    pub fn leave(
        &mut self,
        packet: &Packet,
        port: &mut Port,
        link: u32,
        rate_bps: u64,
        departure: Departure,
    ) {
        let Some(index) = self.find(packet) else { return };
        let slot = &mut self.slots[index];
        let (flows, average_rtt) = port.observe(departure.at, packet.flow, slot.header);
        self.hops[index * self.most_hops + usize::from(slot.hops)] = Hop {
            link,
            flows,
            queue_found: slot.queue_found,
            queue_left: saturated(departure.queued_bytes),
            departed_at: departure.at,
            sent_bytes: departure.sent_bytes,
            rate: rate_bps / 8,
            average_rtt,
        };
        slot.hops += 1;
    }

    /// `packet` goes on to a link before which `queued_bytes` wait; `None`: it is there.
    pub fn go_on(&mut self, packet: &Packet, queued_bytes: Option<u64>) {
        if queued_bytes.is_none() {
            self.latest = packet.seq;
        }
        let Some(index) = self.find(packet) else { return };
        let slot = &mut self.slots[index];
        match queued_bytes {
            Some(bytes) => slot.queue_found = saturated(bytes),
            None => slot.arrived = true,
        }
    }

    /// `ack` leaves the receiver: it answers the packet that came last, even if that has waited for a delayed one.
    pub fn answer(&mut self, ack: &Packet) {
        let answer = Answer { cumulative: ack.seq, echo: ack.timestamp, sacks: ack.sacks, seq: self.latest };
        self.answers.push_back(answer);
    }

    /// `ack` reaches the sender: what the packet collected that it answers; `None` once another has taken its place.
    pub fn acknowledged(&mut self, ack: &Packet) -> Option<&[Hop]> {
        let is_it = |answer: &Answer| {
            (answer.cumulative, answer.echo) == (ack.seq, ack.timestamp) && answer.sacks == ack.sacks
        };
        // Those before it got lost, or come later by an older route, with news of that.
        let position = self.answers.iter().position(is_it)?;
        let answer = self.answers.drain(..=position).next_back()?;
        self.collected(answer.seq)
    }

    fn collected(&self, seq: u64) -> Option<&[Hop]> {
        let index = self.index(seq);
        let slot = &self.slots[index];
        let first = index * self.most_hops;
        (slot.arrived && slot.seq == seq).then(|| &self.hops[first..first + usize::from(slot.hops)])
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = Self {
            slots: vec![Slot::default(); self.slots.len() * 2].into(),
            hops: vec![Hop::default(); self.hops.len() * 2].into(),
            most_hops: self.most_hops,
            latest: self.latest,
            answers: std::mem::take(&mut self.answers),
        };
        for (slot, hops) in self.slots.iter().zip(self.hops.chunks(self.most_hops)) {
            let index = larger.index(slot.seq);
            larger.slots[index] = *slot;
            larger.hops[index * self.most_hops..][..self.most_hops].copy_from_slice(hops);
        }
        *self = larger;
    }
}

fn saturated(bytes: u64) -> u32 {
    bytes.min(u64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests;
