//! The min RTT, and ProbeRTT, which drains the queue to measure it (draft-cardwell-iccrg-bbr-congestion-control-00 §4.3.5).

use super::{Bbr, MIN_RTT_LIFE, Mode, PROBE_RTT_TIME, WINDOW_MIN};
use crate::{Ack, Nanos, Recovery};

impl Bbr {
    /// draft §4.1.2 and §4.3.5
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let expired = self.take_rtt(ack, MIN_RTT_LIFE);
        if expired && !self.restarting && self.mode != Mode::ProbeRtt {
            self.enter_probe_rtt();
        }
        if self.probes_rtt_enough(ack, WINDOW_MIN) {
            self.leave_probe_rtt(ack.now);
        }
        if ack.delivered > 0 {
            self.restarting = false;
        }
    }

    /// Update the min RTT; return whether it was older than `life`.
    pub(crate) fn take_rtt(&mut self, ack: &Ack, life: Nanos) -> bool {
        let expired = ack.now > self.min_rtt_at + life;
        if let Some(rtt) = ack.rtt.filter(|&rtt| rtt < self.min_rtt || expired) {
            self.min_rtt = rtt.max(1);
            self.min_rtt_at = ack.now;
        }
        expired
    }

    pub(crate) fn enter_probe_rtt(&mut self) {
        self.mode = Mode::ProbeRtt;
        self.save_window();
        self.probe_rtt_done = None;
    }

    /// Return whether ProbeRTT has lasted its time and a round trip with at most `least` packets in flight.
    pub(crate) fn probes_rtt_enough(&mut self, ack: &Ack, least: u32) -> bool {
        if self.mode != Mode::ProbeRtt {
            return false;
        }
        let Some(done) = self.probe_rtt_done else {
            if ack.in_flight <= least {
                self.probe_rtt_done = Some(ack.now + PROBE_RTT_TIME);
                self.probe_rtt_round_done = false;
                self.next_round = ack.total_delivered;
            }
            return false;
        };
        self.probe_rtt_round_done |= self.round_start;
        self.probe_rtt_round_done && ack.now > done
    }

    pub(crate) fn leave_probe_rtt(&mut self, now: Nanos) {
        self.min_rtt_at = now;
        self.window = self.window.max(self.prior_window);
        if self.full {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    pub(super) fn save_window(&mut self) {
        self.prior_window = if self.recovery == Recovery::Open && self.mode != Mode::ProbeRtt {
            self.window
        } else {
            self.prior_window.max(self.window)
        };
    }
}
