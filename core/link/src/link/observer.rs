//! How packets leave, for in-band telemetry: links that nobody asks pay nothing for it.

use std::collections::VecDeque;

use crate::Nanos;
use crate::link::{Leaving, Link, Packet};
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

/// How each packet left that is still on its way.
#[derive(Clone, Debug, Default)]
pub struct Observer {
    left: VecDeque<Departure>,
    sent_bytes: u64,
    last: Departure,
}

impl<P: Packet> Link<P> {
    /// The same, keeping what [`last_departure`](Self::last_departure) tells.
    #[must_use]
    pub fn observed(mut self) -> Self {
        self.observer = Some(Box::default());
        self.looks_after_departures = true;
        self.only_delays = None;
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
        if self.observer.is_some() && self.leaving.front().is_some_and(|first| first.at <= now) {
            self.observe_them(now);
        }
    }

    #[inline(never)]
    fn observe_them(&mut self, now: Nanos) {
        let waiting = self.waiting_bytes();
        let Some(observer) = &mut self.observer else { return };
        while let Some(&Leaving { at, bytes, sent }) = self.leaving.front()
            && at <= now
        {
            self.queued_bytes -= u64::from(bytes);
            self.leaving.pop_front();
            observer.sent_bytes += if sent { u64::from(bytes) } else { 0 };
            let queued_bytes = self.queued_bytes + waiting;
            observer.left.push_back(Departure { at, queued_bytes, sent_bytes: observer.sent_bytes });
        }
    }

    /// A packet comes out or is lost.
    #[inline(never)]
    pub(super) fn observe_end(&mut self) {
        let Some(observer) = &mut self.observer else { return };
        observer.last = observer.left.pop_front().unwrap_or_default();
    }
}
