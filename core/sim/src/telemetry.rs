//! In-band telemetry headers for schemes that need them (LeoTCP, section III-A).

mod bandwidth;
mod port;

pub use bandwidth::{bandwidth_bps, framed_bps};
pub use port::Port;

use std::collections::VecDeque;

use leo_cc::{Header, Hop, MAX_HOPS};
use leo_link::{Departure, Nanos};
use leo_transport::SackBlocks;

use crate::packet::Head;

/// Initial number of packets per flow.
const SLOTS: usize = 64;
/// Initial number of hops per packet in a network.
pub const HOPS: usize = 16;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    seq: u64,
    /// Distinguishes transmissions of the same packet.
    sent_at: Nanos,
    header: Header,
    /// Bytes queued when it arrived at its current hop.
    queue_found: u32,
    /// Hops already crossed.
    hops: u8,
    arrived: bool,
}

/// Headers of a flow's packets, by sequence number. Those of lost packets are overwritten.
#[derive(Clone, Debug)]
pub struct Headers {
    slots: Box<[Slot]>,
    /// `most_hops` entries per slot.
    hops: Box<[Hop]>,
    most_hops: usize,
    /// Sequence number of the data packet that last reached the receiver.
    latest: u64,
    /// ACKs in flight and the packets that they answer.
    answers: VecDeque<Answer>,
    size: Size,
}

/// Bytes that telemetry adds to packets on the wire.
#[derive(Clone, Copy, Debug, Default)]
pub struct Size {
    /// The sender's header.
    pub header: u16,
    /// A switch's record.
    pub hop: u16,
}

/// An ACK, identified by its content. Only ACKs for packets that arrived before can have equal content.
#[derive(Clone, Copy, Debug)]
struct Answer {
    cumulative: u64,
    echo: Nanos,
    sacks: SackBlocks,
    seq: u64,
}

impl Headers {
    pub fn new(most_hops: usize, size: Size) -> Self {
        Self {
            size,
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

    /// Create the header of packet `seq`, one of `outstanding`, with `queued_bytes` before the first link.
    pub fn begin(&mut self, seq: u64, outstanding: u32, now: Nanos, header: Header, queued_bytes: u64) {
        if outstanding as usize > self.slots.len() {
            self.grow();
        }
        let index = self.index(seq);
        self.slots[index] =
            Slot { seq, sent_at: now, header, queue_found: saturated(queued_bytes), hops: 0, arrived: false };
    }

    /// Return the slot of `packet`, unless another packet or transmission has taken it.
    fn find(&self, packet: &Head) -> Option<usize> {
        let index = self.index(packet.seq);
        let slot = &self.slots[index];
        (slot.seq == packet.seq && slot.sent_at == packet.timestamp).then_some(index)
    }

    /// Bytes that the sender's header adds to a packet.
    pub fn header_bytes(&self) -> u32 {
        u32::from(self.size.header)
    }

    /// Bytes that telemetry has added to `packet` so far; 0 if another packet or transmission has taken its slot.
    pub fn added_bytes(&self, packet: &Head) -> u32 {
        self.find(packet).map_or(0, |index| self.bytes_of(index))
    }

    fn bytes_of(&self, index: usize) -> u32 {
        u32::from(self.size.header) + u32::from(self.slots[index].hops) * u32::from(self.size.hop)
    }

    /// Record that `packet` left `link`, whose switch is `port`. Return the bytes that the switch's record adds to it.
    pub fn leave(
        &mut self,
        packet: &Head,
        port: &mut Port,
        link: u32,
        rate_bps: u64,
        departure: Departure,
    ) -> u16 {
        let Some(index) = self.find(packet) else { return 0 };
        if usize::from(self.slots[index].hops) == self.most_hops {
            if self.most_hops == MAX_HOPS {
                return 0;
            }
            // A network's routes get longer as it moves.
            self.widen((2 * self.most_hops).min(MAX_HOPS));
        }
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
        self.size.hop
    }

    /// Record that `packet` finds `queued_bytes` at its next link; `None` if it has reached the receiver.
    pub fn go_on(&mut self, packet: &Head, queued_bytes: Option<u64>) {
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

    /// Record that `ack` leaves the receiver. It answers the latest packet, even one whose ACK was delayed. Return the bytes
    /// of the telemetry that it echoes.
    pub fn answer(&mut self, ack: &Head, sacks: SackBlocks) -> u32 {
        let answer = Answer { cumulative: ack.seq, echo: ack.timestamp, sacks, seq: self.latest };
        self.answers.push_back(answer);
        self.bytes_of(self.index(self.latest))
    }

    /// Return the hops of the packet that `ack` answers; `None` if its slot was overwritten.
    pub fn acknowledged(&mut self, ack: &Head, sacks: &SackBlocks) -> Option<&[Hop]> {
        let is_it = |answer: &Answer| {
            (answer.cumulative, answer.echo) == (ack.seq, ack.timestamp) && answer.sacks == *sacks
        };
        // Almost always the first. ACKs before it were lost, or arrive later over an older route with old information.
        if !self.answers.front().is_some_and(is_it) {
            let position = self.answers.iter().position(is_it)?;
            self.answers.drain(..position);
        }
        let answer = self.answers.pop_front()?;
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
            size: self.size,
        };
        for (slot, hops) in self.slots.iter().zip(self.hops.chunks(self.most_hops)) {
            let index = larger.index(slot.seq);
            larger.slots[index] = *slot;
            larger.hops[index * self.most_hops..][..self.most_hops].copy_from_slice(hops);
        }
        *self = larger;
    }

    #[cold]
    fn widen(&mut self, most_hops: usize) {
        let mut hops = vec![Hop::default(); self.slots.len() * most_hops];
        for (wider, hops) in hops.chunks_mut(most_hops).zip(self.hops.chunks(self.most_hops)) {
            wider[..self.most_hops].copy_from_slice(hops);
        }
        self.hops = hops.into();
        self.most_hops = most_hops;
    }
}

fn saturated(bytes: u64) -> u32 {
    bytes.min(u64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests;
