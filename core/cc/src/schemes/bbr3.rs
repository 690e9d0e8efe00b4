//! BBR, version 3 (draft-ietf-ccwg-bbr-06). Names in comments are the draft's functions and variables.

mod bounds;
mod full_pipe;
mod min_rtt;
mod phases;
mod undo;

use bounds::{Bounds, INFINITE};
use full_pipe::FullPipe;
use min_rtt::MinRtt;
use undo::Undo;

use crate::parts::ack_aggregation::AckAggregation;
use crate::parts::path_model::{bdp_packets, burst_packets, initial_bandwidth};
use crate::parts::random::Random;
use crate::parts::windowed_max::WindowedMax;
use crate::{
    Ack, AtSending, BbrModel, BbrState as State, Congestion, CongestionControl, Context, INITIAL_WINDOW,
    MILLISECOND, NANOS_PER_S, Nanos, Recovery, SEGMENT_BYTES,
};

/// §5.6.1: BBR.StartupPacingGain = 4 ln 2, DrainPacingGain, DefaultCwndGain and the gains of ProbeBW.
const STARTUP_GAIN: f64 = 2.77;
const DRAIN_GAIN: f64 = 0.5;
const DOWN_GAIN: f64 = 0.9;
const UP_GAIN: f64 = 1.25;
const WINDOW_GAIN: f64 = 2.0;
const UP_WINDOW_GAIN: f64 = 2.25;
/// BBR.ProbeRTTCwndGain and ProbeRTTDuration.
const PROBE_RTT_WINDOW_GAIN: f64 = 0.5;
const PROBE_RTT_TIME: Nanos = 200 * MILLISECOND;
/// BBR.PacingMarginPercent and MinPipeCwnd.
const PACING_MARGIN: f64 = 0.99;
const WINDOW_MIN: u32 = 4;
/// SetSendQuantum: "min(C.send_quantum, 64 KBytes)" and "max(C.send_quantum, 2 * C.SMSS)".
const QUANTUM: (u32, u32) = (2, 65_536 / SEGMENT_BYTES);
/// UpdateOffloadBudget: quanta that sender, offload engine and receiver may hold back.
const OFFLOAD_QUANTA: u32 = 3;
/// CheckDrainDone: most rounds to wait for the queue to drain.
const DRAIN_ROUNDS: u64 = 3;
/// BBR.MaxBwFilterLen, in cycles of ProbeBW.
const BANDWIDTH_CYCLES: u64 = 2;
/// §5.3.3.5: most rounds between probes, as for Reno at 62 packets.
const RENO_ROUNDS: u32 = 63;

/// BBR.ack_phase: how arriving ACKs relate to the last probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AckPhase {
    Stopping,
    Refilling,
    Starting,
    Feedback,
    #[default]
    Idle,
}

/// BBR with bounds learnt from loss, so it leaves room for other flows and probes only occasionally.
#[derive(Clone, Debug, Default)]
pub struct Bbr3 {
    state: State,
    window: u32,
    prior_window: u32,
    /// Payload bytes per second.
    pacing_rate: f64,
    /// Packets per second over the last two cycles.
    max_bandwidth: WindowedMax,
    cycles: u64,
    min_rtt: MinRtt,
    full: FullPipe,
    bounds: Bounds,
    /// BBR.round_count
    rounds: u64,
    round_start: bool,
    next_round: u64,
    /// BBR.drain_start_round
    drain_began: u64,
    cycle_began: Nanos,
    ack_phase: AckPhase,
    rounds_since_probe: u32,
    probe_wait: Nanos,
    /// BBR.bw_probe_samples: losses may be due to a probe.
    probing_samples: bool,
    /// BBR.prev_probe_too_high and prev_probe_precautionary: the last probe lost too much; this one stopped where that did.
    probe_too_high: bool,
    probe_was_precautionary: bool,
    undo: Undo,
    /// RS.tx_in_flight of the last acknowledgement.
    newest_in_flight: u32,
    probe_rtt_done: Option<Nanos>,
    probe_rtt_round_done: bool,
    restarting: bool,
    has_rtt: bool,
    recovery: Recovery,
    total_delivered: u64,
    total_lost: u64,
    aggregation: AckAggregation,
    random: Random,
}

impl Bbr3 {
    pub fn new(context: &Context) -> Self {
        let mut bbr = Self {
            window: INITIAL_WINDOW,
            min_rtt: MinRtt::new(0, 0),
            bounds: Bounds::new(),
            random: Random::new(context.seed),
            ..Self::default()
        };
        bbr.start_pacing(0);
        bbr
    }

    /// InitPacingRate
    fn start_pacing(&mut self, srtt: Nanos) {
        self.has_rtt = srtt > 0;
        self.pacing_rate = STARTUP_GAIN * initial_bandwidth(self.window, srtt) * f64::from(SEGMENT_BYTES);
    }

    /// BoundBWForModel, in packets per second.
    fn bandwidth(&self) -> f64 {
        self.max_bandwidth.get().min(self.bounds.bandwidth_short_term)
    }

    const fn is_probing_bw(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// StartRound
    const fn start_round(&mut self) {
        self.next_round = self.total_delivered;
    }

    /// UpdateRound and UpdateMaxBw
    fn update_bandwidth(&mut self, newest: &AtSending, sample: f64, app_limited: bool) {
        if newest.delivered >= self.next_round {
            self.start_round();
            self.rounds += 1;
            self.rounds_since_probe = self.rounds_since_probe.saturating_add(1);
            self.round_start = true;
        }
        if sample > 0.0 && (sample >= self.max_bandwidth.get() || !app_limited) {
            // The last two cycles are the previous and this one.
            self.max_bandwidth.update(BANDWIDTH_CYCLES - 1, self.cycles, sample);
        }
    }

    /// CheckStartupDone and CheckDrainDone
    fn check_startup(&mut self, ack: &Ack) {
        if self.state == State::Startup {
            // "in fast recovery for at least one full packet-timed round trip": such a round begins with the losses.
            let losing = self.full.loses_too_much(ack, self.bounds.loss_round_start);
            if losing && ack.recovery == Recovery::Recovery && !self.full.reached {
                self.undo.state = Some(State::Startup);
                self.end_startup();
            }
            if self.full.reached {
                self.state = State::Drain;
                self.drain_began = self.rounds;
            }
        }
        if self.state == State::Drain
            && (ack.in_flight <= self.in_flight_at(1.0) || self.rounds > self.drain_began + DRAIN_ROUNDS)
        {
            self.start_down(ack.now);
        }
    }

    /// CheckStartupHighLoss: "it sets BBR.inflight_longterm to … max(BBR.bdp, BBR.inflight_latest)".
    fn end_startup(&mut self) {
        self.full.reached = true;
        self.bounds.long_term = self.bdp(1.0).max(self.bounds.delivered_latest);
    }

    /// NoteLoss, which saves the state "at the start of loss recovery". The losses of an ACK arrive separately. Only the
    /// first saves the state, before it ends a probe.
    fn note_loss(&mut self, now: Nanos) {
        let first = self.bounds.note_loss(self.total_delivered);
        if first && self.recovery == Recovery::Open && self.undo.saved_at != Some(now) {
            self.save_state(now);
        }
    }

    /// "if the connection claims ECN support … the congestion controller response MUST treat any CE marks as congestion"
    /// (section ECN), which names no response. Here a mark counts like a loss above the threshold, once per round trip. The
    /// short-term model adapts, Startup ends, and a probe is too high.
    fn on_mark(&mut self, now: Nanos) {
        self.note_loss(now);
        if self.state == State::Startup && !self.full.reached {
            self.end_startup();
        } else if self.probing_samples {
            self.handle_too_high(now, self.newest_in_flight, false);
        }
    }

    const fn gains(&self) -> (f64, f64) {
        match self.state {
            State::Startup => (STARTUP_GAIN, WINDOW_GAIN),
            State::Drain => (DRAIN_GAIN, WINDOW_GAIN),
            State::Down => (DOWN_GAIN, WINDOW_GAIN),
            State::Cruise | State::Refill => (1.0, WINDOW_GAIN),
            State::Up => (UP_GAIN, UP_WINDOW_GAIN),
            State::ProbeRtt => (1.0, PROBE_RTT_WINDOW_GAIN),
        }
    }

    /// SetPacingRate
    fn set_pacing_rate(&mut self, ack: &Ack, gain: f64) {
        if !self.has_rtt && ack.srtt > 0 {
            self.start_pacing(ack.srtt);
        }
        let rate = gain * self.bandwidth() * f64::from(SEGMENT_BYTES) * PACING_MARGIN;
        if rate > 0.0 && (self.full.reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// SetCwnd
    fn set_window(&mut self, ack: &Ack, gain: f64) {
        let recovery = ack.recovery.without_marks();
        let left_recovery = self.recovery != Recovery::Open && recovery == Recovery::Open;
        self.recovery = recovery;
        if left_recovery {
            self.restore_window();
        }
        let limit =
            self.with_budget(self.bdp(gain).saturating_add(self.aggregation.window(self.bandwidth())));
        let grown = self.window.saturating_add(ack.delivered);
        if self.full.reached {
            self.window = grown.min(limit);
        } else if self.window < limit || ack.total_delivered < u64::from(INITIAL_WINDOW) {
            self.window = grown;
        }
        if self.state == State::ProbeRtt {
            self.window = self.window.min(self.probe_rtt_window());
        }
        // BoundCwndForModel
        let long_term = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.long_term,
            State::Cruise | State::ProbeRtt => self.bounds.with_headroom(),
            State::Startup | State::Drain => INFINITE,
        };
        self.window = self.window.min(long_term.min(self.bounds.short_term)).max(WINDOW_MIN);
    }

    fn probe_rtt_window(&self) -> u32 {
        self.bdp(PROBE_RTT_WINDOW_GAIN).max(WINDOW_MIN)
    }

    /// BBRBDPMultiple
    fn bdp(&self, gain: f64) -> u32 {
        bdp_packets(self.bandwidth(), self.min_rtt.value, gain)
    }

    /// QuantizationBudget: "inflight_cap = max(inflight_cap, BBR.offload_budget)"
    fn with_budget(&self, window: u32) -> u32 {
        let budget = OFFLOAD_QUANTA * burst_packets(self.pacing_rate, QUANTUM.0, QUANTUM.1);
        let window = window.max(budget).max(WINDOW_MIN);
        if self.state == State::Up { window.saturating_add(2) } else { window }
    }

    /// Inflight
    fn in_flight_at(&self, gain: f64) -> u32 {
        self.with_budget(self.bdp(gain))
    }
}

impl CongestionControl for Bbr3 {
    fn on_start(&mut self, now: Nanos, srtt: Nanos) {
        self.min_rtt = MinRtt::new(now, srtt);
        self.cycle_began = now;
        self.aggregation.begin(now);
        self.start_pacing(srtt);
    }

    fn on_restart(&mut self, now: Nanos, _idle: Nanos) {
        // HandleRestartFromIdle
        self.restarting = true;
        self.aggregation.begin(now);
        if self.is_probing_bw() {
            self.pacing_rate = self.bandwidth() * f64::from(SEGMENT_BYTES) * PACING_MARGIN;
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.total_delivered = ack.total_delivered;
        self.total_lost = ack.total_lost;
        self.round_start = false;
        let due = self.min_rtt.update(ack.now, ack.rtt);
        if let Some(newest) = &ack.newest {
            let (sample, app_limited) = ack.rate.map_or((0.0, false), |rate| {
                (rate.delivered as f64 * NANOS_PER_S / rate.interval.max(1) as f64, rate.app_limited)
            });
            self.newest_in_flight = newest.in_flight;
            self.bounds.note_delivery(ack, newest, sample);
            self.update_bandwidth(newest, sample, app_limited);
            let probing = matches!(self.state, State::Startup | State::Refill | State::Up);
            self.bounds.adapt_short_term(probing, self.max_bandwidth.get(), self.window);
            self.aggregation.observe(ack, self.round_start, self.bandwidth(), self.window);
            self.full.check(sample, app_limited, self.round_start);
            self.check_startup(ack);
            self.update_phase(ack, newest, sample, app_limited);
            self.check_probe_rtt(ack, due);
            self.bounds.end_ack(ack, newest, sample);
        }
        let (pacing_gain, window_gain) = self.gains();
        self.set_pacing_rate(ack, pacing_gain);
        self.set_window(ack, window_gain);
    }

    fn on_packet_lost(&mut self, now: Nanos, packet: &AtSending) {
        // HandleLostPacket
        self.total_lost += 1;
        self.note_loss(now);
        let lost = self.total_lost.saturating_sub(packet.lost);
        if self.probing_samples && Bounds::is_too_high(packet.in_flight, lost) {
            self.handle_too_high(now, Bounds::in_flight_at_loss(packet.in_flight, lost), packet.app_limited);
        }
    }

    fn on_congestion(&mut self, kind: Congestion, now: Nanos) {
        match kind {
            Congestion::Ecn => self.on_mark(now),
            // OnEnterFastRecovery: the first loss has saved the state, and may have ended a probe.
            Congestion::Loss if self.undo.saved_at == Some(now) => {}
            // OnEnterRTO
            Congestion::Loss | Congestion::Timeout => self.save_state(now),
            // Part of the recovery under way.
            Congestion::RepeatedTimeout => self.save_window(),
        }
        if kind.is_timeout() {
            self.recovery = Recovery::Loss;
        }
    }

    fn on_timeout(&mut self, in_flight: u32) {
        // OnEnterRTO: "C.cwnd = C.inflight + 1"
        self.window = in_flight.saturating_add(1);
    }

    fn on_undo(&mut self, _now: Nanos) {
        self.handle_spurious_loss();
    }

    fn holds_back(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn bbr_model(&self) -> Option<BbrModel> {
        let (pacing_gain, window_gain) = self.gains();
        let bound = |packets| if packets == INFINITE { f64::INFINITY } else { f64::from(packets) };
        Some(BbrModel {
            state: self.state,
            rounds: self.rounds,
            full_bw_rounds: self.full.rounds(),
            max_bandwidth: self.max_bandwidth.get(),
            bandwidth_short_term: self.bounds.bandwidth_short_term,
            min_rtt: self.min_rtt.value,
            pacing_gain,
            window_gain,
            long_term: bound(self.bounds.long_term),
            short_term: bound(self.bounds.short_term),
            extra_acked: self.aggregation.excess(),
        })
    }

    fn window(&self) -> u32 {
        self.window
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some((self.pacing_rate as u64).max(1))
    }

    fn wants_rate_reduction(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
