//! The event loop: packets, acknowledgements and timers in order of time.

mod connecting;
mod oracles;
mod running;

use leo_link::{Interrupted, Link, NEVER, Nanos, Offer, STRIDE, Stop};
use leo_transport::{ACK_BYTES, AckToSend, HEADER_BYTES, PACKET_BYTES};

use crate::control_loop;
use crate::ecn::Ecn;
use crate::events::{EventQueue, Source};
use crate::flow::{Flow, Phase};
use crate::interrupted::Unbuilt;
use crate::network::{self, Network, PolicySet, TraceSet};
use crate::packet::{Head, Kind, Packet};
use crate::path::{Next, Paths};
use crate::run_log::{FlowSeries, LinkSeries, Recorder, RunLog};
use crate::scenario::{Scenario, nanos};
use crate::telemetry::{Port, bandwidth_bps};

/// The shortest monitor interval.
pub(crate) const MIN_INTERVAL: Nanos = 1_000_000;

/// A simulation of a scenario. A clone runs on as the original does.
#[derive(Clone)]
pub struct Simulation {
    now: Nanos,
    end: Nanos,
    links: Vec<Link<Packet>>,
    /// Names and indices of the links in the run log.
    logged_links: Vec<(String, usize)>,
    flows: Vec<Flow>,
    /// Indices of flows that policies steer.
    steered: Box<[usize]>,
    paths: Paths,
    ports: Vec<Port>,
    events: EventQueue,
    recorder: Recorder,
    /// The monitor interval; `next_tick` is its next end.
    interval: Nanos,
    next_tick: Nanos,
    /// Units of work until the caller is asked whether to stop.
    units_left: u32,
}

impl Simulation {
    /// Build the simulation of `scenario`.
    ///
    /// `interval` is the monitor interval of policies, `series_interval` that of the run log's series (0:
    /// none).
    ///
    /// # Errors
    /// A trace or scheme of the scenario is unknown, or `stop` returned true.
    ///
    /// # Panics
    /// When `interval` is 0.
    pub fn new(
        scenario: &Scenario,
        traces: &TraceSet,
        policies: &PolicySet,
        interval: Nanos,
        series_interval: Nanos,
        stop: Stop<'_>,
    ) -> Result<Self, Unbuilt> {
        assert!(interval > 0, "the interval must be positive");
        let Network { links, logged_links, mut flows, paths, ports } =
            network::build(scenario, traces, policies, stop)?;
        let steered = control_loop::attach_policies(&mut flows);
        let mut events = EventQueue::new(links.len(), flows.len());
        for (index, flow) in flows.iter().enumerate() {
            events.set_flow(index, flow.next_event());
        }
        Ok(Self {
            now: 0,
            end: nanos(scenario.duration_s, 1e9),
            recorder: Recorder::new(
                series_interval,
                nanos(scenario.duration_s, 1e9),
                flows.len(),
                logged_links.len(),
            ),
            links,
            logged_links,
            flows,
            steered,
            paths,
            ports,
            events,
            interval,
            next_tick: interval,
            units_left: STRIDE,
        })
    }

    /// Return the simulated time.
    pub const fn now(&self) -> Nanos {
        self.now
    }

    /// Return the scenario's end.
    pub const fn end(&self) -> Nanos {
        self.end
    }

    /// Return whether the end is reached.
    pub const fn is_finished(&self) -> bool {
        self.now >= self.end
    }

    pub(crate) fn flows(&self) -> &[Flow] {
        &self.flows
    }

    pub(crate) const fn steered(&self) -> &[usize] {
        &self.steered
    }

    pub(crate) fn flow_mut(&mut self, flow: usize) -> &mut Flow {
        &mut self.flows[flow]
    }

    pub(crate) fn links(&self) -> &[Link<Packet>] {
        &self.links
    }

    /// Set the length of the interval that starts now, and of later ones.
    pub(crate) fn set_interval(&mut self, interval: Nanos) {
        self.interval = interval.max(MIN_INTERVAL);
        self.next_tick = self.now + self.interval;
    }

    /// Remove and return the series' rows since the last call, to bound memory in long runs.
    pub fn take_series(&mut self) -> (FlowSeries, LinkSeries) {
        self.recorder.take()
    }

    /// Iterate over the scheme names of the flows.
    pub fn flow_schemes(&self) -> impl Iterator<Item = &str> {
        self.flows.iter().map(|flow| flow.name.as_str())
    }

    /// Iterate over the names of the logged links.
    pub fn link_names(&self) -> impl Iterator<Item = &str> {
        self.logged_links.iter().map(|(name, _)| name.as_str())
    }

    /// Return the run log so far, with the series' rows that [`Self::take_series`] has not removed.
    #[must_use]
    pub fn run_log(&mut self) -> RunLog {
        self.recorder.finish(self.now, &self.flows, &mut self.links, &self.logged_links)
    }

    /// Run all events up to and including `until`.
    fn run_events(&mut self, until: Nanos, stop: Stop<'_>) -> Result<(), Interrupted> {
        let observed = !self.ports.is_empty();
        // In a register: each event counts as a unit.
        let mut units_left = self.units_left;
        loop {
            let (time, source) = self.events.first();
            if time > until {
                self.units_left = units_left;
                return Ok(());
            }
            units_left -= 1;
            if units_left == 0 {
                self.spend(STRIDE, stop)?;
                units_left = STRIDE;
            }
            debug_assert!(time >= self.now, "time runs backwards");
            self.now = time;
            match source {
                Source::Link(link) => {
                    while let Some(mut packet) = self.links[link].poll(time) {
                        if observed {
                            packet.bytes += self.note_passage(packet, link);
                        }
                        self.arrive(packet);
                    }
                    self.events.set_link(link, self.links[link].next_event());
                }
                Source::Flow(flow) => self.run_flow(flow),
            }
        }
    }

    /// Forward a packet that leaves a link to the next link or to its endpoint.
    #[inline]
    fn arrive(&mut self, mut packet: Packet) {
        packet.hop += 1;
        if let Some(next) = self.paths.next(packet.path, packet.kind.goes_back(), packet.hop) {
            self.send_on(next, packet);
            return;
        }
        #[cfg(debug_assertions)]
        self.check_order(&packet);
        let phase = self.flows[packet.flow as usize].phase;
        if phase == Phase::Running {
            match packet.kind {
                Kind::Data => self.received(packet),
                Kind::Ack => self.acknowledged(packet),
                Kind::Syn => self.answer_syn(packet),
                Kind::SynAck => {}
            }
        } else if phase == Phase::Connecting {
            self.shake_hands(packet);
        }
    }

    #[cfg(debug_assertions)]
    fn check_order(&mut self, packet: &Packet) {
        let parts = (0..packet.hop)
            .map_while(|hop| self.paths.next(packet.path, packet.kind.goes_back(), hop))
            .any(|next| self.links[next.link() as usize].parts_codepoints());
        self.flows[packet.flow as usize].order.check(packet, parts);
    }

    /// Update the telemetry header of a packet that leaves the link `from`. Return the bytes by which the packet grows.
    #[inline(never)]
    fn note_passage(&mut self, packet: Packet, from: usize) -> u16 {
        let flow = &mut self.flows[packet.flow as usize];
        let Some(headers) = flow.headers.as_mut().filter(|_| packet.kind == Kind::Data) else { return 0 };
        let mut grows = 0;
        // Access links have no port: they model distance, not a switch.
        if let Some(port) = self.ports.get_mut(from) {
            let departure = self.links[from].last_departure();
            let rate = bandwidth_bps(self.links[from].schedule(), departure.at);
            grows = headers.leave(&packet, port, from as u32, rate, departure);
        }
        let next = self.paths.next(packet.path, false, packet.hop + 1);
        let queued_bytes = next.map(|next| self.links[next.link() as usize].queued_bytes(self.now));
        headers.go_on(&packet, queued_bytes);
        grows
    }

    fn received(&mut self, packet: Packet) {
        let index = packet.flow as usize;
        let flow = &mut self.flows[index];
        if packet.ecn.pushes() {
            flow.receiver.on_push();
        }
        let ack = if flow.plain {
            flow.receiver.on_data(self.now, packet.seq, packet.timestamp, packet.left_ms(self.now))
        } else {
            flow.take_data(&packet, self.now)
        };
        match ack {
            Some(ack) => {
                let mut propagation = packet.propagation;
                if flow.receiver.next_timer() != NEVER {
                    // This packet waits for a delayed ACK; the ACK that leaves now answers earlier packets.
                    std::mem::swap(&mut propagation, &mut flow.delayed_propagation);
                }
                self.send_ack(index, ack, propagation);
            }
            None => {
                flow.delayed_propagation = packet.propagation;
                let timer = flow.receiver.next_timer();
                self.events.set_flow_earlier(index, timer);
            }
        }
    }

    fn acknowledged(&mut self, packet: Packet) {
        let index = packet.flow as usize;
        let flow = &mut self.flows[index];
        let marked = !flow.plain && flow.take_feedback(&packet, self.now);
        let left_ms = packet.left_ms(self.now);
        flow.echo_ms = left_ms;
        let ack = AckToSend {
            cumulative: packet.seq,
            sacks: packet.sacks,
            echo: packet.timestamp,
            left_ms,
            marked,
        };
        if let Some(rtt) = flow.sender.on_ack(self.now, &ack) {
            flow.record_rtt(rtt, packet.propagation);
        }
        if !flow.plain {
            flow.open_window(&packet, self.now);
        }
        if flow.sender.is_finished() {
            flow.complete(self.now);
            self.note_change(index);
        }
        self.pump(index);
    }

    fn send_ack(&mut self, index: usize, ack: AckToSend, propagation: Nanos) {
        let flow = &mut self.flows[index];
        let path = flow.routes.path();
        let head = Head {
            seq: ack.cumulative,
            timestamp: ack.echo,
            sent_ms_low: ack.left_ms as u16,
            propagation,
            ..Head::new(Kind::Ack, ACK_BYTES, index, path)
        };
        let mut packet = Packet { sacks: ack.sacks, ..head.into() };
        if !flow.plain {
            flow.give_ack(&mut packet, ack.marked);
        }
        self.send_back(packet);
    }

    #[inline]
    fn send_back(&mut self, packet: Packet) {
        if let Some(first) = self.paths.next(packet.path, true, 0) {
            self.send_on(first, packet);
        }
    }

    /// Send the packets that the flow may send now, and update its timers.
    pub(crate) fn pump(&mut self, index: usize) {
        self.send_allowed(index, true);
    }

    /// Send the packets that the flow may send now; `then_arm` also updates its timers.
    #[inline(never)]
    fn send_allowed(&mut self, index: usize, then_arm: bool) {
        if !self.flows[index].plain {
            self.look_around(index);
        }
        let pushes = self.flows[index].oracle.is_none();
        let flow = &mut self.flows[index];
        let path = flow.routes.path();
        let link_index = self.paths.first(path) as usize;
        let link = &mut self.links[link_index];
        let echo = flow.echo_ms as u16;
        let idle = link.next_event() == NEVER;
        let send = |link: &mut Link<Packet>, seq, bytes: u32, ecn| {
            // The result is ignored: the sender detects a drop like any other loss.
            let head = Head::new(Kind::Data, bytes, index, path);
            let packet = Head { ecn, seq, timestamp: self.now, sent_ms_low: echo, ..head }.into();
            let _: Offer = link.offer(packet, self.now);
        };
        if let Some(datagrams) = &mut flow.datagrams {
            while datagrams.take(self.now) {
                send(link, datagrams.sent(), PACKET_BYTES, Ecn::default());
            }
        } else {
            let plain = flow.plain;
            while plain || flow.may_send(self.now) {
                let Some(transmit) = flow.sender.transmit(self.now) else { break };
                if !plain {
                    flow.note_sent(self.now, transmit.seq);
                }
                let mut bytes = flow.sender.payload_bytes(transmit.seq) + HEADER_BYTES;
                if !plain && flow.headers.is_some() {
                    bytes += flow.begin_header(transmit.seq, self.now, link.queued_bytes(self.now));
                }
                let ecn = if plain { Ecn::default() } else { flow.ecn_of(transmit.retransmission) };
                send(link, transmit.seq, bytes, ecn.pushing(pushes && transmit.pushes));
            }
            if !plain {
                flow.end_sending(self.now);
            }
            debug_assert!(flow.sender.is_watched(self.now), "no timer covers the flight: {flow:?}");
        }
        if idle {
            self.events.set_link(link_index, link.next_event());
        }
        if then_arm {
            self.events.set_flow_earlier(index, flow.next_event());
        }
    }

    #[inline]
    fn send_on(&mut self, next: Next, mut packet: Packet) {
        match next {
            Next::Link(link) => self.offer(link, self.now, packet),
            Next::LastTwo(first, last) => {
                let at = self.links[first as usize].cross(&mut packet, self.now);
                packet.hop += 1;
                self.offer(last, at, packet);
            }
        }
    }

    /// Offer `packet` to a link at time `at`, which may be later than now if the link only delays.
    #[inline]
    fn offer(&mut self, link: u32, at: Nanos, packet: Packet) {
        let link = link as usize;
        let idle = self.links[link].next_event() == NEVER;
        self.links[link].offer(packet, at);
        if idle {
            self.events.set_link(link, self.links[link].next_event());
        }
    }

    /// Run a flow's event: start, reroute, stop or timer.
    fn run_flow(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        if flow.routes.next_change() <= self.now {
            flow.routes.follow(self.now);
            self.note_change(index);
        }
        let flow = &mut self.flows[index];
        match flow.phase {
            Phase::Waiting if self.now >= flow.start => {
                if flow.handshake.is_some() {
                    flow.phase = Phase::Connecting;
                    self.connect(index);
                } else {
                    if flow.datagrams.is_none() {
                        // The connection exists: it has measured its path.
                        let rtt = self.rtt_of_path(index);
                        self.flows[index].sender.expect_rtt(rtt);
                        self.flows[index].sender.start(self.now);
                    }
                    let flow = &mut self.flows[index];
                    flow.run(self.now);
                    self.note_change(index);
                    self.send_allowed(index, false);
                }
            }
            Phase::Running | Phase::Connecting if self.now >= flow.stop => {
                flow.end();
                self.note_change(index);
            }
            Phase::Running => {
                if let Some(ack) = flow.receiver.on_timer(self.now) {
                    let propagation = flow.delayed_propagation;
                    self.send_ack(index, ack, propagation);
                }
                let flow = &mut self.flows[index];
                flow.write(self.now);
                flow.sender.on_timer(self.now);
                self.send_allowed(index, false);
            }
            Phase::Connecting => self.connect(index),
            Phase::Waiting | Phase::Stopped => {}
        }
        self.events.set_flow(index, self.flows[index].next_event());
    }
}
