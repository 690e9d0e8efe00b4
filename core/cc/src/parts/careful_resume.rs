//! Careful Resume (RFC 9959): a window saved from an earlier connection, used carefully.

use crate::parts::window::Window;
use crate::{Ack, INITIAL_WINDOW, NANOS_PER_S, Nanos, SEGMENT_BYTES, Saved};

/// "Observe Phase (small CWND)": a saved window below four initial windows is not used.
const LEAST_WINDOWS: u32 = 4;
/// "Minimum RTT too small": a path whose RTT is at most this part of the saved one is another path.
const SHORTEST: Nanos = 2;
/// "ssthresh MUST be set to no larger than the most recently measured PipeSize * Beta … The default value is 0.5".
const BETA: u32 = 2;

/// The phases; Observe and Connect are not the sender's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Reconnaissance,
    /// `first` is the first packet that is sent with the jump, at `since`.
    Unvalidated {
        first: u64,
        since: Nanos,
    },
    /// Packets below `last` are unvalidated.
    Validating {
        last: u64,
    },
    SafeRetreat {
        last: u64,
    },
    Normal,
}

/// A connection's use of saved parameters.
#[derive(Clone, Debug)]
pub struct CarefulResume {
    saved: Saved,
    phase: Phase,
    /// PipeSize: the flight before the jump, and all acknowledged since.
    pipe: u32,
    next: u64,
    rtt: Nanos,
}

impl CarefulResume {
    /// Without saved parameters the connection is in the Normal Phase at once.
    pub fn new(saved: Option<Saved>) -> Self {
        let fits = saved.filter(|saved| saved.window >= LEAST_WINDOWS * INITIAL_WINDOW);
        Self {
            phase: if fits.is_some() { Phase::Reconnaissance } else { Phase::Normal },
            saved: fits.unwrap_or_default(),
            pipe: 0,
            next: 0,
            rtt: 0,
        }
    }

    /// "the jump_cwnd MUST be no more than half of the saved_cwnd"
    const fn jump(&self) -> u32 {
        self.saved.window / 2
    }

    /// Process an ACK. Return whether the window may grow by it.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack) -> bool {
        self.next = ack.next;
        match self.phase {
            Phase::Normal => return true,
            Phase::Reconnaissance => self.reconnoitre(window, ack),
            Phase::Unvalidated { first, since } => {
                self.pipe = self.pipe.saturating_add(ack.delivered);
                // The window is full, its first packet is acknowledged, or an RTT is over.
                let flight = ack.prior_in_flight;
                if flight >= window.packets || ack.una > first || ack.now > since.saturating_add(self.rtt) {
                    self.leave_unvalidated(window, flight, ack.next);
                }
            }
            Phase::Validating { last } => {
                self.pipe = self.pipe.saturating_add(ack.delivered);
                if ack.una >= last {
                    self.phase = Phase::Normal;
                }
            }
            Phase::SafeRetreat { last } => {
                self.pipe = self.pipe.saturating_add(ack.delivered);
                if ack.una >= last {
                    window.threshold = (self.pipe / BETA).max(2);
                    self.phase = Phase::Normal;
                }
                return false;
            }
        }
        !matches!(self.phase, Phase::Unvalidated { .. })
    }

    /// Confirm the path once all the initial data is acknowledged, and jump when more than the window waits to be sent.
    fn reconnoitre(&mut self, window: &mut Window, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        if ack.min_rtt <= self.saved.rtt / SHORTEST {
            self.phase = Phase::Normal;
        } else if ack.una >= u64::from(INITIAL_WINDOW) && ack.window_limited {
            if self.jump() <= window.packets {
                self.phase = Phase::Normal;
                return;
            }
            // "PipeSize is initialised to the flight_size on entry", before the jump.
            self.pipe = ack.in_flight;
            self.rtt = rtt;
            self.phase = Phase::Unvalidated { first: ack.next, since: ack.now };
            window.packets = self.jump();
        }
    }

    /// "Check flight_size": validate the packets in flight, unless they are no more than before the jump.
    fn leave_unvalidated(&mut self, window: &mut Window, flight: u32, next: u64) {
        if flight < INITIAL_WINDOW || flight <= self.pipe {
            window.packets = self.pipe.max(INITIAL_WINDOW);
            self.phase = Phase::Normal;
        } else {
            window.packets = flight;
            self.phase = Phase::Validating { last: next };
        }
    }

    /// Retreat from unvalidated packets. Return the window to go down to, if this is such a retreat.
    pub fn on_congestion(&mut self) -> Option<u32> {
        match self.phase {
            Phase::Unvalidated { .. } | Phase::Validating { .. } => {
                let last = if let Phase::Validating { last } = self.phase { last } else { self.next };
                self.phase = Phase::SafeRetreat { last };
                // "On entry, the CWND MUST be reduced to no more than the (PipeSize/2)."
                Some((self.pipe / 2).max(2))
            }
            Phase::Reconnaissance => {
                // "If the sender detects congestion …, the sender does not use the Careful Resume method"
                self.phase = Phase::Normal;
                None
            }
            Phase::SafeRetreat { .. } | Phase::Normal => None,
        }
    }

    /// "A sender that experiences a Retransmission Time Out (RTO) expiry ceases to use Careful Resume."
    pub const fn end(&mut self) {
        self.phase = Phase::Normal;
    }

    /// Whether it retreats: then the window is at once what [`on_congestion`](Self::on_congestion) returned.
    pub const fn retreats(&self) -> bool {
        matches!(self.phase, Phase::SafeRetreat { .. })
    }

    /// "ITT = (current_RTT x MMS) / jump_cwnd": the pacing of the Unvalidated Phase in payload bytes per second.
    pub fn pacing_rate(&self) -> Option<u64> {
        matches!(self.phase, Phase::Unvalidated { .. }).then(|| {
            let bytes = f64::from(self.jump()) * f64::from(SEGMENT_BYTES);
            (bytes * NANOS_PER_S / self.rtt.max(1) as f64).max(1.0) as u64
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{RTT, ack_of_one};

    fn resume(window: u32, rtt: Nanos) -> (CarefulResume, Window) {
        (CarefulResume::new(Some(Saved { window, rtt })), Window::new())
    }

    fn ack(una: u64, next: u64, in_flight: u32) -> Ack {
        Ack { una, next, prior_in_flight: in_flight + 1, in_flight, ..ack_of_one(0) }
    }

    #[test]
    fn it_jumps_to_half_of_the_saved_window_paced_over_the_rtt_and_validates_it() {
        let (mut resume, mut window) = resume(1_000, RTT);
        // Until all of the initial data is acknowledged, slow start goes on.
        assert!((1..10).all(|una| resume.on_ack(&mut window, &ack(una, 10 + una, 10))));
        assert_eq!(window.packets, 10);
        assert!(!resume.on_ack(&mut window, &ack(10, 20, 10)));
        assert_eq!((window.packets, resume.pacing_rate()), (500, Some(500 * 1448 * 10)));
        // ACKs of earlier packets leave the window unchanged and count in PipeSize: 10 and 9 more.
        assert!((12..=20).all(|una| !resume.on_ack(&mut window, &ack(una, 300, 280))));
        assert_eq!((window.packets, resume.pipe), (500, 19));
        // The first unvalidated packet is acknowledged: the flight was 480 packets.
        assert!(resume.on_ack(&mut window, &ack(21, 501, 479)));
        assert_eq!((window.packets, resume.pacing_rate()), (480, None));
        assert!(resume.on_ack(&mut window, &ack(501, 900, 480)));
        assert_eq!(resume.phase, Phase::Normal);
    }

    #[test]
    fn a_sender_that_did_not_use_the_jump_goes_back_to_what_was_delivered() {
        let (mut resume, mut window) = resume(1_000, RTT);
        resume.on_ack(&mut window, &ack(10, 20, 10));
        for una in 11..=20 {
            resume.on_ack(&mut window, &ack(una, 25, 5));
        }
        assert!(resume.on_ack(&mut window, &ack(21, 25, 4)));
        assert_eq!((window.packets, resume.phase), (21, Phase::Normal));
    }

    #[test]
    fn a_loss_of_unvalidated_packets_takes_the_window_to_half_of_what_was_delivered() {
        let (mut resume, mut window) = resume(1_000, RTT);
        resume.on_ack(&mut window, &ack(10, 20, 10));
        resume.on_ack(&mut window, &ack(21, 520, 498));
        for una in 22..=100 {
            resume.on_ack(&mut window, &ack(una, 600, 499));
        }
        // The flight of 10, and 80 delivered.
        assert_eq!((resume.on_congestion(), resume.pipe), (Some(45), 90));
        assert!(resume.retreats() && resume.on_congestion().is_none());
        window.packets = 45;
        assert!(!resume.on_ack(&mut window, &ack(500, 620, 45)));
        // "When the last packet (or a later packet) sent during the Unvalidated Phase has been acknowledged"
        resume.on_ack(&mut window, &ack(520, 620, 45));
        assert_eq!((window.packets, window.threshold, resume.phase), (45, 46, Phase::Normal));
    }

    #[test]
    fn another_path_congestion_or_a_small_window_leave_the_connection_as_it_is() {
        for (saved_window, saved_rtt) in [(1_000, 2 * RTT), (39, RTT), (20, RTT)] {
            let (mut resume, mut window) = resume(saved_window, saved_rtt);
            assert!(resume.on_ack(&mut window, &ack(10, 20, 10)), "{saved_window} {saved_rtt}");
            assert_eq!((window.packets, resume.phase), (10, Phase::Normal));
        }
        let (mut resume, mut window) = resume(1_000, RTT);
        assert_eq!(resume.on_congestion(), None);
        assert!(resume.on_ack(&mut window, &ack(10, 20, 10)));
        assert_eq!(window.packets, 10);
        assert!(CarefulResume::new(None).on_ack(&mut window, &ack(10, 20, 10)));
    }
}
