//! Dequeueing from a managed queue when the transmitter is free; the link catches up on the next call.

use crate::link::{Link, Offer};
use crate::packet::Packet;
use crate::queue::{Discipline, Managed, Tally, Waiting, dispatch};
use crate::{NEVER, Nanos};

/// A discipline and the time of its next dequeue.
#[derive(Clone, Debug)]
pub struct Egress<Q> {
    pub discipline: Managed<Q>,
    /// `NEVER` while no packet waits, or if the link has no capacity left.
    pub next_dequeue: Nanos,
}

impl<Q> Egress<Q> {
    pub const fn new(discipline: Managed<Q>) -> Self {
        Self { discipline, next_dequeue: NEVER }
    }
}

impl<P: Packet> Link<P> {
    /// Offer packets to the discipline, at `now`. Return whether it has accepted all.
    #[inline]
    pub(super) fn enqueue(&mut self, packets: impl Iterator<Item = P::Queued>, now: Nanos) -> Offer {
        // Out of the link, so that the loop may use both.
        let Some(mut egress) = self.egress.take() else { return Offer::Dropped };
        let Egress { discipline, next_dequeue } = &mut *egress;
        let offer = dispatch!(discipline, queue => self.enqueue_in(queue, next_dequeue, packets, now));
        self.egress = Some(egress);
        offer
    }

    #[inline]
    fn enqueue_in(
        &mut self,
        queue: &mut impl Discipline<P::Queued>,
        next_dequeue: &mut Nanos,
        packets: impl Iterator<Item = P::Queued>,
        now: Nanos,
    ) -> Offer {
        let mut tally = Tally::default();
        let mut offer = Offer::Accepted;
        for packet in packets {
            self.dequeue_until(now, queue, next_dequeue);
            self.observe_departures(now, queue.bytes());
            if queue.counts_sending() {
                self.note_departures(now);
                queue.beside(self.undeparted(), self.queued_bytes);
            }
            let before = queue.packets();
            queue.enqueue(Waiting { packet, since: now }, now, &mut tally);
            if queue.packets() <= before {
                offer = Offer::Dropped;
            }
            if before == 0 {
                *next_dequeue = self.plan(now, queue);
            }
        }
        self.count(tally);
        self.dequeue_until(now, queue, next_dequeue);
        offer
    }

    /// Dequeue everything that is due by `now`, in time order.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Nanos) {
        if self.egress.as_ref().is_some_and(|egress| egress.next_dequeue <= now) {
            self.catch_up_egress(now);
        }
        if self.observer.is_some() {
            self.observe_departures(now, self.waiting_bytes());
        }
    }

    #[inline(never)]
    fn catch_up_egress(&mut self, now: Nanos) {
        let Some(mut egress) = self.egress.take() else { return };
        let Egress { discipline, next_dequeue } = &mut *egress;
        dispatch!(discipline, queue => self.dequeue_until(now, queue, next_dequeue));
        self.egress = Some(egress);
    }

    #[inline(always)]
    fn dequeue_until(
        &mut self,
        now: Nanos,
        queue: &mut impl Discipline<P::Queued>,
        next_dequeue: &mut Nanos,
    ) {
        if *next_dequeue <= now {
            *next_dequeue = self.dequeue_due(now, queue, *next_dequeue);
        }
    }

    /// Dequeue what is due from `at` to `now`. Return when the next packet is due.
    #[inline(never)]
    fn dequeue_due(&mut self, now: Nanos, queue: &mut impl Discipline<P::Queued>, mut at: Nanos) -> Nanos {
        let mut tally = Tally::default();
        while at <= now && at != NEVER {
            self.observe_departures(at, queue.bytes());
            if let Some(waiting) = queue.dequeue(at, &mut tally) {
                let bytes = waiting.bytes();
                let packet = P::pack_queued(waiting.packet, &mut self.extras);
                self.transmit(packet, bytes, at);
            }
            at = self.plan(at, queue);
        }
        self.count(tally);
        at
    }

    /// Return the time of the next dequeue, `now` at the earliest.
    #[inline]
    fn plan(&mut self, now: Nanos, queue: &impl Discipline<P::Queued>) -> Nanos {
        if queue.packets() == 0 {
            NEVER
        } else {
            self.server.free_from(&mut self.schedule, queue.ready_at(now))
        }
    }

    const fn count(&mut self, tally: Tally) {
        self.stats.dropped += tally.dropped;
        self.stats.marked += tally.marked;
    }
}
