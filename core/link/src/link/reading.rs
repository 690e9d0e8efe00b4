//! What a link tells of itself: counters, packets inside, and configuration.

use crate::Nanos;
use crate::link::{Link, LinkStats};
use crate::packet::Packet;
use crate::queue::{Discipline, DropTail};
use crate::schedule::Schedule;

impl<P: Packet> Link<P> {
    /// Return the packets delivered so far.
    pub const fn delivered(&self) -> u64 {
        self.stats.delivered
    }

    /// Return the counters from the start until `now`.
    pub fn stats(&mut self, now: Nanos) -> LinkStats {
        self.catch_up(now);
        self.retire(now);
        self.stats
    }

    /// Return the number of packets waiting or on the transmitter at `now`.
    pub fn queued_packets(&mut self, now: Nanos) -> u64 {
        self.catch_up(now);
        self.note_departures(now);
        let waiting = self.egress.as_ref().map_or(0, |egress| egress.discipline.packets());
        waiting + self.undeparted()
    }

    /// Return the number of packets that have left the transmitter and not arrived at `now`.
    pub fn in_flight_packets(&mut self, now: Nanos) -> u64 {
        self.catch_up(now);
        self.note_departures(now);
        self.retire(now);
        self.departed - self.transits.first()
    }

    /// Return delay, capacity and connectivity over time.
    pub const fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Return the size of the buffer.
    pub const fn limit(&self) -> DropTail {
        self.limit
    }
}
