//! One flow: sender, receiver, what steers it and what was measured.

use std::sync::Arc;

use leo_cc::{CongestionControl, External, Scheme};
use leo_control::{AgentSpec, AgentState, FlowState, Policy, Report};
use leo_link::{NEVER, Nanos};
use leo_transport::{
    AckToSend, Handshake, ReceiveWindow, Receiver, SEGMENT_BYTES, SendBuffer, Sender, SenderStats,
};

use crate::ecn::Ecn;
use crate::histogram::Histogram;
use crate::packet::Packet;
use crate::route::Routes;
use crate::source::Source;
use crate::telemetry::Headers;
use crate::windows::Windows;

/// Who decides the window.
#[derive(Clone, Debug)]
pub enum Steering {
    /// The congestion control scheme itself.
    Scheme,
    /// A policy, every monitor interval.
    Policy(Arc<Policy>),
    /// Somebody outside, every monitor interval.
    Outside,
}

/// Where a flow is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Waiting,
    /// The handshake is under way.
    Connecting,
    Running,
    Stopped,
}

/// RTT samples, as a whole or over an interval of the series.
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

/// What a steered flow remembers between monitor intervals.
#[derive(Clone, Debug)]
pub struct Agent {
    pub state: AgentState,
    /// What a recurrent policy remembers.
    pub memory: Vec<f32>,
    pub history: FlowState,
    pub max_rate: u64,
    pub interval_start: Nanos,
    /// It stopped and its last report has been made.
    pub retired: bool,
    /// End of the monitor interval in which its last report was made.
    pub reported_at: Nanos,
    /// Length of its own monitor intervals and the end of the one under way, once its specification has told.
    pub pace: Option<(Nanos, Nanos)>,
}

/// A flow of the simulation.
#[derive(Debug)]
pub struct Flow {
    pub name: String,
    pub sender: Sender,
    pub receiver: Receiver,
    /// Sends instead of the sender, which stays closed.
    pub datagrams: Option<Box<Source>>,
    /// Writes what the sender sends; without it there is data without end, or a transfer.
    pub application: Option<Box<Source>>,
    /// Its buffers, where they are limited.
    pub windows: Option<Box<Windows>>,
    /// It understands marks (RFC 3168).
    pub ecn: bool,
    /// It has no datagrams, buffers, marks or headers, as [`Flow::settle`] found: packets need not ask for each.
    pub plain: bool,
    /// Opens the connection, until it is.
    pub handshake: Option<Box<Handshake>>,
    /// What it has to send, where that ends.
    pub transfer_bytes: Option<u64>,
    /// When the last of it was acknowledged.
    pub completed: Option<Nanos>,
    pub steering: Steering,
    pub agent: Option<Box<Agent>>,
    pub routes: Routes,
    pub extra_delay: Nanos,
    pub start: Nanos,
    pub stop: Nanos,
    pub phase: Phase,
    /// Propagation of the packet whose acknowledgement is being delayed.
    pub delayed_propagation: Nanos,
    /// Headers of its packets, if its scheme asks for telemetry.
    pub headers: Option<Box<Headers>>,
    /// The last timestamp of the receiver's that the sender knows, in ms.
    pub echo_ms: u32,
    pub rtt_log: RttLog,
    pub rtt_histogram: Histogram,
    /// What the histogram said before a flow that ended gave it up.
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
            datagrams: None,
            application: None,
            windows: None,
            ecn: false,
            plain: false,
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
            echo_ms: 0,
            rtt_log: RttLog::default(),
            rtt_histogram: Histogram::default(),
            rtt_p95: None,
            #[cfg(debug_assertions)]
            order: crate::order::Order::default(),
        }
    }

    /// Send datagrams instead, which nothing slows down.
    pub fn sending(mut self, datagrams: Source) -> Self {
        self.sender.close();
        self.datagrams = Some(Box::new(datagrams));
        self
    }

    /// Send what an application writes, as it does.
    pub fn writing(mut self, application: Source) -> Self {
        self.sender = self.sender.with_application();
        self.application = Some(Box::new(application));
        self
    }

    /// Send no more than buffers allow.
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

    /// It is as it will be from now on.
    pub fn settle(&mut self) {
        self.plain =
            self.datagrams.is_none() && self.windows.is_none() && self.headers.is_none() && !self.ecn;
    }

    /// The connection is there: let the application begin.
    pub fn run(&mut self, now: Nanos) {
        self.phase = Phase::Running;
        if let Some(source) = self.datagrams.as_mut().or(self.application.as_mut()) {
            source.start(now);
        }
        self.write(now);
        if let Some(windows) = &mut self.windows {
            windows.open(&mut self.sender, now, self.receiver.edge());
        }
    }

    /// Let the application write what is due.
    #[inline]
    pub fn write(&mut self, now: Nanos) {
        if let Some(application) = &mut self.application {
            while application.take(now) {
                self.sender.write(now, 1);
            }
        }
    }

    /// Send so many bytes and stop.
    pub fn transferring(mut self, bytes: u64) -> Self {
        self.sender = self.sender.with_transfer(bytes);
        self.transfer_bytes = Some(bytes);
        self
    }

    /// The last byte is acknowledged.
    #[cold]
    pub fn complete(&mut self, now: Nanos) {
        self.completed = Some(now);
        self.stop = now;
        self.end();
        self.headers = None;
    }

    /// Send and measure no more: what the flow no longer needs is given back, for there may be many.
    #[cold]
    pub fn end(&mut self) {
        self.phase = Phase::Stopped;
        self.sender.close();
        self.rtt_p95 = self.rtt_histogram.quantile(0.95);
        self.rtt_histogram = Histogram::default();
        self.windows = None;
    }

    /// 95 % of its RTT samples are below this.
    pub fn rtt_p95(&self) -> Option<Nanos> {
        self.rtt_p95.or_else(|| self.rtt_histogram.quantile(0.95))
    }

    /// Totals of what was sent.
    pub fn stats(&self) -> SenderStats {
        match &self.datagrams {
            Some(datagrams) => SenderStats { sent: datagrams.sent(), ..SenderStats::default() },
            None => self.sender.stats(),
        }
    }

    /// Packets that the application at the far end got.
    pub fn delivered(&self) -> u64 {
        match &self.datagrams {
            Some(datagrams) => datagrams.received(),
            None => self.receiver.delivered(),
        }
    }

    /// Bytes that the application at the far end got.
    pub fn delivered_bytes(&self) -> u64 {
        let bytes = self.delivered() * u64::from(SEGMENT_BYTES);
        // Only the last packet of a transfer is short.
        self.transfer_bytes.map_or(bytes, |all| bytes.min(all))
    }

    /// Begin to observe by `spec` what its own scheme does, whose window `holds` until it is asked.
    pub fn watch(&mut self, spec: AgentSpec, holds: bool) {
        self.sender.count_intervals();
        if holds {
            let scheme = self.sender.scheme().clone();
            *self.sender.scheme_mut() = scheme.held();
        }
        self.remember(spec);
    }

    /// Begin to steer it by `spec`.
    pub fn attach(&mut self, spec: AgentSpec) {
        if let Some(external) = self.sender.scheme_mut().external_mut() {
            if spec.action.is_over_cubic() {
                *external = External::new().over_cubic();
            } else if spec.action.sets_rate() {
                *external = External::new().pacing_single_packets();
            }
        }
        self.remember(spec);
    }

    fn remember(&mut self, spec: AgentSpec) {
        self.agent = Some(Box::new(Agent {
            state: AgentState::new(spec),
            memory: Vec::new(),
            history: FlowState::new(self.extra_delay),
            max_rate: 0,
            interval_start: self.start,
            retired: false,
            reported_at: 0,
            pace: None,
        }));
    }

    /// When it must be called next: to start, to change its route, to stop, or for a timer.
    #[inline]
    pub fn next_event(&self) -> Nanos {
        match self.phase {
            Phase::Waiting => self.start,
            Phase::Running => {
                let timers = match &self.datagrams {
                    Some(datagrams) => datagrams.next_packet(),
                    None => self.sender.next_timer().min(self.receiver.next_timer()),
                };
                let application = self.application.as_ref().map_or(NEVER, |source| source.next_packet());
                timers.min(application).min(self.routes.next_change()).min(self.stop)
            }
            Phase::Connecting => {
                let timer = self.handshake.as_ref().map_or(NEVER, |handshake| handshake.next_timer());
                timer.min(self.routes.next_change()).min(self.stop)
            }
            Phase::Stopped => NEVER,
        }
    }

    /// Packet `seq` leaves for a link before which `queued_bytes` wait.
    #[inline(never)]
    pub fn begin_header(&mut self, seq: u64, now: Nanos, queued_bytes: u64) {
        let header = self.sender.scheme().header().unwrap_or_default();
        if let Some(headers) = &mut self.headers {
            headers.begin(seq, self.sender.packets_out(), now, header, queued_bytes);
        }
    }

    /// Data arrives at a flow that is not plain.
    #[inline(never)]
    pub fn take_data(&mut self, packet: &Packet, now: Nanos) -> Option<AckToSend> {
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.on_received();
            return None;
        }
        if !packet.ecn.says_nothing() {
            self.receiver.on_ecn(packet.ecn.is_answer(), packet.ecn.is_marked());
        }
        self.receiver.on_data(now, packet.seq, packet.timestamp, packet.left_ms(now))
    }

    /// An acknowledgement that says `marked` leaves a flow that is not plain.
    #[inline(never)]
    pub fn give_ack(&mut self, packet: &mut Packet, marked: bool) {
        packet.ecn = Ecn::of_ack(marked);
        if let Some(windows) = &mut self.windows {
            windows.announce(packet.seq, self.receiver.edge());
        }
        if let Some(headers) = &mut self.headers {
            headers.answer(packet);
        }
    }

    /// An acknowledgement is about to be taken in by a flow that is not plain: what the packet that it answers met. True
    /// when that was marked.
    #[inline(never)]
    pub fn take_telemetry(&mut self, ack: &Packet, now: Nanos) -> bool {
        if let Some(hops) = self.headers.as_mut().and_then(|headers| headers.acknowledged(ack)) {
            self.sender.scheme_mut().on_telemetry(now, hops);
        }
        ack.ecn.is_echo()
    }

    /// It has been taken in.
    #[inline(never)]
    pub fn open_window(&mut self, ack: &Packet, now: Nanos) {
        if let Some(windows) = &mut self.windows {
            windows.on_ack(&mut self.sender, now, ack.seq);
        }
    }

    /// An RTT sample, with the propagation that the packet and its acknowledgement had.
    #[inline]
    pub fn record_rtt(&mut self, rtt: Nanos, base: Nanos) {
        if rtt < base && self.routes.change() {
            // A packet on the new route was acknowledged by the echo of one that came later on the old, longer one.
            return;
        }
        debug_assert!(rtt >= base, "an RTT of {rtt} ns on a path of {base} ns");
        self.rtt_log.record(rtt, base.max(1));
        self.rtt_histogram.record(rtt);
    }

    /// The report of the monitor interval that ends at `now`; `None` unless it is steered, has started and is not retired.
    pub fn report(&mut self, now: Nanos) -> Option<Report> {
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
            cwnd: leo_cc::CongestionControl::window(self.sender.scheme()),
            packets_out: self.sender.packets_out(),
            retrans_out: self.sender.retransmissions_out(),
            mss: SEGMENT_BYTES,
            pacing_rate: leo_cc::CongestionControl::pacing_rate(self.sender.scheme()).unwrap_or(0),
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
