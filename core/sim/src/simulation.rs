//! The event loop: packets, acknowledgements and timers in order of time.

mod clients;
mod connecting;
mod forwarding;
mod measured;
mod oracles;
mod parallel;
mod running;
mod sending;

use leo_link::{Interrupted, Link, NEVER, Nanos, STRIDE, Stop};
use leo_transport::{ACK_BYTES, AckToSend, SackBlocks};

use crate::client::Client;
use crate::constellation::{self, Course, LinkMaker};
use crate::control_loop;
use crate::events::{EventQueue, Source};
use crate::flow::{Flow, Load, Phase};
use crate::interrupted::Unbuilt;
use crate::network::{self, Network, PolicySet, TraceSet};
use crate::packet::{Arrival, Head, Kind, Packet};
use crate::path::{Next, Paths};
use crate::run_log::{BbrSeries, FlowSeries, LinkSeries, Recorder, RunLog};
use crate::scenario::{ConstellationSpec, Scenario, nanos};
use crate::telemetry::Port;
use parallel::Parallel;

/// The shortest monitor interval.
pub(crate) const MIN_INTERVAL: Nanos = 1_000_000;

/// A simulation of a scenario. A clone runs on as the original does; see [`Self::copies`].
#[derive(Clone)]
pub struct Simulation {
    pub(crate) now: Nanos,
    end: Nanos,
    pub(crate) links: Vec<Link<Packet>>,
    /// Names and indices of the links in the run log.
    pub(crate) logged_links: Vec<(String, usize)>,
    pub(crate) flows: Vec<Flow>,
    /// Clients of the flows that carry their requests.
    pub(crate) clients: Vec<Client>,
    /// Indices of flows that policies steer.
    steered: Box<[usize]>,
    pub(crate) paths: Paths,
    /// Makes ground links, in a constellation.
    pub(crate) link_maker: Option<Box<LinkMaker>>,
    /// The links over time, in a constellation that knows them ahead.
    pub(crate) course: Option<Course>,
    /// The other threads of a network.
    parallel: Option<Box<Parallel>>,
    pub(crate) ports: Vec<Port>,
    pub(crate) events: EventQueue,
    pub(crate) recorder: Recorder,
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
        let network = network::build(scenario, traces, policies, stop)?;
        Ok(Self::over(network, nanos(scenario.duration_s, 1e9), interval, series_interval))
    }

    /// Build the simulation of the constellation `spec`. Call [`follow`](Self::follow) before it runs.
    ///
    /// # Errors
    /// A scheme is unknown, or `stop` returned true.
    ///
    /// # Panics
    /// When `interval` is 0.
    pub fn of_constellation(
        spec: &ConstellationSpec,
        policies: &PolicySet,
        interval: Nanos,
        series_interval: Nanos,
        stop: Stop<'_>,
    ) -> Result<Self, Unbuilt> {
        let (network, maker) = constellation::build(spec, policies, stop)?;
        let simulation = Self::over(network, nanos(spec.duration_s, 1e9), interval, series_interval);
        Ok(Self { link_maker: Some(Box::new(maker)), ..simulation })
    }

    fn over(network: Network, end: Nanos, interval: Nanos, series_interval: Nanos) -> Self {
        assert!(interval > 0, "the interval must be positive");
        let Network { links, logged_links, mut flows, clients, paths, ports } = network;
        let steered = control_loop::attach_policies(&mut flows);
        let mut events = EventQueue::new(links.len(), flows.len());
        for (index, flow) in flows.iter().enumerate() {
            events.set_flow(index, flow.next_event());
        }
        Self {
            now: 0,
            end,
            recorder: Recorder::new(series_interval, end, flows.len(), logged_links.len()),
            links,
            logged_links,
            flows,
            clients,
            steered,
            paths,
            link_maker: None,
            course: None,
            parallel: None,
            ports,
            events,
            interval,
            next_tick: interval,
            units_left: STRIDE,
        }
    }

    /// Handle every packet and every ACK the general way, for tests of equality: results are the same.
    #[must_use]
    pub fn without_shortcuts(mut self) -> Self {
        self.flows.iter_mut().for_each(Flow::avoid_shortcuts);
        self
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
    pub fn take_series(&mut self) -> (FlowSeries, LinkSeries, BbrSeries) {
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
        let flows = (&self.flows[..], &self.clients[..], &self.paths);
        self.recorder.finish(self.now, flows, &mut self.links, &self.logged_links)
    }

    /// Run all events up to and including `until`.
    fn run_events(&mut self, until: Nanos, stop: Stop<'_>) -> Result<(), Interrupted> {
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
                    let next = loop {
                        self.take_first(link);
                        let next = self.links[link].next_event();
                        if next > time {
                            break next;
                        }
                    };
                    self.events.set_link(link, next);
                }
                Source::Flow(flow) => {
                    if !self.flows[flow].wakes_in_vain(time) {
                        self.run_flow(flow);
                    }
                    self.events.set_flow(flow, self.flows[flow].next_event());
                }
            }
        }
    }

    /// Take the first packet from `link`, if one has arrived.
    #[inline(always)]
    fn take_first(&mut self, link: usize) {
        let Some(head) = self.links[link].poll_compact(self.now) else { return };
        // Almost every packet is so. Only the others are copied. One on its way does not touch its flow, which costs cache
        // misses in a network of thousands.
        if !head.special.is_nothing() || !self.flows[head.flow as usize].runs_plainly {
            let head = *head;
            if head.special.is_nothing() && self.flows[head.flow as usize].runs_measured {
                self.arrive_measured(link, &head);
            } else {
                self.arrive(link, head);
            }
            return;
        }
        let arrival = Arrival::of(head, self.now);
        let kind = head.kind;
        #[cfg(debug_assertions)]
        {
            let head = Head { hop: head.hop + 1, ..*head };
            self.check_order(&head);
        }
        if kind == Kind::Data {
            let flow = &mut self.flows[arrival.flow];
            if arrival.pushes {
                flow.receiver.on_push();
            }
            let Arrival { seq, timestamp, left_ms, .. } = arrival;
            let ack = flow.receiver.on_data(self.now, seq, timestamp, left_ms);
            self.answer(arrival.flow, ack, arrival.propagation);
        } else {
            self.acknowledge(&arrival, SackBlocks::default(), false);
            // Only the sender's timers have changed.
            let timer = self.send_allowed(arrival.flow);
            self.events.set_flow_earlier(arrival.flow, timer);
        }
    }

    /// Forward a packet that leaves `link` to the next link or to its endpoint.
    #[inline(never)]
    fn arrive(&mut self, link: usize, mut head: Head) {
        let next = self.paths.onward(&head, head.hop + 1, link);
        if !self.ports.is_empty() && self.flows[head.flow as usize].headers.is_some() {
            head.bytes += self.note_passage(&head, link, next);
        }
        head.hop += 1;
        // As IP's time to live: tables that change can send a packet around.
        let next = next.map(|next| if head.hop == u8::MAX { Next::Nowhere } else { next });
        if let (Some(next), false) = (next, head.special.has_options()) {
            self.send_head(next, head);
            return;
        }
        let packet = self.links[link].unpack(head);
        if let Some(next) = next {
            self.forward(next, packet);
            return;
        }
        #[cfg(debug_assertions)]
        self.check_order(&head);
        let phase = self.flows[head.flow as usize].phase;
        match head.kind {
            Kind::Data if phase == Phase::Running => self.received(&head),
            Kind::Ack if phase == Phase::Running => self.acknowledged(&packet),
            _ => self.shake_hands_at(phase, &head),
        }
    }

    /// Process a packet that is not one of an open connection.
    #[cold]
    fn shake_hands_at(&mut self, phase: Phase, packet: &Head) {
        match (phase, packet.kind) {
            (Phase::Running, Kind::Syn) => self.answer_syn(packet),
            (Phase::Running, Kind::Request | Kind::Report) => self.serve(packet),
            (Phase::Connecting, _) => self.shake_hands(packet),
            _ => {}
        }
    }

    #[cfg(debug_assertions)]
    fn check_order(&mut self, packet: &Head) {
        if let Some(forwarding) = self.paths.forwarding() {
            let flies = packet.kind != Kind::Data || self.now - packet.timestamp >= packet.propagation;
            assert!(flies, "{packet:?} was faster than light at {}", self.now);
            // A packet that left after the last change keeps its order.
            if packet.timestamp > forwarding.pairs[packet.path as usize].changed_at {
                self.flows[packet.flow as usize].order.check(packet, forwarding.parts_codepoints);
            }
            return;
        }
        let parts = (0..packet.hop)
            .map_while(|hop| self.paths.next(packet.path, packet.kind.goes_back(), hop))
            .filter_map(Next::link)
            .any(|link| self.links[link as usize].parts_codepoints());
        self.flows[packet.flow as usize].order.check(packet, parts);
    }

    fn received(&mut self, packet: &Head) {
        let index = packet.flow as usize;
        let flow = &mut self.flows[index];
        if packet.ecn.pushes() {
            flow.receiver.on_push();
        }
        let ack = flow.take_data(packet, self.now);
        let has_client = matches!(flow.load.as_deref(), Some(Load::Connection(_) | Load::Stack(_)));
        self.answer(index, ack, packet.propagation);
        if has_client {
            self.hear_client(index);
        }
    }

    /// Send the ACK that a packet of flow `index` causes, if any; `propagation` is the packet's.
    #[inline(always)]
    fn answer(&mut self, index: usize, ack: Option<AckToSend>, mut propagation: Nanos) {
        let flow = &mut self.flows[index];
        match ack {
            Some(ack) => {
                let timer = flow.receiver.next_timer();
                if timer != NEVER {
                    // This packet waits for a delayed ACK; the ACK that leaves now answers earlier packets.
                    std::mem::swap(&mut propagation, &mut flow.delayed_propagation);
                    self.events.set_flow_earlier(index, timer);
                }
                let (path, plain) = (flow.routes.path(), flow.plain);
                self.send_ack((index, path, plain), &ack, propagation);
            }
            None => {
                flow.delayed_propagation = propagation;
                let timer = flow.receiver.next_timer();
                self.events.set_flow_earlier(index, timer);
            }
        }
    }

    fn acknowledged(&mut self, packet: &Packet) {
        let index = packet.flow as usize;
        let flow = &mut self.flows[index];
        let marked = !flow.plain && flow.take_feedback(packet, self.now);
        self.acknowledge(&Arrival::of(&packet.head, self.now), packet.sacks, marked);
        let flow = &mut self.flows[index];
        if !flow.plain {
            flow.open_window(packet, self.now);
        }
        self.pump(index);
    }

    /// Pass an ACK to its sender.
    #[inline(always)]
    fn acknowledge(&mut self, arrival: &Arrival, sacks: SackBlocks, marked: bool) {
        let &Arrival { flow: index, seq, timestamp, propagation, left_ms, .. } = arrival;
        let flow = &mut self.flows[index];
        flow.echo_ms = left_ms;
        let ack = AckToSend { cumulative: seq, sacks, echo: timestamp, left_ms, marked };
        if let Some(rtt) = flow.sender.on_ack(self.now, &ack) {
            flow.record_rtt(rtt, propagation);
        }
        if flow.sender.is_finished() {
            flow.complete(self.now);
            self.note_change(index);
        }
    }

    /// Send an ACK that a timer releases.
    #[inline(never)]
    fn send_waiting_ack(&mut self, index: usize, ack: &AckToSend, propagation: Nanos) {
        let flow = &self.flows[index];
        self.send_ack((index, flow.routes.path(), flow.plain), ack, propagation);
    }

    /// Send an ACK of a flow on its `path`.
    #[inline(always)]
    fn send_ack(&mut self, (index, path, plain): (usize, u32, bool), ack: &AckToSend, propagation: Nanos) {
        let head = Head {
            seq: ack.cumulative,
            timestamp: ack.echo,
            sent_ms_low: ack.left_ms as u16,
            propagation,
            ..Head::new(Kind::Ack, ACK_BYTES, index, path)
        };
        if plain && ack.sacks.says_nothing() {
            if let Some(first) = self.paths.enter(path, true) {
                self.send_head(first, head);
            }
            return;
        }
        if ack.sacks.says_nothing() && self.flows[index].measured {
            self.send_measured_ack(head);
            return;
        }
        let mut packet = Packet { sacks: ack.sacks, ..head.into() };
        if !plain {
            self.flows[index].give_ack(&mut packet, ack.marked);
        }
        self.send_back(packet);
    }

    fn send_back(&mut self, packet: Packet) {
        if let Some(first) = self.paths.enter(packet.path, true) {
            self.forward(first, packet);
        }
    }

    /// Run a flow's event: start, reroute, stop or timer. Apart from the loop over events, which keeps its registers.
    #[inline(never)]
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
                    if !flow.sends_datagrams() {
                        // The connection exists: it has measured its path.
                        let rtt = self.rtt_of_path(index);
                        self.flows[index].sender.expect_rtt(rtt);
                        self.flows[index].sender.start(self.now);
                    }
                    let flow = &mut self.flows[index];
                    flow.run(self.now);
                    self.note_change(index);
                    self.send_allowed(index);
                }
            }
            Phase::Running | Phase::Connecting if self.now >= flow.stop => {
                flow.end();
                self.note_change(index);
            }
            Phase::Running => {
                if let Some(ack) = flow.receiver.on_timer(self.now) {
                    let propagation = flow.delayed_propagation;
                    self.send_waiting_ack(index, &ack, propagation);
                }
                if self.flows[index].load.is_some() {
                    self.run_load(index);
                }
                self.flows[index].sender.on_timer(self.now);
                self.send_allowed(index);
            }
            Phase::Connecting => self.connect(index),
            Phase::Waiting | Phase::Stopped => {}
        }
    }
}
