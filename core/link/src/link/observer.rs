//! How packets leave, for in-band telemetry: links that nobody asks pay nothing for it.

use std::collections::VecDeque;

use crate::Nanos;
use crate::link::{Link, Packet};
use crate::queue::Discipline;

/// How a packet left the transmitter: what a switch's in-band telemetry tells of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Departure {
    /// When its last bit left.
    pub at: Nanos,
    /// Bytes that waited behind it then.
    pub queued_bytes: u64,
    /// Bytes that have left since the beginning, its own included.
    pub sent_bytes: u64,
}

/// What waited when each packet left that is still on its way.
#[derive(Clone, Debug, Default)]
pub struct Observer {
    queued_bytes: VecDeque<u64>,
    last: Departure,
}

impl<P: Packet> Link<P> {
    /// The same, keeping what [`last_departure`](Self::last_departure) tells.
    #[must_use]
    pub fn observed(mut self) -> Self {
        self.observer = Some(Box::default());
        self.looks_after_departures = true;
        self
    }

    /// How the packet left that [`poll`](Self::poll) gave out last, of a link that is [`observed`](Self::observed).
    #[must_use]
    pub fn last_departure(&self) -> Departure {
        self.observer.as_ref().map_or_else(Departure::default, |observer| observer.last)
    }

    /// Bytes waiting or on the transmitter at `now`.
    pub fn queued_bytes(&mut self, now: Nanos) -> u64 {
        self.catch_up(now);
        self.note_departures(now);
        self.queued_bytes + self.waiting_bytes()
    }

    fn waiting_bytes(&self) -> u64 {
        self.egress.as_ref().map_or(0, |egress| egress.discipline.bytes())
    }

    /// Note what waited when each packet left, up to `now`. Called before anything changes what waits.
    #[inline]
    pub(super) fn observe_departures(&mut self, now: Nanos) {
        if self.observer.is_some() {
            self.observe_them(now);
        }
    }

    #[inline(never)]
    fn observe_them(&mut self, now: Nanos) {
        let waiting = self.waiting_bytes();
        let Some(observer) = &mut self.observer else { return };
        while let Some(transit) = self.transits.get(self.departed)
            && transit.departure <= now
        {
            self.queued_bytes -= u64::from(transit.packet.bytes());
            self.departed += 1;
            observer.queued_bytes.push_back(self.queued_bytes + waiting);
        }
    }

    /// A packet of `bytes` that left at `at` comes out or is lost.
    #[inline(never)]
    pub(super) fn observe_end(&mut self, at: Nanos, bytes: u32) {
        let Some(observer) = &mut self.observer else { return };
        observer.last = Departure {
            at,
            queued_bytes: observer.queued_bytes.pop_front().unwrap_or(0),
            sent_bytes: observer.last.sent_bytes + u64::from(bytes),
        };
    }
}
