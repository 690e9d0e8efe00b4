//! The phases of ProbeBW and ProbeRTT (draft-ietf-ccwg-bbr §5.3.3 and §5.3.4), and what loss teaches in them.

use super::bounds::{Bounds, INFINITE};
use super::{AckPhase, Bbr3, MILLISECOND, PROBE_RTT_TIME, RENO_ROUNDS, State};
use crate::{Ack, AtSending, Nanos, Recovery};

impl Bbr3 {
    /// BBRUpdateProbeBWCyclePhase
    pub(super) fn update_phase(&mut self, ack: &Ack, newest: &AtSending, sample: f64, app_limited: bool) {
        if !self.full.reached {
            return;
        }
        self.adapt_long_term(ack, newest, app_limited);
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(ack.now) => self.start_refill(ack),
            // BBRIsTimeToCruise
            State::Down if ack.in_flight <= self.bounds.with_headroom().min(self.in_flight_at(1.0)) => {
                self.state = State::Cruise;
            }
            State::Refill if self.round_start => {
                self.probing_samples = true;
                self.start_up(ack, sample);
            }
            State::Up => {
                // BBRIsTimeToGoDown
                if ack.window_limited && self.window >= self.bounds.long_term {
                    self.full.reset(sample);
                } else if self.full.now {
                    self.start_down(ack);
                }
            }
            _ => {}
        }
    }

    /// BBRIsTimeToProbeBW
    pub(super) fn is_time_to_probe(&self, now: Nanos) -> bool {
        let target = self.bdp(1.0).min(self.window);
        now > self.cycle_began + self.probe_wait || self.rounds_since_probe >= target.min(RENO_ROUNDS)
    }

    /// BBRStartProbeBW_REFILL
    pub(super) const fn start_refill(&mut self, ack: &Ack) {
        self.bounds.begin_refill();
        self.ack_phase = AckPhase::Refilling;
        self.start_round(ack);
        self.state = State::Refill;
    }

    /// BBRStartProbeBW_UP
    pub(super) fn start_up(&mut self, ack: &Ack, sample: f64) {
        self.ack_phase = AckPhase::Starting;
        self.start_round(ack);
        self.full.reset(sample);
        self.cycle_began = ack.now;
        self.state = State::Up;
        self.bounds.raise_slope(self.window);
    }

    /// BBRStartProbeBW_DOWN
    pub(super) fn start_down(&mut self, ack: &Ack) {
        self.bounds.reset_signals();
        self.bounds.stop_probing_up();
        // BBRPickProbeWait: 2 to 3 s.
        self.rounds_since_probe = (self.random.next() & 1) as u32;
        self.probe_wait = 2_000 * MILLISECOND + self.random.next() % (1_000 * MILLISECOND);
        self.cycle_began = ack.now;
        self.ack_phase = AckPhase::Stopping;
        self.start_round(ack);
        self.state = State::Down;
    }

    /// BBRAdaptLongTermModel
    pub(super) fn adapt_long_term(&mut self, ack: &Ack, newest: &AtSending, app_limited: bool) {
        if self.round_start {
            match self.ack_phase {
                AckPhase::Starting => self.ack_phase = AckPhase::Feedback,
                AckPhase::Stopping => {
                    self.probing_samples = false;
                    self.ack_phase = AckPhase::Idle;
                    if self.is_probing_bw() && !app_limited {
                        self.cycles += 1;
                    }
                }
                _ => {}
            }
        }
        let lost = ack.total_lost.saturating_sub(newest.lost);
        if Bounds::is_too_high(newest.in_flight, lost) {
            if self.probing_samples {
                self.handle_too_high(ack.now, newest.in_flight, app_limited);
            }
        } else if self.bounds.long_term != INFINITE {
            self.bounds.long_term = self.bounds.long_term.max(newest.in_flight);
            if self.state == State::Up {
                self.bounds.probe_upward(ack, self.window, self.round_start);
            }
        }
    }

    /// BBRHandleInflightTooHigh
    pub(super) fn handle_too_high(&mut self, now: Nanos, in_flight: u32, app_limited: bool) {
        self.probing_samples = false;
        if !app_limited {
            let target = self.bdp(1.0).min(self.window);
            self.bounds.lower_long_term(in_flight, target);
        }
        if self.state == State::Up {
            let end = Ack { now, total_delivered: self.total_delivered, ..Ack::default() };
            self.start_down(&end);
        }
    }

    /// BBRCheckProbeRTT
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack, due: bool) {
        if due && !self.restarting && self.state != State::ProbeRtt {
            self.save_window();
            self.state = State::ProbeRtt;
            self.probe_rtt_done = None;
            self.ack_phase = AckPhase::Stopping;
            self.start_round(ack);
        }
        if self.state == State::ProbeRtt {
            match self.probe_rtt_done {
                None if ack.in_flight <= self.probe_rtt_window() => {
                    self.probe_rtt_done = Some(ack.now + PROBE_RTT_TIME);
                    self.probe_rtt_round_done = false;
                    self.start_round(ack);
                }
                Some(done) => {
                    self.probe_rtt_round_done |= self.round_start;
                    if self.probe_rtt_round_done && ack.now > done {
                        self.leave_probe_rtt(ack);
                    }
                }
                None => {}
            }
        }
        if ack.delivered > 0 {
            self.restarting = false;
        }
    }

    /// BBRExitProbeRTT
    pub(super) fn leave_probe_rtt(&mut self, ack: &Ack) {
        self.min_rtt.recent_at = ack.now;
        self.window = self.window.max(self.prior_window);
        self.bounds.reset_short_term();
        if self.full.reached {
            self.start_down(ack);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    pub(super) fn save_window(&mut self) {
        self.prior_window = if self.recovery == Recovery::Open && self.state != State::ProbeRtt {
            self.window
        } else {
            self.prior_window.max(self.window)
        };
    }
}
