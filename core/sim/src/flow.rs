//! A flow: sender, receiver, steering and measurements.

mod foreseen;
mod load;
mod telemetry;

pub use load::Load;

use std::ops::RangeInclusive;
use std::sync::Arc;

use leo_cc::{CongestionControl, External, Scheme};
use leo_control::{AgentSpec, AgentState, FlowState, KnownRanges, Policy, Report};
use leo_link::{Codepoint, Histogram, NEVER, Nanos};
use leo_transport::{
    AckToSend, EcnMode, HEADER_BYTES, Handshake, ReceiveWindow, Receiver, SEGMENT_BYTES, SendBuffer, Sender,
    SenderStats,
};

use crate::ecn::Ecn;
use crate::oracle::Oracle;
use crate::packet::{Head, Packet};
use crate::route::Routes;
use crate::stack_flow::StackFlow;
use crate::telemetry::Headers;
use crate::windows::Windows;

/// RTTs are counted in units of 1.024 µs: fine enough, with few buckets for small values.
const RTT_UNIT_LOG2: u32 = 10;

/// The source of the window.
#[derive(Clone, Debug)]
pub enum Steering {
    /// The congestion control scheme itself.
    Scheme,
    /// A policy, every monitor interval.
    Policy(Arc<Policy>),
    /// The caller (an agent), every monitor interval.
    Outside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Waiting,
    Connecting,
    Running,
    Stopped,
}

#[derive(Clone, Debug, Default)]
pub struct RttLog {
    pub samples: u64,
    pub sum: Nanos,
    pub base_sum: Nanos,
    pub inflation_sum: f64,
}

impl RttLog {
    #[inline]
    fn record(&mut self, rtt: Nanos, base: Nanos) {
        self.samples += 1;
        self.sum += rtt;
        self.base_sum += base;
        self.inflation_sum += rtt as f64 / base as f64;
    }
}

/// The state that a steered flow keeps between monitor intervals.
#[derive(Clone, Debug)]
pub struct Agent {
    pub state: AgentState,
    /// Hidden state of a recurrent policy.
    pub memory: Vec<f32>,
    pub history: FlowState,
    pub max_rate: u64,
    pub interval_start: Nanos,
    /// The flow has stopped and made its last report.
    pub retired: bool,
    /// End of the interval of its last report.
    pub reported_at: Nanos,
    /// Length of its monitor intervals and end of the current interval, if its specification sets them.
    pub pace: Option<(Nanos, Nanos)>,
}

/// In the order of use: with many flows, the cache lines that a packet touches dominate its cost.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Flow {
    /// No datagrams, buffers, ECN, telemetry or foresight, so the packet path skips these checks ([`Flow::settle`]).
    pub plain: bool,
    /// Plain and running.
    pub runs_plainly: bool,
    /// As plain, but with telemetry; and running.
    pub measured: bool,
    pub runs_measured: bool,
    pub phase: Phase,
    /// How the flow uses ECN, and what its data packets carry.
    ecn: EcnMode,
    codepoint: Codepoint,
    /// The receiver's last timestamp known to the sender, in ms.
    pub echo_ms: u32,
    /// Propagation delay of the packet whose ACK is delayed.
    pub delayed_propagation: Nanos,
    pub routes: Routes,
    pub receiver: Receiver,
    pub rtt_log: RttLog,
    /// A bucket's midpoint is within 1/512 of all its values.
    rtt_histogram: Histogram<8>,
    pub sender: Sender,
    pub name: String,
    /// The source of its data. Without it, the flow is backlogged or a transfer.
    pub load: Option<Box<Load>>,
    /// Send and receive buffers, if limited.
    pub windows: Option<Box<Windows>>,
    /// The handshake until the connection is open.
    pub handshake: Option<Box<Handshake>>,
    /// Transfer size; `None` for an unlimited flow.
    pub transfer_bytes: Option<u64>,
    /// When the transfer's last byte was acknowledged.
    pub completed: Option<Nanos>,
    pub steering: Steering,
    pub agent: Option<Box<Agent>>,
    pub extra_delay: Nanos,
    pub start: Nanos,
    pub stop: Nanos,
    /// Telemetry headers of its packets, if its scheme needs telemetry.
    pub headers: Option<Box<Headers>>,
    /// The oracle that decides when its packets leave, for the scheme `oracle`.
    pub oracle: Option<Box<Oracle>>,
    /// The 95th percentile, saved when the flow ends and frees its histogram.
    rtt_p95: Option<Nanos>,
    #[cfg(debug_assertions)]
    pub order: crate::order::Order,
}

impl Flow {
    pub fn new(
        name: String,
        scheme: Scheme,
        steering: Steering,
        routes: Routes,
        extra_delay: Nanos,
        start: Nanos,
        stop: Nanos,
    ) -> Self {
        let steered = !matches!(steering, Steering::Scheme);
        Self {
            name,
            sender: Sender::new(scheme, steered),
            receiver: Receiver::new(),
            load: None,
            windows: None,
            ecn: EcnMode::Off,
            codepoint: Codepoint::NotEct,
            plain: false,
            runs_plainly: false,
            measured: false,
            runs_measured: false,
            handshake: None,
            transfer_bytes: None,
            completed: None,
            steering,
            agent: None,
            routes,
            extra_delay,
            start,
            stop,
            phase: Phase::Waiting,
            delayed_propagation: 0,
            headers: None,
            oracle: None,
            echo_ms: 0,
            rtt_log: RttLog::default(),
            rtt_histogram: Histogram::default(),
            rtt_p95: None,
            #[cfg(debug_assertions)]
            order: crate::order::Order::default(),
        }
    }

    /// Limit the flow by its buffers.
    pub fn within(mut self, receive: Option<ReceiveWindow>, send: Option<SendBuffer>) -> Self {
        if send.is_some() {
            self.sender = self.sender.with_buffer();
        }
        let windows = Windows::new(receive.is_some(), send);
        if let Some(window) = receive {
            self.receiver = Receiver::with_window(window);
        }
        self.windows = Some(Box::new(windows));
        self
    }

    /// Set `plain` and `measured`, once the flow is configured.
    pub fn settle(&mut self) {
        let asks = matches!(self.load.as_deref(), Some(Load::Connection(_)));
        let has_extras = asks
            || self.sends_datagrams()
            || self.windows.is_some()
            || self.oracle.is_some()
            || self.ecn != EcnMode::Off;
        self.plain = !has_extras && self.headers.is_none();
        self.measured = !has_extras && self.headers.is_some();
    }

    /// Handle every packet and every ACK the general way.
    pub fn avoid_shortcuts(&mut self) {
        (self.plain, self.measured) = (false, false);
        self.sender.avoid_shortcuts();
    }

    /// Use ECN in the mode that the flow's ends have agreed on.
    pub fn use_ecn(&mut self, mode: EcnMode) {
        self.ecn = mode;
        self.sender.use_ecn(mode);
        // RFC 9331 §4.1: ECT(1) for senders that "require L4S treatment"; RFC 3168 has one more codepoint.
        self.codepoint = match mode {
            EcnMode::Off => Codepoint::NotEct,
            EcnMode::Accurate if self.sender.scheme().is_scalable() => Codepoint::Ect1,
            EcnMode::Classic | EcnMode::Accurate => Codepoint::Ect0,
        };
        if mode == EcnMode::Accurate {
            self.receiver.use_accurate_ecn();
        }
    }

    /// Return the ECN bits of the data packet that leaves now.
    #[inline(never)]
    pub fn ecn_of(&mut self, retransmission: bool) -> Ecn {
        // RFC 3168 §6.1.5: retransmissions are not ECN-capable. With accurate ECN they may be (RFC 8311 §4.3), and in Linux
        // they are.
        if self.ecn == EcnMode::Off || (retransmission && self.ecn == EcnMode::Classic) {
            return Ecn::default();
        }
        Ecn::of_data(self.codepoint, self.sender.take_report())
    }

    /// Start the application after the connection is open.
    pub fn run(&mut self, now: Nanos) {
        self.phase = Phase::Running;
        (self.runs_plainly, self.runs_measured) = (self.plain, self.measured);
        if let Some(load) = &mut self.load {
            load.start(now);
        }
        self.write(now);
        if let Some(windows) = &mut self.windows {
            windows.open(&mut self.sender, now, self.receiver.edge());
        }
    }

    /// Stop after `bytes` bytes.
    pub fn transferring(mut self, bytes: u64) -> Self {
        self.sender = self.sender.with_transfer(bytes);
        self.transfer_bytes = Some(bytes);
        self
    }

    #[cold]
    pub fn complete(&mut self, now: Nanos) {
        self.completed = Some(now);
        self.stop = now;
        self.end();
        self.headers = None;
    }

    /// Stop sending and measuring, and free memory: there may be many flows.
    #[cold]
    pub fn end(&mut self) {
        self.phase = Phase::Stopped;
        (self.runs_plainly, self.runs_measured) = (false, false);
        self.sender.close();
        self.rtt_p95 = self.rtt_p95();
        self.rtt_histogram = Histogram::default();
        self.windows = None;
    }

    /// Return the 95th percentile of the RTT samples.
    pub fn rtt_p95(&self) -> Option<Nanos> {
        let midpoint =
            |bucket: RangeInclusive<u64>| (bucket.start() + bucket.end() + 1) << (RTT_UNIT_LOG2 - 1);
        self.rtt_p95.or_else(|| self.rtt_histogram.bucket_at(0.95).map(midpoint))
    }

    pub fn stats(&self) -> SenderStats {
        if let Some(stats) = self.stack().map(StackFlow::stats) {
            // QUIC sends the frames of lost packets again (RFC 9002 §3).
            return SenderStats {
                sent: stats.sent_packets,
                lost: stats.lost_packets,
                retransmitted: stats.lost_packets,
                timeouts: stats.probe_timeouts,
                ..SenderStats::default()
            };
        }
        match self.load.as_ref().and_then(|load| load.datagrams()) {
            Some([sent, ..]) => SenderStats { sent, ..SenderStats::default() },
            None => self.sender.stats(),
        }
    }

    /// Return the packets delivered to the receiving application.
    pub fn delivered(&self) -> u64 {
        match self.load.as_ref().and_then(|load| load.datagrams()) {
            Some([_, received, _]) => received,
            None => self.receiver.delivered(),
        }
    }

    /// Return the bytes delivered to the receiving application.
    pub fn delivered_bytes(&self) -> u64 {
        if let Some([.., payload]) = self.load.as_ref().and_then(|load| load.datagrams()) {
            return payload;
        }
        let bytes = self.delivered() * u64::from(SEGMENT_BYTES);
        // Only the last packet of a transfer is short.
        self.transfer_bytes.map_or(bytes, |all| bytes.min(all))
    }

    /// Observe the flow's own scheme with `spec`; `holds` keeps its window until `control_loop::follow`.
    pub fn watch(&mut self, spec: AgentSpec, holds: bool) {
        self.sender.count_intervals();
        if holds {
            let scheme = self.sender.scheme().clone();
            *self.sender.scheme_mut() = scheme.held();
        }
        self.observe_with(spec, None);
    }

    /// Steer the flow by actions of `spec`, and fall back beyond `known_ranges`.
    pub fn attach(&mut self, spec: AgentSpec, known_ranges: Option<KnownRanges>) {
        self.sender.scheme_mut().change_external(|external| {
            if spec.action.is_over_cubic() {
                *external = External::new().over_cubic();
            } else if spec.action.sets_rate() {
                *external = External::new().pacing_single_packets();
            }
        });
        self.observe_with(spec, known_ranges);
    }

    fn observe_with(&mut self, spec: AgentSpec, known_ranges: Option<KnownRanges>) {
        self.agent = Some(Box::new(Agent {
            state: AgentState::new(spec).guarded(known_ranges),
            memory: Vec::new(),
            history: FlowState::new(self.extra_delay),
            max_rate: 0,
            interval_start: self.start,
            retired: false,
            reported_at: 0,
            pace: None,
        }));
    }

    /// Return when the flow next starts, stops, changes its route or has a timer due.
    #[inline]
    pub fn next_event(&self) -> Nanos {
        match self.phase {
            Phase::Waiting => self.start,
            Phase::Running => {
                // The timers of a sender of datagrams never expire.
                let timers = self.sender.next_timer().min(self.receiver.next_timer());
                let load = self.next_of_load();
                let oracle = self.oracle.as_ref().map_or(NEVER, |oracle| oracle.wakes());
                timers.min(load).min(oracle).min(self.routes.next_change()).min(self.stop)
            }
            Phase::Connecting => {
                let timer = self.handshake.as_ref().map_or(NEVER, |handshake| handshake.next_timer());
                timer.min(self.routes.next_change()).min(self.stop)
            }
            Phase::Stopped => NEVER,
        }
    }

    /// Return whether its event at `now` does nothing: the timer that it was for was moved back, and the window is full, as it was
    /// after the last call that sent packets.
    #[inline]
    pub fn wakes_in_vain(&self, now: Nanos) -> bool {
        (self.runs_plainly || self.runs_measured) && self.sender.is_full() && self.next_event() > now
    }

    /// Process data that arrives at a flow that is not plain.
    #[inline(never)]
    pub fn take_data(&mut self, packet: &Head, now: Nanos) -> Option<AckToSend> {
        if self.load.as_mut().is_some_and(|load| load.take_datagram(packet, now)) {
            return None;
        }
        if self.ecn == EcnMode::Accurate {
            let telemetry = self.headers.as_ref().map_or(0, |headers| headers.added_bytes(packet));
            let payload = u32::from(packet.bytes) - HEADER_BYTES - telemetry;
            self.receiver.on_ecn_bits(packet.ecn.codepoint() as u8, payload);
        } else if !packet.ecn.says_nothing() {
            self.receiver.on_ecn(packet.ecn.is_answer(), packet.ecn.is_marked());
        }
        self.receiver.on_data(now, packet.seq, packet.timestamp, packet.left_ms(now))
    }

    #[inline(never)]
    pub fn open_window(&mut self, ack: &Packet, now: Nanos) {
        if let Some(windows) = &mut self.windows {
            windows.on_ack(&mut self.sender, now, ack.seq);
        }
    }

    /// Record an RTT sample; `base` is the propagation delay of the packet and its ACK.
    #[inline]
    pub fn record_rtt(&mut self, rtt: Nanos, base: Nanos) {
        if rtt < base && self.routes.change() {
            // After a reroute, a late packet from the old, longer route can supply the echo for a new one.
            return;
        }
        debug_assert!(rtt >= base, "an RTT of {rtt} ns on a path of {base} ns");
        self.rtt_log.record(rtt, base.max(1));
        self.rtt_histogram.record(rtt >> RTT_UNIT_LOG2);
    }

    /// Return the report of the interval that ends at `now`; `None` for unsteered, waiting and retired flows.
    pub fn report(&mut self, now: Nanos) -> Option<Report> {
        let (cwnd, pacing_rate) = (self.desired_window(now), self.pacing_rate(now));
        let agent = self.agent.as_mut().filter(|agent| !agent.retired)?;
        if matches!(self.phase, Phase::Waiting | Phase::Connecting) {
            return None;
        }
        agent.retired = self.phase == Phase::Stopped;
        agent.reported_at = now;
        let end = now.min(self.stop);
        let sums = self.sender.take_interval();
        let mean_rate = sums.mean_rate().unwrap_or(0);
        agent.max_rate = agent.max_rate.max(mean_rate);
        let rtt = self.sender.rtt();
        let min_rtt = if rtt.min() == Nanos::MAX { 0 } else { rtt.min() };
        let bytes = |packets: u64| packets * u64::from(SEGMENT_BYTES);
        let report = Report {
            time_ns: end,
            interval_ns: end.saturating_sub(agent.interval_start),
            delivered_bytes: bytes(sums.delivered_packets),
            sent_bytes: bytes(sums.sent_packets),
            lost_bytes: bytes(sums.lost_packets),
            avg_throughput: mean_rate,
            avg_rtt_us: micros(sums.mean_rtt().unwrap_or(0)),
            rtt_samples: sums.rtt_samples,
            min_rtt_us: micros(min_rtt),
            srtt_us: micros(rtt.smoothed()),
            rttvar_us: micros(rtt.deviation()),
            cwnd,
            packets_out: self.sender.packets_out(),
            retrans_out: self.sender.retransmissions_out(),
            mss: SEGMENT_BYTES,
            pacing_rate: pacing_rate.unwrap_or(0),
            max_throughput: agent.max_rate,
            ssthresh: leo_cc::CongestionControl::slow_start_threshold(self.sender.scheme()),
            rtt_slope: sums.rtt_slope(),
        };
        agent.interval_start = end;
        agent.history.observe(&report);
        agent.state.observe(&report);
        Some(report)
    }
}

fn micros(time: Nanos) -> u32 {
    u32::try_from(time / 1000).unwrap_or(u32::MAX)
}
