//! Links of a network that changes: delays that the caller sets, transmitters that feed several stretches of
//! propagation, and links that vanish.

use crate::jitter::Jitter;
use crate::link::{Link, NONE_DOOMED, Transit};
use crate::loss::Loss;
use crate::packet::Packet;
use crate::queue::{Discipline, DropTail, Tally};
use crate::schedule::Schedule;
use crate::server::Transmission;
use crate::{NEVER, Nanos};

impl<P: Packet> Link<P> {
    /// Prepare the link for [`set_delay`](Self::set_delay).
    #[must_use]
    pub fn with_changing_delay(self) -> Self {
        Self { catches_up_at_polls: true, ..self }
    }

    /// Set the propagation delay of packets that leave the queue from `now` on; earlier packets still arrive first. A drop-tail
    /// queue fixes a packet's delay when the packet is offered.
    ///
    /// # Panics
    /// If the link follows a path trace.
    pub fn set_delay(&mut self, delay: Nanos, now: Nanos) {
        self.catch_up(now);
        let Schedule::Constant(span) = &mut self.schedule else { panic!("a path trace sets the delay") };
        span.delay = delay;
        if let Some(only_delays) = &mut self.only_delays {
            *only_delays = delay;
        }
    }

    /// Create a transmitter with a drop-tail queue, from which packets [`depart`](Self::depart).
    pub fn transmitter(schedule: Schedule, limit: DropTail) -> Self {
        Self { departs: true, ..Self::new(schedule, limit, Loss::new(0.0, 0), Jitter::none()) }
    }

    /// Queue a packet for the transmitter at `now` and return when its last bit leaves; `None` if the queue drops it.
    ///
    /// The caller carries the packet on from there, over the stretch of its choice.
    #[inline]
    pub fn depart(&mut self, packet: P::Compact, now: Nanos) -> Option<Nanos> {
        debug_assert!(self.departs, "packets depart from transmitters");
        self.stats.offered += 1;
        let bytes = P::compact_bytes(&packet);
        if !self.has_room(bytes) {
            self.retire(now);
            if !self.has_room(bytes) {
                self.stats.dropped += 1;
                return None;
            }
        }
        let Transmission::Done(departure) = self.server.transmit(&mut self.schedule, bytes, now) else {
            unreachable!("a constant capacity has no outages")
        };
        if departure > now {
            self.queued_bytes += u64::from(bytes);
            self.transits.push(Transit { end: departure, departure, packet });
        } else {
            self.count_departure(bytes);
        }
        Some(departure)
    }

    /// Count the packets that have departed by `now` from a transmitter, and forget them.
    pub(super) fn retire(&mut self, now: Nanos) {
        if !self.departs {
            return;
        }
        self.note_departures(now);
        while self.transits.first() < self.departed {
            let Some((transit, _)) = self.transits.pop() else { return };
            let bytes = P::compact_bytes(&transit.packet);
            self.count_departure(bytes);
        }
    }

    fn count_departure(&mut self, bytes: u32) {
        self.stats.delivered += 1;
        self.stats.delivered_bytes += u64::from(bytes);
    }

    /// Lose all packets that wait or travel at `now`, and leave the link idle.
    pub fn lose_all(&mut self, now: Nanos) {
        self.catch_up(now);
        let mut waiting = 0;
        if let Some(egress) = &mut self.egress {
            waiting = egress.discipline.packets();
            while egress.discipline.packets() > 0 {
                egress.discipline.dequeue(now, &mut Tally::default());
            }
            egress.next_dequeue = NEVER;
        }
        self.stats.lost += waiting;
        while self.transits.pop().is_some() {
            self.stats.lost += 1;
        }
        self.departed = self.transits.end();
        self.first_end = NEVER;
        self.extras.clear();
        self.doomed.clear();
        self.next_doomed = NONE_DOOMED;
        self.queued_bytes = 0;
        if let Some(observer) = &mut self.observer {
            observer.forget();
        }
        self.server.reset();
        // Nothing is left that a later packet could overtake.
        (self.last_end, self.last_arrival) = (0, 0);
    }
}
