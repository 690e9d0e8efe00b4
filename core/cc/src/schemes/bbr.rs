//! BBR, version 1 (Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016;
//! draft-cardwell-iccrg-bbr-congestion-control-00), with the additions of Linux's module.

mod cycle;
mod policer;
mod probe_rtt;

use policer::Policer;

use crate::parts::ack_aggregation::AckAggregation;
use crate::parts::path_model::{bdp_packets, burst_packets, initial_bandwidth};
use crate::parts::random::Random;
use crate::parts::windowed_max::WindowedMax;
use crate::{
    Ack, BbrModel, BbrState, Congestion, CongestionControl, Context, INITIAL_WINDOW, MILLISECOND,
    NANOS_PER_S, Nanos, Recovery, SECOND, SEGMENT_BYTES,
};

/// draft §4.3.2.1: 2 / ln 2, the smallest gain that doubles the rate each round; Linux's rounding.
const HIGH_GAIN: f64 = 739.0 / 256.0;
/// draft §4.3.3: its inverse.
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// draft §4.3.4.1: gains of a ProbeBW cycle, each for a min RTT.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
const WINDOW_GAIN: f64 = 2.0;
/// draft §4.1.1.3: length of the bandwidth filter in round trips.
const BANDWIDTH_ROUNDS: u64 = 10;
/// draft §4.1.2.3: lifetime of the min RTT, and duration of ProbeRTT with four packets.
const MIN_RTT_LIFE: Nanos = 10 * SECOND;
const PROBE_RTT_TIME: Nanos = 200 * MILLISECOND;
pub(crate) const WINDOW_MIN: u32 = 4;
/// draft §4.3.2.2: the pipe is full after three rounds with less than 25 % growth.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Linux's bbr_tso_segs_goal. Bursts have at least two packets, or one below bbr_min_tso_rate (1.2 Mbit/s, here in bytes
/// per second). They have at most 64 KiB less the largest headers (GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER).
const SINGLE_PACKETS_BELOW: f64 = 1_200_000.0 / 8.0;
const BURST_MAX: u32 = (65_536 - 1 - 320) / SEGMENT_BYTES;
/// Linux paces 1 % below the estimate to drain queues.
const PACING_MARGIN: f64 = 0.99;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    #[default]
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Models the path by bottleneck bandwidth and min RTT, and sends at that rate.
#[derive(Clone, Debug, Default)]
pub struct Bbr {
    pub(crate) mode: Mode,
    window: u32,
    /// Window before a recovery or ProbeRTT.
    prior_window: u32,
    /// Payload bytes per second.
    pacing_rate: f64,
    /// Packets per second over the last rounds.
    bandwidth: WindowedMax,
    pub(crate) min_rtt: Nanos,
    min_rtt_at: Nanos,
    probe_rtt_done: Option<Nanos>,
    probe_rtt_round_done: bool,
    rounds: u64,
    pub(crate) round_start: bool,
    /// The round ends with the delivery of a packet sent when this many had been delivered.
    next_round: u64,
    full_bandwidth: f64,
    full_rounds: u32,
    full: bool,
    pub(crate) phase: usize,
    phase_began: Nanos,
    pub(crate) pacing_gain: f64,
    window_gain: f64,
    recovery: Recovery,
    conserving: bool,
    pub(crate) restarting: bool,
    has_rtt: bool,
    aggregation: AckAggregation,
    policer: Option<Policer>,
    random: Random,
}

impl Bbr {
    pub fn new(context: &Context) -> Self {
        let mut bbr = Self {
            window: INITIAL_WINDOW,
            min_rtt: Nanos::MAX,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            policer: Some(Policer::default()),
            random: Random::new(context.seed),
            ..Self::default()
        };
        bbr.start_pacing(0);
        bbr
    }

    /// draft §4.2.1: without a bandwidth sample, pace the window over the RTT (1 ms if unknown).
    fn start_pacing(&mut self, srtt: Nanos) {
        self.has_rtt = srtt > 0;
        self.pacing_rate = pacing_rate(initial_bandwidth(self.window, srtt), HIGH_GAIN);
    }

    /// Make a BBR that does not look for policers.
    pub(crate) fn without_policer(context: &Context) -> Self {
        Self { policer: None, ..Self::new(context) }
    }

    /// Update the model except the min RTT; return the bandwidth sample of this ACK.
    pub(crate) fn update_model(&mut self, ack: &Ack) -> Option<f64> {
        let sample = self.update_bandwidth(ack);
        self.aggregation.observe(ack, self.round_start, self.bandwidth(), self.window);
        self.update_phase(ack);
        self.check_full(ack);
        self.check_drain(ack);
        sample
    }

    /// Restart the search for the bandwidth from `bandwidth` packets per second, because the path has changed.
    pub(crate) fn forget_bandwidth(&mut self, bandwidth: f64) {
        self.bandwidth = WindowedMax::since(self.rounds, bandwidth);
        self.full = false;
        self.full_bandwidth = 0.0;
        self.full_rounds = 0;
    }

    pub(crate) fn bandwidth(&self) -> f64 {
        self.policed_rate().unwrap_or_else(|| self.bandwidth.get())
    }

    fn policed_rate(&self) -> Option<f64> {
        self.policer.as_ref().and_then(Policer::rate)
    }

    fn update_bandwidth(&mut self, ack: &Ack) -> Option<f64> {
        self.round_start = false;
        let (Some(rate), Some(newest)) = (ack.rate, ack.newest) else { return None };
        if newest.delivered >= self.next_round {
            self.next_round = ack.total_delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserving = false;
        }
        let in_probe_bw = self.mode == Mode::ProbeBw;
        let round_start = self.round_start;
        let observed =
            |policer: &mut Policer| policer.observe(ack, round_start, in_probe_bw, rate.app_limited);
        if self.policer.as_mut().is_some_and(observed) {
            self.enter_probe_bw(ack.now);
        }
        let sample = rate.delivered as f64 * NANOS_PER_S / rate.interval.max(1) as f64;
        // A sample of an application-limited flow may only raise the estimate.
        if !rate.app_limited || sample >= self.bandwidth.get() {
            self.bandwidth.update(BANDWIDTH_ROUNDS, self.rounds, sample);
        }
        Some(sample)
    }

    /// draft §4.3.2.2
    fn check_full(&mut self, ack: &Ack) {
        if self.full || !self.round_start || ack.rate.is_some_and(|rate| rate.app_limited) {
            return;
        }
        if self.bandwidth.get() >= self.full_bandwidth * FULL_GROWTH {
            self.full_bandwidth = self.bandwidth.get();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    /// draft §4.3.3
    fn check_drain(&mut self, ack: &Ack) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && self.in_flight_when_sent(ack, ack.in_flight) <= self.in_flight_at(1.0)
        {
            self.enter_probe_bw(ack.now);
        }
    }

    pub(crate) fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policed_rate().is_some() => (1.0, WINDOW_GAIN),
            Mode::ProbeBw => (CYCLE[self.phase], WINDOW_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }

    /// Set the rate for `bandwidth` in packets per second.
    pub(crate) fn set_pacing_rate(&mut self, ack: &Ack, bandwidth: f64) {
        if !self.has_rtt && ack.srtt > 0 {
            self.start_pacing(ack.srtt);
        }
        let rate = pacing_rate(bandwidth, self.pacing_gain);
        if self.full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    pub(crate) fn set_window(&mut self, ack: &Ack, bandwidth: f64, probe_rtt_window: u32) {
        let acked = ack.delivered;
        if acked > 0 && !self.recovers(ack) {
            let mut target = bdp_packets(bandwidth, self.min_rtt, self.window_gain);
            if self.full {
                target += self.aggregation.window(self.bandwidth());
            }
            let target = self.with_bursts(target);
            let grown = self.window.saturating_add(acked);
            if self.full {
                self.window = grown.min(target);
            } else if self.window < target || ack.total_delivered < u64::from(INITIAL_WINDOW) {
                self.window = grown;
            }
            self.window = self.window.max(WINDOW_MIN);
        }
        if self.mode == Mode::ProbeRtt {
            self.window = self.window.min(probe_rtt_window);
        }
    }

    /// draft §4.2.3.4: conserve packets for a round when losses begin; restore the window when all are repaired.
    fn recovers(&mut self, ack: &Ack) -> bool {
        if ack.lost > 0 {
            self.window = self.window.saturating_sub(ack.lost).max(1);
        }
        let now = ack.recovery.without_marks();
        let prior = std::mem::replace(&mut self.recovery, now);
        if now == Recovery::Recovery && prior != Recovery::Recovery {
            self.conserving = true;
            self.next_round = ack.total_delivered;
            self.window = ack.in_flight + ack.delivered;
        } else if prior != Recovery::Open && now == Recovery::Open {
            self.window = self.window.max(self.prior_window);
            self.conserving = false;
        }
        if self.conserving {
            self.window = self.window.max(ack.in_flight + ack.delivered);
        }
        self.conserving
    }

    /// Return `gain` estimated bandwidth-delay products in packets.
    pub(crate) fn bdp(&self, gain: f64) -> u32 {
        bdp_packets(self.bandwidth(), self.min_rtt, gain)
    }

    /// draft §4.2.3.2: add room for bursts in the hosts, and for probing.
    fn with_bursts(&self, window: u32) -> u32 {
        let window = window.saturating_add(3 * self.burst()).next_multiple_of(2);
        if self.mode == Mode::ProbeBw && self.phase == 0 { window + 2 } else { window }
    }

    /// Linux's bbr_inflight of bbr_max_bw, which ignores the policer.
    fn in_flight_at(&self, gain: f64) -> u32 {
        self.with_bursts(bdp_packets(self.bandwidth.get(), self.min_rtt, gain))
    }

    /// Packets in flight when pacing releases the next burst (Linux's bbr_packets_in_net_at_edt). The burst counts if the
    /// gain is above 1. Packets delivered until then do not count.
    fn in_flight_when_sent(&self, ack: &Ack, in_flight: u32) -> u32 {
        let burst = if self.pacing_gain > 1.0 { self.burst() } else { 0 };
        let wait = ack.paced_until.saturating_sub(ack.now) as f64 / NANOS_PER_S;
        let delivered = (self.bandwidth() * wait) as u32;
        in_flight.saturating_add(burst).saturating_sub(delivered)
    }

    fn burst(&self) -> u32 {
        let least = if self.paces_single_packets() { 1 } else { 2 };
        burst_packets(self.pacing_rate, least, BURST_MAX)
    }
}

fn pacing_rate(bandwidth: f64, gain: f64) -> f64 {
    bandwidth * f64::from(SEGMENT_BYTES) * gain * PACING_MARGIN
}

impl CongestionControl for Bbr {
    fn on_start(&mut self, now: Nanos, srtt: Nanos) {
        // The handshake's RTT is often the only one without the flow's own queue.
        if srtt > 0 {
            self.min_rtt = srtt;
        }
        self.min_rtt_at = now;
        self.phase_began = now;
        self.aggregation.begin(now);
        self.start_pacing(srtt);
    }

    fn on_restart(&mut self, now: Nanos, _idle: Nanos) {
        self.restarting = true;
        self.aggregation.begin(now);
        // draft §4.3.4.4: restart at the estimated rate.
        if self.mode == Mode::ProbeBw {
            self.pacing_rate = pacing_rate(self.bandwidth(), 1.0);
        } else if self.mode == Mode::ProbeRtt && self.probe_rtt_done.is_some_and(|done| now > done) {
            self.leave_probe_rtt(now);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let _: Option<f64> = self.update_model(ack);
        self.update_min_rtt(ack);
        self.update_gains();
        let bandwidth = self.bandwidth();
        self.set_pacing_rate(ack, bandwidth);
        self.set_window(ack, bandwidth, WINDOW_MIN);
    }

    fn on_congestion(&mut self, kind: Congestion, _now: Nanos) {
        self.save_window();
        if kind.is_timeout() {
            self.recovery = Recovery::Loss;
            self.full_bandwidth = 0.0;
        }
    }

    fn on_timeout(&mut self, in_flight: u32) {
        // draft §4.2.3.4: "Upon an RTO: … cwnd = packets_in_flight + 1", as Linux's tcp_enter_loss.
        self.window = in_flight.saturating_add(1);
    }

    fn on_undo(&mut self, _now: Nanos) {
        self.full_bandwidth = 0.0;
        self.full_rounds = 0;
        if let Some(policer) = &mut self.policer {
            *policer = Policer::default();
        }
        self.window = self.window.max(self.prior_window);
    }

    fn holds_back(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }

    fn bbr_model(&self) -> Option<BbrModel> {
        let state = match self.mode {
            Mode::Startup => BbrState::Startup,
            Mode::Drain => BbrState::Drain,
            Mode::ProbeBw if self.pacing_gain > 1.0 => BbrState::Up,
            Mode::ProbeBw if self.pacing_gain < 1.0 => BbrState::Down,
            Mode::ProbeBw => BbrState::Cruise,
            Mode::ProbeRtt => BbrState::ProbeRtt,
        };
        Some(BbrModel {
            state,
            rounds: self.rounds,
            full_bw_rounds: self.full_rounds,
            // Linux's tcp_bbr_info has bbr_bw(), too: the policer's rate, if there is one.
            max_bandwidth: self.bandwidth(),
            bandwidth_short_term: f64::INFINITY,
            min_rtt: self.min_rtt,
            pacing_gain: self.pacing_gain,
            window_gain: self.window_gain,
            long_term: f64::INFINITY,
            short_term: f64::INFINITY,
            extra_acked: self.aggregation.excess(),
        })
    }

    fn window(&self) -> u32 {
        self.window.max(1)
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some((self.pacing_rate as u64).max(1))
    }

    fn paces_single_packets(&self) -> bool {
        self.pacing_rate < SINGLE_PACKETS_BELOW
    }

    fn wants_rate_reduction(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests;
