//! The phases of ProbeBW and ProbeRTT (draft-ietf-ccwg-bbr-06 §5.3.3 and §5.3.4).

use super::bounds::{Bounds, INFINITE};
use super::{AckPhase, Bbr3, MILLISECOND, PROBE_RTT_TIME, RENO_ROUNDS, State};
use crate::parts::path_model::bdp_packets;
use crate::{Ack, AtSending, Nanos};

impl Bbr3 {
    /// UpdateProbeBWCyclePhase
    pub(super) fn update_phase(&mut self, ack: &Ack, newest: &AtSending, sample: f64, app_limited: bool) {
        if !self.full.reached || self.adapt_long_term(ack, newest, app_limited) {
            return;
        }
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe(ack.now) => self.start_refill(),
            State::Down if self.is_time_to_cruise(ack) => self.state = State::Cruise,
            State::Refill if self.round_start => {
                self.probing_samples = true;
                self.start_up(sample);
            }
            State::Up if self.is_time_to_go_down(ack, sample) => {
                self.probe_too_high = false;
                self.start_down(ack.now);
            }
            _ => {}
        }
    }

    /// IsTimeToCruise: there is headroom and, by the long-term bandwidth, no queue.
    fn is_time_to_cruise(&self, ack: &Ack) -> bool {
        let bdp = bdp_packets(self.max_bandwidth.get(), self.min_rtt.value, 1.0);
        ack.in_flight <= self.bounds.with_headroom().min(self.with_budget(bdp))
    }

    /// IsTimeToGoDown
    fn is_time_to_go_down(&mut self, ack: &Ack, sample: f64) -> bool {
        // "Precautionary Bandwidth Probing: Deceleration"
        if self.probe_too_high && ack.in_flight >= self.bounds.long_term {
            self.probe_was_precautionary = true;
            return true;
        }
        if ack.window_limited && self.window >= self.bounds.long_term {
            self.full.reset(sample);
            return false;
        }
        self.full.now
    }

    /// IsTimeToProbeBW
    pub(super) fn is_time_to_probe(&self, now: Nanos) -> bool {
        let target = self.bdp(1.0).min(self.window);
        now > self.cycle_began + self.probe_wait || self.rounds_since_probe >= target.min(RENO_ROUNDS)
    }

    /// StartProbeBW_REFILL
    pub(super) const fn start_refill(&mut self) {
        self.bounds.begin_refill();
        self.probe_was_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    /// StartProbeBW_UP
    fn start_up(&mut self, sample: f64) {
        self.ack_phase = AckPhase::Starting;
        self.start_round();
        self.full.reset(sample);
        self.state = State::Up;
        self.bounds.raise_slope(self.window);
    }

    /// StartProbeBW_DOWN
    pub(super) fn start_down(&mut self, now: Nanos) {
        self.bounds.reset_signals();
        self.bounds.stop_probing_up();
        // PickProbeWait: 2 to 3 s.
        self.rounds_since_probe = (self.random.next() & 1) as u32;
        self.probe_wait = 2_000 * MILLISECOND + self.random.next() % (1_000 * MILLISECOND);
        self.cycle_began = now;
        self.ack_phase = AckPhase::Stopping;
        self.start_round();
        self.state = State::Down;
    }

    /// AdaptLongTermModel; return true if it has changed the phase.
    fn adapt_long_term(&mut self, ack: &Ack, newest: &AtSending, app_limited: bool) -> bool {
        if self.round_start {
            match self.ack_phase {
                AckPhase::Starting => self.ack_phase = AckPhase::Feedback,
                AckPhase::Stopping => {
                    self.probing_samples = false;
                    self.ack_phase = AckPhase::Idle;
                    if self.is_probing_bw() && !app_limited {
                        self.cycles += 1;
                    }
                    // "Precautionary Bandwidth Probing: Acceleration"
                    if self.is_probing_bw() && self.probe_was_precautionary && !self.probe_too_high {
                        self.start_refill();
                        return true;
                    }
                }
                _ => {}
            }
        }
        let lost = ack.total_lost.saturating_sub(newest.lost);
        if self.bounds.long_term != INFINITE && !Bounds::is_too_high(newest.in_flight, lost) {
            self.bounds.long_term = self.bounds.long_term.max(newest.in_flight);
            if self.state == State::Up {
                self.bounds.probe_upward(ack, self.window, self.round_start);
            }
        }
        false
    }

    /// HandleInflightTooHigh
    pub(super) fn handle_too_high(&mut self, now: Nanos, in_flight: u32, app_limited: bool) {
        self.probe_too_high = true;
        self.probing_samples = false;
        if !app_limited {
            let target = self.bdp(1.0).min(self.window);
            self.bounds.lower_long_term(in_flight, target);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now);
        }
    }

    /// CheckProbeRTT
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack, due: bool) {
        if due && !self.restarting && self.state != State::ProbeRtt {
            self.save_window();
            self.state = State::ProbeRtt;
            self.probe_rtt_done = None;
            self.ack_phase = AckPhase::Stopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            if self.probe_rtt_done.is_some() {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(ack.now);
                }
            } else if ack.in_flight <= self.probe_rtt_window() {
                self.probe_rtt_done = Some(ack.now + PROBE_RTT_TIME);
                self.probe_rtt_round_done = false;
                self.start_round();
            }
        }
        if ack.delivered > 0 {
            self.restarting = false;
        }
    }

    /// CheckProbeRTTDone and ExitProbeRTT
    pub(super) fn check_probe_rtt_done(&mut self, now: Nanos) {
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt.recent_at = now;
        self.restore_window();
        self.bounds.reset_short_term();
        if self.full.reached {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
