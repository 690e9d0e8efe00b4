//! `leo-bridge run`: one thread that waits for interval ends, flows, clients and signals.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::clients::{Client, Listener};
use crate::clock::monotonic_us;
use crate::ebpf::Registered;
use crate::protocol::{FlowStatus, Message, Request, SchemeStatus, VERSION, flow_id, parts_of, plain};
use crate::service::{Controller, Event, Service};

/// A registered scheme and the service that decides for its flows.
#[derive(Debug)]
pub struct Scheme {
    /// Its name for `TCP_CONGESTION`.
    pub name: String,
    /// Its flows.
    pub service: Service,
    /// Its eBPF program.
    pub registered: Registered,
}

const TIMER: u64 = 0;
const SIGNAL: u64 = 1;
const LISTENER: u64 = 2;
const CHANGES: u64 = 3;
/// First client token; tokens from `CHANGES` up to here are schemes.
const CLIENTS: u64 = 1 << 32;

/// The event loop with its schemes and clients.
#[derive(Debug)]
pub struct Daemon {
    schemes: Vec<Scheme>,
    listener: Listener,
    allowed: Vec<u32>,
    clients: BTreeMap<u64, Client>,
    next_client: u64,
    epoll: Epoll,
    timer: TimerFd,
    signals: SignalFd,
}

impl Daemon {
    /// Set up the event loop for root and `allowed` users. Blocks the signals that end it.
    pub fn new(schemes: Vec<Scheme>, listener: Listener, allowed: Vec<u32>) -> Result<Self, String> {
        let failed = |error: nix::errno::Errno| format!("event loop: {error}");
        let mut ends = SigSet::empty();
        [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().for_each(|signal| ends.add(signal));
        ends.thread_block().map_err(failed)?;
        let signals =
            SignalFd::with_flags(&ends, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).map_err(failed)?;
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags).map_err(failed)?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed)?;
        let readable = |token| EpollEvent::new(EpollFlags::EPOLLIN, token);
        epoll.add(&timer, readable(TIMER)).map_err(failed)?;
        epoll.add(&signals, readable(SIGNAL)).map_err(failed)?;
        epoll.add(&listener, readable(LISTENER)).map_err(failed)?;
        for (index, scheme) in schemes.iter().enumerate() {
            // SAFETY: the descriptor belongs to the ring buffer, which lives as long as the daemon.
            let changes = unsafe { BorrowedFd::borrow_raw(scheme.registered.changes_fd()) };
            epoll.add(changes, readable(CHANGES + index as u64)).map_err(failed)?;
        }
        Ok(Self {
            schemes,
            listener,
            allowed,
            clients: BTreeMap::new(),
            next_client: CLIENTS,
            epoll,
            timer,
            signals,
        })
    }

    /// Serve until SIGINT, SIGTERM or SIGHUP.
    pub fn run(&mut self) -> Result<(), String> {
        let failed = |error: nix::errno::Errno| format!("event loop: {error}");
        let mut happened = [EpollEvent::empty(); 64];
        let mut events = Vec::new();
        let mut acks = Vec::new();
        loop {
            let n = match self.epoll.wait(&mut happened, EpollTimeout::NONE) {
                Err(nix::errno::Errno::EINTR) => 0,
                result => result.map_err(failed)?,
            };
            for event in &happened[..n] {
                match event.data() {
                    TIMER => drop(self.timer.wait()),
                    SIGNAL => {
                        if self.signals.read_signal().map_err(failed)?.is_some() {
                            self.say_what_does_not_count();
                            return Ok(());
                        }
                    }
                    LISTENER => self.accept(),
                    token if token >= CLIENTS => self.hear(token),
                    token => self.look_for_changes((token - CHANGES) as usize, &mut events),
                }
            }
            // Serve intervals at every wake-up: they must not wait.
            for index in 0..self.schemes.len() {
                let scheme = &mut self.schemes[index];
                if scheme.registered.take_acks(&mut acks) {
                    scheme.service.hear(scheme.registered.slots_mut(), &acks, &mut monotonic_us);
                }
                scheme.service.serve(scheme.registered.slots_mut(), &mut monotonic_us, &mut events);
                self.publish(index, &mut events);
            }
            self.flush_clients();
            self.set_timer().map_err(failed)?;
        }
    }

    fn say_what_does_not_count(&self) {
        for scheme in &self.schemes {
            if let Some(why) = scheme.service.too_late() {
                eprintln!("leo-bridge: {}: this run is invalid: {why}", scheme.name);
            }
        }
    }

    fn look_for_changes(&mut self, index: usize, events: &mut Vec<Event>) {
        let Some(scheme) = self.schemes.get_mut(index) else { return };
        scheme.registered.clear_changes();
        scheme.service.scan(scheme.registered.slots(), monotonic_us(), events);
        self.publish(index, events);
    }

    fn set_timer(&self) -> nix::Result<()> {
        let deadline = self.schemes.iter().filter_map(|scheme| scheme.service.next_deadline_us()).min();
        match deadline {
            Some(us) => {
                let at = TimeSpec::new((us / 1_000_000) as i64, (us % 1_000_000 * 1_000) as i64);
                self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)
            }
            None => self.timer.unset(),
        }
    }

    /// Send a scheme's events to its subscribers.
    fn publish(&mut self, index: usize, events: &mut Vec<Event>) {
        let name = &self.schemes[index].name;
        for event in events.drain(..) {
            if !self.clients.values().any(|client| client.subscriptions.contains(&index)) {
                continue;
            }
            let message = match &event {
                Event::Opened(slot, flow) => Message::Opened {
                    flow: FlowStatus::new(flow_id(index, flow.generation, *slot), name, flow),
                },
                Event::Closed(slot, generation) => {
                    Message::Closed { flow: flow_id(index, *generation, *slot) }
                }
                Event::Report(slot, generation, report, late_us) => {
                    let mut values = [0.0; leo_control::Report::FIELDS.len()];
                    report.write_f64(&mut values);
                    Message::Report { flow: flow_id(index, *generation, *slot), values, late_us: *late_us }
                }
            };
            for client in self.clients.values_mut().filter(|client| client.subscriptions.contains(&index)) {
                client.send(&message);
            }
        }
    }

    fn accept(&mut self) {
        while let Ok(stream) = self.listener.accept() {
            // `admit` has sent the reason to a client that it refuses.
            let Ok(client) = Client::admit(stream, &self.allowed) else { continue };
            let token = self.next_client;
            if self.epoll.add(client.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, token)).is_ok() {
                self.next_client += 1;
                self.clients.insert(token, client);
            }
        }
    }

    fn hear(&mut self, token: u64) {
        let Some(mut client) = self.clients.remove(&token) else { return };
        let stays = client.hear();
        while let Some(line) = client.line() {
            match Request::parse(&line).and_then(|request| self.carry_out(request, &mut client)) {
                Ok(()) => {}
                Err(reason) => client.send(&Message::Error { reason: &reason }),
            }
        }
        if stays {
            self.clients.insert(token, client);
        } else {
            let _ = self.epoll.delete(client.as_fd());
            self.drop_subscriptions();
        }
    }

    fn carry_out(&mut self, request: Request, client: &mut Client) -> Result<(), String> {
        match request {
            Request::Status => client.send(&self.status()),
            Request::Flows => client.send(&Message::Flows { flows: self.flows(None) }),
            Request::Subscribe { scheme: name, interval_ms } => {
                let index = self.schemes.iter().position(|scheme| scheme.name == name).ok_or_else(|| {
                    let names = self.schemes.iter().map(|scheme| scheme.name.as_str()).collect::<Vec<_>>();
                    format!("subscribe: scheme: no scheme {name:?} (there are: {})", names.join(", "))
                })?;
                let Scheme { service, registered, .. } = &mut self.schemes[index];
                if let Some(ms) = interval_ms {
                    if !matches!(service.controller(), Controller::Offered) {
                        return Err(
                            "subscribe: interval_ms: the scheme is not offered: its interval is fixed"
                                .to_owned(),
                        );
                    }
                    service.set_interval_us((ms * 1_000.0).round() as u64);
                }
                service.set_subscribed(registered.slots_mut(), true);
                if !client.subscriptions.contains(&index) {
                    client.subscriptions.push(index);
                }
                client.send(&Message::Done);
                self.flows(Some(index)).into_iter().for_each(|flow| client.send(&Message::Opened { flow }));
            }
            Request::Command { flow, cwnd, pacing_bytes_per_s } => {
                let (scheme, place) = self.scheme_of(flow)?;
                let slots = scheme.registered.slots_mut();
                scheme.service.command(slots, place, cwnd, pacing_bytes_per_s, monotonic_us())?;
            }
            Request::Freeze { flow, for_ms } => {
                let (scheme, place) = self.scheme_of(flow)?;
                let until_us = monotonic_us() + (for_ms * 1_000.0).round() as u64;
                scheme.service.freeze(scheme.registered.slots_mut(), place, until_us)?;
            }
        }
        Ok(())
    }

    fn scheme_of(&mut self, flow: u64) -> Result<(&mut Scheme, (usize, u32)), String> {
        let (index, generation, slot) = parts_of(flow);
        let scheme = self.schemes.get_mut(index).ok_or("flow: no such open flow")?;
        Ok((scheme, (slot, generation)))
    }

    fn flows(&self, only: Option<usize>) -> Vec<FlowStatus> {
        let mut flows = Vec::new();
        for (index, scheme) in self.schemes.iter().enumerate() {
            if only.is_some_and(|only| only != index) {
                continue;
            }
            for slot in scheme.service.open_slots() {
                if let Some(flow) = scheme.registered.slots().flow(slot) {
                    flows.push(FlowStatus::new(flow_id(index, flow.generation, slot), &scheme.name, &flow));
                }
            }
        }
        flows
    }

    fn status(&self) -> Message<'static> {
        let schemes = self.schemes.iter().map(|scheme| {
            let punctuality = scheme.service.punctuality();
            let three = |latency: &crate::punctuality::Latency| {
                [latency.quantile(0.5), latency.quantile(0.99), latency.max()]
            };
            SchemeStatus {
                scheme: scheme.name.clone(),
                controller: match scheme.service.controller() {
                    Controller::Policy(_) => "policy",
                    Controller::Offered => "offered",
                    Controller::AckDriven(..) => "scheme",
                    Controller::Program => "program",
                },
                interval_ms: scheme.service.interval_us() as f64 / 1e3,
                flows: scheme.service.open_slots().count(),
                intervals: punctuality.intervals,
                missed: punctuality.missed,
                too_late: scheme.service.too_late(),
                unapplied: punctuality.unapplied,
                fallbacks: punctuality.fallbacks,
                guarded: matches!(
                    scheme.service.controller(),
                    Controller::Policy(policy) if policy.known_ranges().is_some()
                ),
                given_to_cubic: scheme
                    .service
                    .fallen()
                    .map(|fallen| (plain(fallen.remote), fallen.fallbacks))
                    .collect(),
                commanded_us: three(&punctuality.commanded),
                applied_us: three(&punctuality.applied),
            }
        });
        Message::Status {
            protocol: VERSION,
            pid: std::process::id(),
            uid: nix::unistd::geteuid().as_raw(),
            report_fields: leo_control::Report::FIELDS,
            schemes: schemes.collect(),
        }
    }

    /// Write queued messages; drop clients that left or do not read.
    fn flush_clients(&mut self) {
        let mut gone = Vec::new();
        for (token, client) in &mut self.clients {
            if !client.flush() {
                gone.push(*token);
                continue;
            }
            let mut wanted = EpollFlags::EPOLLIN;
            wanted.set(EpollFlags::EPOLLOUT, client.is_waiting());
            let _ = self.epoll.modify(client.as_fd(), &mut EpollEvent::new(wanted, *token));
        }
        for token in gone {
            if let Some(client) = self.clients.remove(&token) {
                let _ = self.epoll.delete(client.as_fd());
            }
            self.drop_subscriptions();
        }
    }

    fn drop_subscriptions(&mut self) {
        for (index, scheme) in self.schemes.iter_mut().enumerate() {
            let subscribed = self.clients.values().any(|client| client.subscriptions.contains(&index));
            scheme.service.set_subscribed(scheme.registered.slots_mut(), subscribed);
        }
    }
}
