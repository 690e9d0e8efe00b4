//! ProbeBW: probe for bandwidth, then drain the queue (draft-cardwell-iccrg-bbr-congestion-control-00 §4.3.4).

use super::{Bbr, CYCLE, Mode};
use crate::{Ack, Nanos};

impl Bbr {
    /// draft §4.3.4.3
    pub(super) fn update_phase(&mut self, ack: &Ack) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let lasted = ack.now.saturating_sub(self.phase_began) > self.min_rtt;
        let in_flight = self.in_flight_when_sent(ack, ack.prior_in_flight);
        let ends = if self.pacing_gain > 1.0 {
            // Until the pipe is as full as the gain asks, or packets are lost.
            lasted && (ack.lost > 0 || in_flight >= self.in_flight_at(self.pacing_gain))
        } else if self.pacing_gain < 1.0 {
            lasted || in_flight <= self.in_flight_at(1.0)
        } else {
            lasted
        };
        if ends {
            self.next_phase(ack.now);
        }
    }

    const fn next_phase(&mut self, now: Nanos) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_began = now;
    }

    pub(super) fn enter_probe_bw(&mut self, now: Nanos) {
        self.mode = Mode::ProbeBw;
        // draft §4.3.4.2: a random phase, except the draining one.
        self.phase = CYCLE.len() - 1 - (self.random.next() % 7) as usize;
        self.next_phase(now);
    }
}
