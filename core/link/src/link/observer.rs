//! Records of departures for in-band telemetry. Links without an observer pay nothing for it.

use std::collections::VecDeque;

use crate::Nanos;
use crate::link::Link;
use crate::packet::Packet;
use crate::queue::Discipline;

/// A packet's departure from the transmitter, as a switch's in-band telemetry reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Departure {
    /// When its last bit left.
    pub at: Nanos,
    /// Bytes that waited behind it at that time.
    pub queued_bytes: u64,
    /// Bytes that have left since the start, including its own.
    pub sent_bytes: u64,
}

/// The departures of the packets still in flight.
#[derive(Clone, Debug, Default)]
pub struct Observer {
    departures: VecDeque<Departure>,
    sent_bytes: u64,
    last: Departure,
    /// The numbers of packets that an outage discards before they leave.
    pub(super) discarded: VecDeque<u64>,
}

impl Observer {
    /// Forget the packets in flight.
    pub(super) fn forget(&mut self) {
        self.departures.clear();
    }
}

impl<P: Packet> Link<P> {
    /// Record departures for [`last_departure`](Self::last_departure).
    #[must_use]
    pub fn observed(mut self) -> Self {
        self.observer = Some(Box::default());
        self.looks_after_departures = true;
        self.catches_up_at_polls |= self.egress.is_some();
        self.is_plain = false;
        self.only_delays = None;
        self
    }

    /// Return the departure of the last polled packet; all zeros unless [`observed`](Self::observed).
    pub fn last_departure(&self) -> Departure {
        self.observer.as_ref().map_or_else(Departure::default, |observer| observer.last)
    }

    /// Return the number of bytes waiting or on the transmitter at `now`.
    pub fn queued_bytes(&mut self, now: Nanos) -> u64 {
        self.catch_up(now);
        self.note_departures(now);
        self.queued_bytes + self.waiting_bytes()
    }

    pub(super) fn waiting_bytes(&self) -> u64 {
        self.egress.as_ref().map_or(0, |egress| egress.discipline.bytes())
    }

    /// Record each departure up to `now` with the bytes that waited, `waiting` of them in a managed queue. Call it before the
    /// queue changes.
    #[inline]
    pub(super) fn observe_departures(&mut self, now: Nanos, waiting: u64) {
        if self.observer.is_some() {
            self.record_departures(now, waiting);
        }
    }

    #[inline(never)]
    fn record_departures(&mut self, now: Nanos, waiting: u64) {
        let Some(observer) = &mut self.observer else { return };
        while let Some(transit) = self.transits.get(self.departed).filter(|transit| transit.departure <= now)
        {
            let (at, bytes) = (transit.departure, u64::from(P::compact_bytes(&transit.packet)));
            self.queued_bytes -= bytes;
            if observer.discarded.front() == Some(&self.departed) {
                observer.discarded.pop_front();
            } else {
                observer.sent_bytes += bytes;
            }
            self.departed += 1;
            let queued_bytes = self.queued_bytes + waiting;
            observer.departures.push_back(Departure { at, queued_bytes, sent_bytes: observer.sent_bytes });
        }
    }

    /// Move to the departure of the packet that comes out or is lost.
    #[inline]
    pub(super) fn observe_end(&mut self) {
        let Some(observer) = &mut self.observer else { return };
        observer.last = observer.departures.pop_front().unwrap_or_default();
    }
}
