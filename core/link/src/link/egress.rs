//! Dequeueing from a managed queue when the transmitter is free; the link catches up on the next call.

use crate::link::{Link, Offer, Packet};
use crate::queue::{Discipline, Managed, Tally, Waiting};
use crate::{NEVER, Nanos};

/// A discipline and the time of its next dequeue.
#[derive(Clone, Debug)]
pub struct Egress<P> {
    pub discipline: Managed<P>,
    /// `NEVER` while no packet waits, or if the link has no capacity left.
    pub next_dequeue: Nanos,
}

impl<P> Egress<P> {
    pub const fn new(discipline: Managed<P>) -> Self {
        Self { discipline, next_dequeue: NEVER }
    }
}

impl<P: Packet> Link<P> {
    /// Offer a packet to the discipline.
    #[inline(never)]
    pub(super) fn enqueue(&mut self, packet: P, now: Nanos) -> Offer {
        self.catch_up(now);
        if matches!(&self.egress, Some(egress) if matches!(egress.discipline, Managed::HeadDrop(_))) {
            self.note_departures(now);
        }
        let Some(egress) = &mut self.egress else { return Offer::Dropped };
        if let Managed::HeadDrop(queue) = &mut egress.discipline {
            queue.beside(self.transits.end() - self.departed, self.queued_bytes);
        }
        let bytes = packet.bytes();
        let before = egress.discipline.packets();
        let mut tally = Tally::default();
        egress.discipline.enqueue(Waiting { packet, bytes, since: now }, now, &mut tally);
        let accepted = egress.discipline.packets() > before;
        self.count(tally);
        if before == 0 {
            self.plan(now);
            self.catch_up(now);
        }
        if accepted { Offer::Accepted } else { Offer::Dropped }
    }

    /// Dequeue everything that is due by `now`, in time order.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Nanos) {
        if self.egress.as_ref().is_some_and(|egress| egress.next_dequeue <= now) {
            self.dequeue_until(now);
        }
        self.observe_departures(now);
    }

    #[inline(never)]
    fn dequeue_until(&mut self, now: Nanos) {
        loop {
            let Some(egress) = &mut self.egress else { return };
            let at = egress.next_dequeue;
            if at > now || at == NEVER {
                return;
            }
            self.observe_departures(at);
            let Some(egress) = &mut self.egress else { return };
            let mut tally = Tally::default();
            let next = egress.discipline.dequeue(at, &mut tally);
            self.count(tally);
            if let Some(waiting) = next {
                self.transmit(waiting.packet, waiting.bytes, at);
            }
            self.plan(at);
        }
    }

    /// Set the time of the next dequeue, `now` at the earliest.
    fn plan(&mut self, now: Nanos) {
        let Some(egress) = &mut self.egress else { return };
        egress.next_dequeue = if egress.discipline.packets() == 0 {
            NEVER
        } else {
            let ready = egress.discipline.ready_at(now);
            self.server.free_from(&mut self.schedule, ready)
        };
    }

    const fn count(&mut self, tally: Tally) {
        self.stats.dropped += tally.dropped;
        self.stats.marked += tally.marked;
    }
}
