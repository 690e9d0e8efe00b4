//! The link: a queue, a transmitter and a stretch of propagation that varies in time but never reorders.

mod burst;
mod changing;
mod egress;
mod halves;
mod observer;
mod reading;

use std::collections::VecDeque;

use crate::disruption::{Disruption, DisruptionKind};
use crate::jitter::Jitter;
use crate::loss::Loss;
use crate::packet::Packet;
use crate::queue::{DropTail, Gateway, Managed};
use crate::ring::Ring;
use crate::schedule::{Schedule, Span};
use crate::server::{Server, Transmission};
use crate::{NEVER, Nanos};
use egress::Egress;
pub use observer::Departure;
use observer::Observer;

/// The outcome of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// The packet is queued.
    Accepted,
    /// The queue dropped a packet: this one or one that waited.
    Dropped,
}

/// A link's counters. At every instant offered = delivered + dropped + lost + queued + in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Packets offered to the link.
    pub offered: u64,
    /// Packets that came out.
    pub delivered: u64,
    /// Packets that the queue dropped.
    pub dropped: u64,
    /// Packets that the queue marked instead of dropping them (RFC 3168).
    pub marked: u64,
    /// Packets lost at random, to an outage or to a soft handover.
    pub lost: u64,
    /// Bytes that came out.
    pub delivered_bytes: u64,
}

const NONE_DOOMED: u64 = u64::MAX;

/// A packet whose fate is known.
#[derive(Clone, Copy, Debug)]
struct Transit<C> {
    /// When it comes out or is lost.
    end: Nanos,
    /// When it leaves the transmitter, or an outage discards it.
    departure: Nanos,
    packet: C,
}

/// A one-way link. It has no clock: each call passes the time, which must not decrease.
///
/// With a drop-tail queue, a packet's fate is known on acceptance because capacity, delay and outages are
/// functions of time. So a packet costs one event: its arrival. Other disciplines decide when the transmitter
/// becomes free. The link catches up with them on the next call, so a packet costs one event as well.
#[derive(Clone, Debug)]
pub struct Link<P: Packet> {
    schedule: Schedule,
    server: Server,
    limit: DropTail,
    gateway: Option<Box<Gateway>>,
    /// A discipline other than drop-tail, with its packets.
    egress: Option<Box<Egress<P::Queued>>>,
    /// Records departures, if enabled.
    observer: Option<Box<Observer>>,
    /// True with an egress or an observer.
    looks_after_departures: bool,
    /// True with an egress and an observer or a delay that the caller sets. Other links with an egress dequeue what is due in
    /// one go, when the next packet comes or the last of `transits` has gone.
    catches_up_at_polls: bool,
    /// True for a transmitter that packets [`depart`](Self::depart) from.
    departs: bool,
    /// True for a drop-tail queue without gateway, bucket, random loss, jitter and observer.
    is_plain: bool,
    /// The delay of a link that only delays: no queueing, no loss, no outages. `None` for any other link.
    only_delays: Option<Nanos>,
    loss: Loss,
    jitter: Jitter,
    /// Packets whose fate is known and that are not delivered or lost yet, in order.
    transits: Ring<Transit<P::Compact>>,
    /// When the first of them ends; `NEVER` without one.
    first_end: Nanos,
    extras: VecDeque<P::Extra>,
    /// The numbers of those in `transits` that will be lost.
    doomed: VecDeque<u64>,
    /// The first of them, or [`NONE_DOOMED`].
    next_doomed: u64,
    /// The number of the first in `transits` that is not yet noted as departed, and the bytes of these.
    departed: u64,
    queued_bytes: u64,
    last_end: Nanos,
    /// When the last packet would have arrived without an outage; packets behind it arrive no sooner.
    last_arrival: Nanos,
    stats: LinkStats,
}

impl<P: Packet> Link<P> {
    /// Create a link that is empty at time zero.
    ///
    /// # Panics
    /// If the schedule never carries a packet (`Schedule::ever_carries`).
    pub fn new(schedule: Schedule, limit: DropTail, loss: Loss, jitter: Jitter) -> Self {
        assert!(schedule.ever_carries(), "a link needs capacity at some time");
        let only_delays = schedule.only_delay().filter(|_| limit == DropTail::INFINITE && !loss.happens());
        Self {
            is_plain: only_delays.is_none() && !loss.happens() && !jitter.happens(),
            only_delays,
            schedule,
            server: Server::default(),
            limit,
            gateway: None,
            egress: None,
            observer: None,
            looks_after_departures: false,
            catches_up_at_polls: false,
            departs: false,
            loss,
            jitter,
            transits: Ring::new(),
            first_end: NEVER,
            extras: VecDeque::new(),
            doomed: VecDeque::new(),
            next_doomed: NONE_DOOMED,
            departed: 0,
            queued_bytes: 0,
            last_end: 0,
            last_arrival: 0,
            stats: LinkStats::default(),
        }
    }

    /// Add a gateway that drops packets at random before the drop-tail queue, depending on the queue's fill.
    #[must_use]
    pub fn behind_gateway(mut self, gateway: Gateway) -> Self {
        self.gateway = Some(Box::new(gateway));
        self.is_plain = false;
        self.only_delays = None;
        self
    }

    /// Add a shaper whose token bucket holds `bytes`.
    ///
    /// # Panics
    /// If the capacity varies.
    #[must_use]
    pub fn with_bucket(mut self, bytes: u32) -> Self {
        let Schedule::Constant(span) = &self.schedule else { panic!("a token bucket needs a constant rate") };
        let saved = u128::from(bytes) * 8_000_000_000 / u128::from(span.rate_bps.max(1));
        self.server = Server::with_bucket(Nanos::try_from(saved).unwrap_or(NEVER));
        self.is_plain = false;
        self
    }

    /// Make outages discard the queue and all packets offered during them; by default, these packets wait.
    ///
    /// # Panics
    /// If called after [`managed_by`](Self::managed_by).
    #[must_use]
    pub fn discarding_in_outages(mut self) -> Self {
        assert!(self.egress.is_none(), "call discarding_in_outages before managed_by");
        self.server = self.server.discarding();
        self
    }

    /// Replace the drop-tail queue with `discipline`; the drop-tail limit then only states the buffer size.
    #[must_use]
    pub fn managed_by(mut self, discipline: Managed<P::Queued>) -> Self {
        self.egress = Some(Box::new(Egress::new(discipline)));
        self.looks_after_departures = true;
        self.catches_up_at_polls |= self.observer.is_some();
        self.is_plain = false;
        self.only_delays = None;
        self
    }

    /// Offer a packet to the link at `now`.
    // Inlining costs the callers more registers than it saves.
    #[inline(never)]
    pub fn offer(&mut self, packet: P, now: Nanos) -> Offer {
        self.stats.offered += 1;
        if let Some(delay) = self.only_delays {
            let packet = packet.pack(&mut self.extras);
            self.delay(packet, delay, now);
            return Offer::Accepted;
        }
        if self.looks_after_departures {
            return self.offer_looking_after(packet, now);
        }
        self.append(packet, now)
    }

    /// Offer a packet without an extra part to a link that [only delays](Self::only_delays).
    #[inline(always)]
    pub fn offer_delayed(&mut self, packet: P::Compact, now: Nanos) {
        self.stats.offered += 1;
        let delay = self.only_delays.unwrap_or_default();
        self.delay(packet, delay, now);
    }

    /// Return whether the link only delays: no queueing, no loss, no outages.
    pub const fn only_delays(&self) -> bool {
        self.only_delays.is_some()
    }

    /// Return whether the link only delays, by the same positive time for every packet.
    pub fn delays_steadily(&self) -> bool {
        self.only_delays.is_some_and(|delay| delay > 0) && !self.jitter.happens()
    }

    /// Return whether packets of one flow can overtake each other because their codepoints differ.
    pub fn parts_codepoints(&self) -> bool {
        self.egress.as_ref().is_some_and(|egress| egress.discipline.parts_codepoints())
    }

    /// Return when `packet` leaves a link that [only delays](Self::only_delays), which does not count it.
    #[inline]
    pub fn cross(&mut self, packet: &mut P::Compact, now: Nanos) -> Nanos {
        let delay = self.only_delays.unwrap_or_default();
        self.arrival(packet, delay, now)
    }

    /// [`append`](Self::append) for a link that only delays: the packet departs at once.
    #[inline(always)]
    fn delay(&mut self, mut packet: P::Compact, delay: Nanos, now: Nanos) {
        let end = self.arrival(&mut packet, delay, now);
        self.departed += 1;
        self.append_transit(Transit { end, departure: now, packet });
    }

    #[inline(always)]
    fn append_transit(&mut self, transit: Transit<P::Compact>) {
        if self.transits.is_empty() {
            self.first_end = transit.end;
        }
        self.transits.push(transit);
    }

    /// Return when a packet that departs at `now` arrives if nothing drops it.
    #[inline(always)]
    fn arrival(&mut self, packet: &mut P::Compact, delay: Nanos, now: Nanos) -> Nanos {
        let mut arrival = now + delay + self.jitter.draw();
        // Jitter must not let this packet overtake the one before.
        if now <= self.last_end {
            arrival = arrival.max(self.last_arrival);
        }
        (self.last_arrival, self.last_end) = (arrival, arrival);
        P::travels(packet, delay);
        arrival
    }

    #[inline(never)]
    fn offer_looking_after(&mut self, packet: P, now: Nanos) -> Offer {
        if self.egress.is_some() {
            return self.enqueue(std::iter::once(packet.queue()), now);
        }
        self.observe_departures(now, 0);
        self.append(packet, now)
    }

    /// [`offer`](Self::offer) a packet without an extra part.
    #[inline(never)]
    pub fn offer_compact(&mut self, packet: P::Compact, now: Nanos) -> Offer {
        if self.egress.is_some() {
            return self.offer(P::unpack(packet, &mut VecDeque::new()), now);
        }
        self.stats.offered += 1;
        if let Some(delay) = self.only_delays {
            self.delay(packet, delay, now);
            return Offer::Accepted;
        }
        self.observe_departures(now, 0);
        let size = P::compact_bytes(&packet);
        if self.drops(size, now) {
            return Offer::Dropped;
        }
        self.transmit(packet, size, now);
        Offer::Accepted
    }

    /// Offer a packet to the drop-tail queue.
    #[inline(always)]
    fn append(&mut self, packet: P, now: Nanos) -> Offer {
        let size = packet.bytes();
        if self.drops(size, now) {
            return Offer::Dropped;
        }
        let packet = packet.pack(&mut self.extras);
        self.transmit(packet, size, now);
        Offer::Accepted
    }

    /// Drop a packet of `size` bytes if the drop-tail queue has no room for it or the gateway refuses it.
    #[inline(always)]
    fn drops(&mut self, size: u32, now: Nanos) -> bool {
        // Departures are noted lazily, in batches: a packet that fits beside departed ones fits without them.
        if self.gateway.is_some() || !self.has_room(size) {
            self.note_departures(now);
            let refused = self.gateway.as_mut().is_some_and(|gateway| gateway.refuses(self.queued_bytes));
            if refused || !self.has_room(size) {
                self.stats.dropped += 1;
                return true;
            }
        }
        false
    }

    /// Return whether a packet of `size` bytes fits in the queue, given the departures noted so far.
    fn has_room(&self, size: u32) -> bool {
        self.limit.admits(self.undeparted(), self.queued_bytes, size)
    }

    /// The number of packets not yet noted as departed.
    const fn undeparted(&self) -> u64 {
        self.transits.end() - self.departed
    }

    /// Transmit a packet after all before it, at `now` at the earliest.
    #[inline(always)]
    fn transmit(&mut self, mut packet: P::Compact, size: u32, now: Nanos) {
        let transmission = self.server.transmit(&mut self.schedule, size, now);
        let (departure, end, arrives) = match transmission {
            Transmission::CutOff(at) | Transmission::Discarded(at) => (at, at, false),
            Transmission::Done(departure) if departure == NEVER => (NEVER, NEVER, false),
            Transmission::Done(departure) => self.propagate(&mut packet, departure),
        };
        self.last_end = end;
        let number = self.transits.end();
        // A packet that departs at once needs no later note, unless an observer records departures.
        if departure > now || self.departed < number || self.observer.is_some() {
            self.queued_bytes += u64::from(size);
        } else {
            self.departed += 1;
        }
        if !arrives {
            self.doomed.push_back(number);
            self.next_doomed = self.next_doomed.min(number);
            if let (Some(observer), Transmission::Discarded(_)) = (&mut self.observer, transmission) {
                observer.discarded.push_back(number);
            }
        }
        self.append_transit(Transit { end, departure, packet });
    }

    /// Return when a packet next comes out, is lost or leaves a managed queue; `NEVER` if the link is empty.
    #[inline]
    pub fn next_event(&self) -> Nanos {
        match &self.egress {
            Some(egress) if self.transits.is_empty() => egress.next_dequeue,
            _ => self.first_end,
        }
    }

    #[inline]
    fn note_first(&mut self) {
        self.first_end = self.transits.front().map_or(NEVER, |transit| transit.end);
    }

    /// Return the next packet that has arrived by `now`. Call it until it returns `None`.
    #[inline]
    pub fn poll(&mut self, now: Nanos) -> Option<P> {
        let compact = *self.poll_compact(now)?;
        Some(self.unpack(compact))
    }

    /// Reassemble the packet that [`poll_compact`](Self::poll_compact) has returned.
    #[inline]
    pub fn unpack(&mut self, compact: P::Compact) -> P {
        P::unpack(compact, &mut self.extras)
    }

    /// Like [`poll`](Self::poll), but return the packet in parts. Call [`unpack`](Self::unpack) before the next poll if it has
    /// an extra part.
    #[inline(always)]
    pub fn poll_compact(&mut self, now: Nanos) -> Option<&P::Compact> {
        loop {
            if self.looks_after_departures && (self.catches_up_at_polls || self.transits.is_empty()) {
                self.catch_up(now);
            }
            if self.first_end > now {
                return None;
            }
            let number = self.transits.first();
            if self.departed == number {
                self.observe_departures(now, self.waiting_bytes());
                self.note_departures(now);
            }
            if self.looks_after_departures {
                self.observe_end();
            }
            if number == self.next_doomed {
                self.lose_first()?;
                continue;
            }
            return self.deliver_first();
        }
    }

    #[inline(always)]
    fn deliver_first(&mut self) -> Option<&P::Compact> {
        self.stats.delivered += 1;
        let (Transit { packet, .. }, next) = self.transits.pop()?;
        self.first_end = next.map_or(NEVER, |transit| transit.end);
        self.stats.delivered_bytes += u64::from(P::compact_bytes(packet));
        Some(packet)
    }

    /// Lose the first packet.
    #[cold]
    fn lose_first(&mut self) -> Option<()> {
        let (&Transit { packet, .. }, next) = self.transits.pop()?;
        self.first_end = next.map_or(NEVER, |transit| transit.end);
        self.doomed.pop_front();
        self.next_doomed = self.doomed.front().copied().unwrap_or(NONE_DOOMED);
        self.stats.lost += 1;
        self.unpack(packet);
        Some(())
    }

    /// Propagate a packet unless a disruption drops it. Return its departure, end, and whether it arrives.
    #[inline(always)]
    fn propagate(&mut self, packet: &mut P::Compact, departure: Nanos) -> (Nanos, Nanos, bool) {
        // A packet whose last bit leaves as a span ends still travels on that span's path.
        let Span { delay, loss, .. } = *self.schedule.seek(departure.saturating_sub(1));
        // A path that gets shorter must not let this packet overtake the one before.
        let mut arrival = departure + delay + self.jitter.draw();
        if departure <= self.last_end {
            arrival = arrival.max(self.last_arrival);
        }
        let disruption = self.schedule.disruption(departure, arrival);
        // A packet lost to a cut holds up no later one; an outage also takes those held up behind it.
        if !matches!(disruption, Some((_, Disruption { kind: DisruptionKind::Cut { .. }, .. }))) {
            self.last_arrival = arrival;
        }
        P::travels(packet, delay);
        if let Some((at, _)) = disruption {
            (departure, at.max(self.last_end), false)
        } else if self.loss.hits(loss) {
            (departure, arrival, false)
        } else {
            (departure, arrival, true)
        }
    }

    #[inline]
    fn note_departures(&mut self, now: Nanos) {
        let (mut departed, mut queued_bytes) = (self.departed, self.queued_bytes);
        while let Some(transit) = self.transits.get(departed).filter(|transit| transit.departure <= now) {
            queued_bytes -= u64::from(P::compact_bytes(&transit.packet));
            departed += 1;
        }
        (self.departed, self.queued_bytes) = (departed, queued_bytes);
    }
}

#[cfg(test)]
mod tests;
