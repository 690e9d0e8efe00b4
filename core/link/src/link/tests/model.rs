//! A model of the link that steps through time in microseconds.

use std::collections::VecDeque;

use super::{Part, part_at};
use crate::DropTail;

/// A naive link: each microsecond, some bits leave. Rates are in bits per microsecond.
pub(super) struct Model<'a> {
    parts: &'a [Part],
    offset: u64,
    limit: DropTail,
    /// Outages discard the queue and all packets offered during them.
    discards: bool,
    /// A packet that does not fit pushes out the oldest that wait.
    drops_heads: bool,
    now: u64,
    /// Id, size and bits left to send.
    queue: VecDeque<(usize, u32, u64)>,
    /// Id and arrival time.
    flying: VecDeque<(usize, u64)>,
    last_end: u64,
    result: Outcome,
}

#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) arrivals: Vec<(usize, u64)>,
    pub(super) dropped: u64,
    pub(super) lost: u64,
}

impl<'a> Model<'a> {
    pub(super) fn new(parts: &'a [Part], offset: u64, limit: DropTail) -> Self {
        Self {
            parts,
            offset,
            limit,
            discards: false,
            drops_heads: false,
            now: 0,
            queue: VecDeque::new(),
            flying: VecDeque::new(),
            last_end: 0,
            result: Outcome::default(),
        }
    }

    pub(super) fn discarding(self, discards: bool) -> Self {
        Self { discards, ..self }
    }

    pub(super) fn dropping_heads(self) -> Self {
        Self { drops_heads: true, ..self }
    }

    pub(super) fn run(mut self, offers: &[(u64, u32)]) -> Outcome {
        let mut at = 0;
        for (id, &(gap, bytes)) in offers.iter().enumerate() {
            at += gap;
            while self.now < at {
                self.tick();
            }
            self.discard();
            if self.discards && !part_at(self.parts, self.offset, self.now).3 {
                self.result.lost += 1;
                continue;
            }
            let sending = self.sending();
            if self.drops_heads && self.fits(sending, bytes) {
                while !self.fits(self.queue.len(), bytes) {
                    self.queue.remove(sending);
                    self.result.dropped += 1;
                }
            }
            if self.fits(self.queue.len(), bytes) {
                self.queue.push_back((id, bytes, u64::from(bytes) * 8));
            } else {
                self.result.dropped += 1;
            }
        }
        while !(self.queue.is_empty() && self.flying.is_empty()) {
            self.tick();
        }
        self.result
    }

    /// Return how many packets are on the transmitter: none, or the first.
    fn sending(&self) -> usize {
        let (_, _, bits, connected) = part_at(self.parts, self.offset, self.now);
        let begun =
            |packet: &(usize, u32, u64)| packet.2 < u64::from(packet.1) * 8 || (connected && bits > 0);
        usize::from(self.queue.front().is_some_and(begun))
    }

    /// Return whether a packet fits beside the first `packets` of the queue.
    fn fits(&self, packets: usize, bytes: u32) -> bool {
        let queued: u64 = self.queue.iter().take(packets).map(|packet| u64::from(packet.1)).sum();
        (packets as u64) < self.limit.packets && queued + u64::from(bytes) <= self.limit.bytes
    }

    fn discard(&mut self) {
        if self.discards && !part_at(self.parts, self.offset, self.now).3 {
            self.result.lost += self.queue.len() as u64;
            self.queue.clear();
        }
    }

    /// Advance by a microsecond.
    fn tick(&mut self) {
        let (_, delay, mut bits, connected) = part_at(self.parts, self.offset, self.now);
        self.land();
        self.discard();
        if !connected {
            self.result.lost += self.flying.len() as u64;
            self.flying.clear();
            self.last_end = self.now;
            if self.queue.front().is_some_and(|packet| packet.2 < u64::from(packet.1) * 8) {
                self.queue.pop_front();
                self.result.lost += 1;
            }
            bits = 0;
        }
        self.now += 1;
        while bits > 0 {
            let Some((id, _, remaining_bits)) = self.queue.front_mut() else { break };
            let leaving = bits.min(*remaining_bits);
            bits -= leaving;
            *remaining_bits -= leaving;
            if *remaining_bits == 0 {
                self.last_end = (self.now + delay).max(self.last_end);
                self.flying.push_back((*id, self.last_end));
                self.queue.pop_front();
            }
        }
        self.land();
    }

    fn land(&mut self) {
        while self.flying.front().is_some_and(|packet| packet.1 <= self.now) {
            self.result.arrivals.extend(self.flying.pop_front());
        }
    }
}
