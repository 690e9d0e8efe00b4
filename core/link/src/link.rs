//! The link: a queue, a transmitter and a stretch of propagation that varies in time but never reorders.

mod egress;
mod observer;

use std::collections::VecDeque;

use crate::disruption::{Disruption, DisruptionKind};
use crate::jitter::Jitter;
use crate::loss::Loss;
use crate::queue::{Discipline, DropTail, Gateway, Managed};
use crate::schedule::{Schedule, Span};
use crate::server::{Server, Transmission};
use crate::{NEVER, Nanos};
use egress::Egress;
pub use observer::Departure;
use observer::Observer;

/// What a link carries.
pub trait Packet: Sized {
    /// What of it a link keeps in any case while it is under way.
    type Compact;
    /// What only some have: apart, since long fat links hold many packets and time goes into the memory they take.
    type Extra;
    /// Take it apart; what it has beyond the compact part goes to the back of `extras`.
    fn pack(self, extras: &mut VecDeque<Self::Extra>) -> Self::Compact;
    /// Put it together again; what it has beyond the compact part is at the front of `extras`, for links are FIFO.
    fn unpack(compact: Self::Compact, extras: &mut VecDeque<Self::Extra>) -> Self;
    /// Size on the wire in bytes.
    fn bytes(&self) -> u32;
    /// Told, once a link, how long the packet propagates on it.
    fn travels(&mut self, propagation: Nanos);
    /// Which flow it belongs to, for disciplines that tell flows apart.
    fn flow(&self) -> u32 {
        0
    }
    /// Mark it as having met congestion (RFC 3168); false if its flow does not understand marks.
    fn mark_congestion(&mut self) -> bool {
        false
    }
}

/// What became of an offered packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It is queued.
    Accepted,
    /// The queue was full.
    Dropped,
}

/// Counters in packets. At every instant offered = delivered + dropped + lost + queued + in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Packets given to the link.
    pub offered: u64,
    /// Packets that came out.
    pub delivered: u64,
    /// Packets that the queue dropped.
    pub dropped: u64,
    /// Packets that the queue marked instead (RFC 3168).
    pub marked: u64,
    /// Packets lost on the way: by chance or by an outage.
    pub lost: u64,
    /// Bytes that came out.
    pub delivered_bytes: u64,
}

/// A packet whose end is known.
#[derive(Clone, Debug)]
struct Transit<C> {
    /// When it comes out, or is lost.
    end: Nanos,
    packet: C,
}

/// A packet that is yet to leave the transmitter.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    at: Nanos,
    bytes: u32,
    /// False: an outage discards it.
    sent: bool,
}

/// A one-way link. It has no clock: time comes with each call and must not go back.
///
/// With a drop-tail queue everything that will happen to a packet is known when it is accepted, because capacity,
/// delay and outages are functions of time. So a packet costs one event, its arrival. Other
/// disciplines decide when the transmitter is free; what they did meanwhile is caught up with when somebody looks, so that
/// there too a packet in a busy link costs one event.
#[derive(Clone, Debug)]
pub struct Link<P: Packet> {
    schedule: Schedule,
    server: Server,
    limit: DropTail,
    gateway: Option<Box<Gateway>>,
    /// A discipline beyond drop-tail, with what waits in it.
    egress: Option<Box<Egress<P>>>,
    /// Keeps how packets leave, if somebody asks.
    observer: Option<Box<Observer>>,
    /// There is an egress or an observer.
    looks_after_departures: bool,
    /// The delay of a link that does nothing but delay: no packet waits there, or meets a loss or an outage.
    only_delays: Option<Nanos>,
    loss: Loss,
    jitter: Jitter,
    /// All packets whose fate is known and that are not delivered or lost yet, in order.
    transits: VecDeque<Transit<P::Compact>>,
    extras: VecDeque<P::Extra>,
    /// Which of them will be lost, counted from the first there ever was.
    doomed: VecDeque<u64>,
    /// How many there were before the first of `transits`.
    ended: u64,
    /// Those of `transits` that are not known to have left the transmitter: behind them only some that left as they came.
    leaving: VecDeque<Leaving>,
    queued_bytes: u64,
    last_end: Nanos,
    /// When the last packet would have arrived if no outage had taken it: nothing in flight behind it comes sooner.
    last_arrival: Nanos,
    stats: LinkStats,
}

impl<P: Packet> Link<P> {
    /// A link that is empty at time zero.
    ///
    /// # Panics
    /// When the schedule never carries a packet (`Schedule::ever_carries`).
    #[must_use]
    pub fn new(schedule: Schedule, limit: DropTail, loss: Loss, jitter: Jitter) -> Self {
        assert!(schedule.ever_carries(), "a link needs capacity at some time");
        let only_delays = schedule.only_delay().filter(|_| limit == DropTail::INFINITE && !loss.happens());
        Self {
            only_delays,
            schedule,
            server: Server::default(),
            limit,
            gateway: None,
            egress: None,
            observer: None,
            looks_after_departures: false,
            loss,
            jitter,
            transits: VecDeque::new(),
            extras: VecDeque::new(),
            doomed: VecDeque::new(),
            ended: 0,
            leaving: VecDeque::new(),
            queued_bytes: 0,
            last_end: 0,
            last_arrival: 0,
            stats: LinkStats::default(),
        }
    }

    /// The same behind a gateway that drops at random while its buffer, the limit, is more than half full.
    #[must_use]
    pub fn behind_gateway(mut self, gateway: Gateway) -> Self {
        self.gateway = Some(Box::new(gateway));
        self.only_delays = None;
        self
    }

    /// The same behind a shaper whose token bucket holds `bytes`.
    ///
    /// # Panics
    /// When its capacity varies.
    #[must_use]
    pub fn with_bucket(mut self, bytes: u32) -> Self {
        let Schedule::Constant(span) = &self.schedule else { panic!("a token bucket needs a constant rate") };
        let saved = u128::from(bytes) * 8_000_000_000 / u128::from(span.rate_bps.max(1));
        self.server = Server::with_bucket(Nanos::try_from(saved).unwrap_or(NEVER));
        self
    }

    /// The same whose outages discard the queue, too, and whatever comes while they last; without, what is queued waits for
    /// their end.
    ///
    /// # Panics
    /// When it is managed already.
    #[must_use]
    pub fn discarding_in_outages(mut self) -> Self {
        assert!(self.egress.is_none(), "how outages are comes before the discipline");
        self.server = self.server.discarding();
        self
    }

    /// The same with `discipline` in place of the drop-tail queue, whose limit only says how large the buffer is.
    #[must_use]
    pub fn managed_by(mut self, discipline: Managed<P>) -> Self {
        self.egress = Some(Box::new(Egress::new(discipline)));
        self.looks_after_departures = true;
        self.only_delays = None;
        self
    }

    /// Give the link a packet at `now`.
    // Inlined into its callers it costs them more registers than it saves.
    #[inline(never)]
    pub fn offer(&mut self, packet: P, now: Nanos) -> Offer {
        self.stats.offered += 1;
        if let Some(delay) = self.only_delays {
            self.delay(packet, delay, now);
            return Offer::Accepted;
        }
        if self.looks_after_departures {
            return self.offer_looking_after(packet, now);
        }
        self.append(packet, now)
    }

    /// Whether the link does nothing but delay: no packet waits there, or meets a loss or an outage.
    #[must_use]
    pub const fn only_delays(&self) -> bool {
        self.only_delays.is_some()
    }

    /// Whether it does so by more than nothing, and each packet by as much.
    #[must_use]
    pub fn delays_steadily(&self) -> bool {
        self.only_delays.is_some_and(|delay| delay > 0) && !self.jitter.happens()
    }

    /// Take `packet` to the far end of a link that [only delays](Self::only_delays), without keeping it. Returns when it
    /// comes out. The link's counters tell nothing of it.
    #[inline]
    pub fn cross(&mut self, packet: &mut P, now: Nanos) -> Nanos {
        let delay = self.only_delays.unwrap_or_default();
        self.arrival(packet, delay, now)
    }

    /// What [`append`](Self::append) comes to where nothing waits: what is offered departs at once and arrives.
    #[inline]
    fn delay(&mut self, mut packet: P, delay: Nanos, now: Nanos) {
        let end = self.arrival(&mut packet, delay, now);
        self.transits.push_back(Transit { end, packet: packet.pack(&mut self.extras) });
    }

    /// When what departs at `now` arrives, if nothing takes it.
    #[inline]
    fn arrival(&mut self, packet: &mut P, delay: Nanos, now: Nanos) -> Nanos {
        let mut arrival = now + delay + self.jitter.draw();
        // Jitter must not let this packet overtake the one before.
        if now <= self.last_end {
            arrival = arrival.max(self.last_arrival);
        }
        (self.last_arrival, self.last_end) = (arrival, arrival);
        packet.travels(delay);
        arrival
    }

    #[inline(never)]
    fn offer_looking_after(&mut self, packet: P, now: Nanos) -> Offer {
        if self.egress.is_some() {
            return self.enqueue(packet, now);
        }
        self.observe_departures(now);
        self.append(packet, now)
    }

    /// A packet comes to the drop-tail queue.
    #[inline]
    fn append(&mut self, packet: P, now: Nanos) -> Offer {
        let size = packet.bytes();
        // What left meanwhile is noted when it matters, many at a time: a packet that fits beside it fits without it.
        if self.gateway.is_some() || !self.has_room(size) {
            self.note_departures(now);
            let refused = self.gateway.as_mut().is_some_and(|gateway| gateway.refuses(self.queued_bytes));
            if refused || !self.has_room(size) {
                self.stats.dropped += 1;
                return Offer::Dropped;
            }
        }
        self.transmit(packet, size, now);
        Offer::Accepted
    }

    /// Whether one more packet of `size` bytes fits beside what was in the queue when departures were noted last.
    #[inline]
    fn has_room(&self, size: u32) -> bool {
        self.limit.admits(self.leaving.len() as u64, self.queued_bytes, size)
    }

    /// Onto the wire, after everything before it, `now` at the earliest.
    #[inline]
    fn transmit(&mut self, mut packet: P, size: u32, now: Nanos) {
        let transmission = self.server.transmit(&mut self.schedule, size, now);
        let sent = !matches!(transmission, Transmission::Discarded(_));
        let (departure, end, arrives) = match transmission {
            Transmission::CutOff(at) | Transmission::Discarded(at) => (at, at, false),
            Transmission::Done(departure) if departure == NEVER => (NEVER, NEVER, false),
            Transmission::Done(departure) => self.propagate(&mut packet, departure),
        };
        self.last_end = end;
        // What leaves as it comes waits for nobody to note it, unless somebody asks how it left.
        if departure > now || self.observer.is_some() {
            self.queued_bytes += u64::from(size);
            self.leaving.push_back(Leaving { at: departure, bytes: size, sent });
        }
        if !arrives {
            self.doomed.push_back(self.ended + self.transits.len() as u64);
        }
        self.transits.push_back(Transit { end, packet: packet.pack(&mut self.extras) });
    }

    /// When something next comes out or is lost; `NEVER` when the link is empty.
    #[inline]
    #[must_use]
    pub fn next_event(&self) -> Nanos {
        match (self.transits.front(), &self.egress) {
            (Some(transit), _) => transit.end,
            (None, Some(egress)) => egress.next_dequeue,
            (None, None) => NEVER,
        }
    }

    /// Take out the next packet that has arrived by `now`. Call until it returns `None`.
    #[inline]
    pub fn poll(&mut self, now: Nanos) -> Option<P> {
        if self.looks_after_departures {
            self.catch_up(now);
        }
        loop {
            if self.transits.front()?.end > now {
                return None;
            }
            if self.leaving.len() == self.transits.len() {
                self.note_departures(now);
            }
            let transit = self.transits.pop_front()?;
            if self.looks_after_departures {
                self.observe_end();
            }
            let packet = P::unpack(transit.packet, &mut self.extras);
            let number = self.ended;
            self.ended += 1;
            if self.doomed.front() == Some(&number) {
                self.doomed.pop_front();
                self.stats.lost += 1;
                continue;
            }
            self.stats.delivered += 1;
            self.stats.delivered_bytes += u64::from(packet.bytes());
            return Some(packet);
        }
    }

    /// Counters from the beginning until `now`.
    pub fn stats(&mut self, now: Nanos) -> LinkStats {
        self.catch_up(now);
        self.stats
    }

    /// Packets waiting or on the transmitter at `now`.
    pub fn queued_packets(&mut self, now: Nanos) -> u64 {
        self.catch_up(now);
        self.note_departures(now);
        let waiting = self.egress.as_ref().map_or(0, |egress| egress.discipline.packets());
        waiting + self.leaving.len() as u64
    }

    /// Packets that have left the transmitter and not arrived, at `now`.
    pub fn in_flight_packets(&mut self, now: Nanos) -> u64 {
        self.catch_up(now);
        self.note_departures(now);
        (self.transits.len() - self.leaving.len()) as u64
    }

    /// Delay, capacity and connectivity over time.
    #[must_use]
    pub const fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The size of the buffer.
    #[must_use]
    pub const fn limit(&self) -> DropTail {
        self.limit
    }

    /// From the transmitter to the far end: an outage or a cut that comes meanwhile takes the packet. Returns when it
    /// departs, when it ends, and whether it arrives.
    #[inline]
    fn propagate(&mut self, packet: &mut P, departure: Nanos) -> (Nanos, Nanos, bool) {
        // A packet whose last bit leaves as a span ends still travels on that span's path.
        let Span { delay, loss, .. } = *self.schedule.seek(departure.saturating_sub(1));
        // A path that gets shorter must not let this packet overtake the one before.
        let mut arrival = departure + delay + self.jitter.draw();
        if departure <= self.last_end {
            arrival = arrival.max(self.last_arrival);
        }
        let disruption = self.schedule.disruption(departure, arrival);
        // What a cut takes holds up nobody; an outage also takes what would have come behind.
        if !matches!(disruption, Some((_, Disruption { kind: DisruptionKind::Cut { .. }, .. }))) {
            self.last_arrival = arrival;
        }
        packet.travels(delay);
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
        while let Some(&Leaving { at, bytes, .. }) = self.leaving.front()
            && at <= now
        {
            self.queued_bytes -= u64::from(bytes);
            self.leaving.pop_front();
        }
    }
}

#[cfg(test)]
mod tests;
