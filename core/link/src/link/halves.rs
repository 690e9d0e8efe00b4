//! Links whose ends are simulated on different threads: packets move from the sender's half to the receiver's half.

use crate::jitter::Jitter;
use crate::link::{Link, Transit};
use crate::loss::Loss;
use crate::packet::Packet;
use crate::queue::DropTail;
use crate::schedule::{Schedule, UNLIMITED};
use crate::{NEVER, Nanos};

impl<P: Packet> Link<P> {
    /// Create the receiver's half of a link, to which packets come by [`take_over`](Self::take_over) only.
    pub fn receiving() -> Self {
        Self::new(Schedule::constant(0, UNLIMITED), DropTail::INFINITE, Loss::new(0.0, 0), Jitter::none())
    }

    /// Remove the next packet that arrives by `until`, and return it with the time of its arrival; count it as delivered.
    ///
    /// `until` is at most `now` and the shortest propagation delay of the packets on the link, so that each of these packets has
    /// left the transmitter at `now`.
    #[inline]
    pub fn hand_over(&mut self, now: Nanos, until: Nanos) -> Option<(Nanos, P)> {
        self.catch_up(now);
        loop {
            let end = self.first_end;
            if end > until || end == NEVER {
                return None;
            }
            let number = self.transits.first();
            if self.departed == number {
                self.note_departures(now);
            }
            debug_assert!(self.departed > number, "a packet of a longer window has not left yet");
            if number != self.next_doomed {
                let compact = *self.deliver_first()?;
                return Some((end, self.unpack(compact)));
            }
            self.lose_first()?;
        }
    }

    /// Let a packet that the sender's half has handed over arrive at `end`.
    #[inline]
    pub fn take_over(&mut self, end: Nanos, packet: P) {
        let packet = packet.pack(&mut self.extras);
        self.stats.offered += 1;
        self.departed += 1;
        self.append_transit(Transit { end, departure: end, packet });
    }
}
