//! Bursts: equal packets that reach a drop-tail queue together share all but their times.

use std::collections::VecDeque;

use crate::Nanos;
use crate::link::{Link, Transit};
use crate::packet::Packet;
use crate::server::Pace;

impl<P: Packet> Link<P> {
    /// Offer `count` packets, at least one, one after another at `now`: `first` and those that `number` makes of it by their places. They
    /// have one size and no extra part.
    #[inline]
    pub fn offer_burst(
        &mut self,
        count: u32,
        first: P::Compact,
        now: Nanos,
        number: impl Fn(&mut P::Compact, u32),
    ) {
        debug_assert!(count > 0);
        let mut packet = first;
        if let Some(pace) = self.accepts_burst(count, P::compact_bytes(&packet), now) {
            P::travels(&mut packet, pace.delay);
            self.accept_burst(count, &pace, packet, number);
            return;
        }
        let packets = (0..count).map(|place| {
            let mut packet = first;
            number(&mut packet, place);
            P::unpack(packet, &mut VecDeque::new())
        });
        if self.egress.is_some() {
            self.stats.offered += u64::from(count);
            self.enqueue(packets.map(P::queue), now);
            return;
        }
        for packet in packets {
            self.offer(packet, now);
        }
    }

    /// Return how a burst leaves, if the queue has room for all of it, neither capacity nor delay change, and nothing is lost.
    #[inline]
    fn accepts_burst(&mut self, count: u32, bytes: u32, now: Nanos) -> Option<Pace> {
        let has_room = |link: &Self| {
            link.undeparted() + u64::from(count) <= link.limit.packets
                && link.queued_bytes + u64::from(count) * u64::from(bytes) <= link.limit.bytes
        };
        if !self.is_plain {
            return None;
        }
        if !has_room(self) {
            self.note_departures(now);
            if !has_room(self) {
                return None;
            }
        }
        let pace = self.server.pace(&mut self.schedule, count, bytes, now)?;
        // The last packet arrives by then, held up by those before it or not.
        let last = (pace.latest + pace.delay).max(self.last_arrival);
        (last <= self.schedule.undisturbed_until()).then_some(pace)
    }

    #[inline(always)]
    fn accept_burst(
        &mut self,
        count: u32,
        pace: &Pace,
        packet: P::Compact,
        number: impl Fn(&mut P::Compact, u32),
    ) {
        let mut departures = pace.departures();
        // A path that gets shorter must not let a packet overtake the one before.
        let held_up = pace.departures().advance() <= self.last_end;
        let mut end = if held_up { self.last_arrival } else { 0 };
        let was_empty = self.transits.is_empty();
        self.transits.extend(count, Transit { end, departure: 0, packet }, |place| {
            let departure = departures.advance();
            end = end.max(departure + pace.delay);
            let mut packet = packet;
            number(&mut packet, place);
            Transit { end, departure, packet }
        });
        self.server.follow(&departures);
        (self.last_end, self.last_arrival) = (end, end);
        self.stats.offered += u64::from(count);
        self.queued_bytes += u64::from(count) * u64::from(P::compact_bytes(&packet));
        if was_empty {
            self.note_first();
        }
    }
}
