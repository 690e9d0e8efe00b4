//! A network on several threads, by conservative synchronisation (Chandy and Misra, 1979) in windows of time.
//!
//! The first thread has all stations and flows, and the first satellites; each other thread has a range of satellites, as a
//! [`Simulation`] without flows. A thread has the links that start at its nodes, and handles what arrives there. A link that
//! ends on another thread has two halves: its packets move to the receiver's half before they arrive.
//!
//! A window is shorter than the propagation delay of all such links, the lookahead. So a packet that arrives in a window was
//! sent before it: threads exchange packets between windows, and share nothing within one. Each thread handles its events in
//! the order that one thread has, so the results are equal for any number of threads and any division of the satellites.
//!
//! Between two events that look at the whole network (new routes, a row of the run log, an interval of policies) lies a segment.
//! It starts with a new division, by the packets that arrived at each satellite in the segment before.
//!
//! One thread does all if packets carry telemetry, which a flow reads and writes at every hop, or while flows without a
//! handshake have yet to start, because these measure the queues of their whole path.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{ScopedJoinHandle, available_parallelism};

use leo_link::{Interrupted, Link, NEVER, Nanos, RUN_ON, STRIDE, Stop};

use super::Simulation;
use crate::constellation::Forwarding;
use crate::events::EventQueue;
use crate::flow::Flow;
use crate::packet::Packet;
use crate::path::Paths;
use crate::run_log::Recorder;

/// The work of a packet that arrives at a station, in packets that arrive at a satellite.
const STATION_WORK: u64 = 3;
/// With a shorter lookahead, waiting for the other threads costs more than they save.
const SHORTEST_LOOKAHEAD: Nanos = 100_000;
/// How often a thread looks for a parcel before it sleeps, if each thread has a core.
const SPINS: u32 = 10_000;

/// What the threads keep from one segment to the next.
#[derive(Clone)]
pub struct Parallel {
    /// The simulations of the threads after the first.
    relays: Vec<Simulation>,
    /// The thread of each satellite.
    thread_of: Vec<usize>,
    /// The work of each satellite in the last segment.
    work: Vec<u64>,
    /// By link: the packets delivered by the end of the last segment.
    delivered: Vec<u64>,
    /// By link: the shortest propagation delay of its packets, now and in this segment.
    shortest_delay: Vec<Nanos>,
    /// The last start of a flow without a handshake.
    measured_start: Option<Nanos>,
    /// Memory of the packets between threads.
    buffers: Vec<Vec<Crossing>>,
    /// How often a thread looks for a parcel before it sleeps.
    spins: u32,
}

/// A packet that arrives on another thread.
#[derive(Clone)]
struct Crossing {
    link: usize,
    arrival: Nanos,
    packet: Packet,
}

/// The packets from one thread to another that arrive in a window.
struct Parcel {
    crossings: Vec<Crossing>,
    /// The window is the last.
    is_last: bool,
}

/// Another thread, as one thread sees it.
struct Neighbour {
    /// The links that lead to it and have packets.
    links: Vec<usize>,
    sender: SyncSender<Parcel>,
    receiver: Receiver<Parcel>,
    crossings: Vec<Crossing>,
    spins: u32,
}

impl Simulation {
    /// Run a network of satellites on `threads` threads. The results are equal for any number.
    ///
    /// # Panics
    /// The simulation has begun, or `threads` is 0.
    #[must_use]
    pub fn on_threads(mut self, threads: usize) -> Self {
        assert!(self.now == 0 && threads > 0, "the number of threads is set at the start");
        if let Some(forwarding) = self.paths.forwarding_mut() {
            forwarding.share_among(threads);
        }
        let can_divide = self.paths.forwarding().is_some() && self.ports.is_empty();
        self.parallel = (threads > 1 && can_divide).then(|| Box::new(Parallel::new(&self, threads)));
        self
    }

    /// Run all events up to and including `until`, between which nothing looks at the whole network.
    pub(super) fn run_segment(&mut self, until: Nanos, stop: Stop<'_>) -> Result<(), Interrupted> {
        let Some(mut parallel) = self.parallel.take() else { return self.run_events(until, stop) };
        let result = match parallel.prepare(self, until) {
            Some(lookahead) => parallel.run(self, lookahead, until, stop),
            None => self.run_events(until, stop),
        };
        self.parallel = Some(parallel);
        result
    }

    /// Return a simulation without flows and links.
    fn relay(&self) -> Self {
        Self {
            now: self.now,
            end: self.end,
            links: Vec::new(),
            logged_links: Vec::new(),
            flows: Vec::new(),
            clients: Vec::new(),
            steered: Box::default(),
            paths: Paths::default(),
            link_maker: None,
            course: None,
            parallel: None,
            ports: Vec::new(),
            events: EventQueue::new(0, 0),
            recorder: Recorder::new(0, self.end, 0, 0),
            interval: self.interval,
            next_tick: NEVER,
            units_left: STRIDE,
        }
    }

    /// Run window by window up to `until`, and exchange packets with the `neighbours` before each.
    ///
    /// # Errors
    /// Another thread has panicked.
    fn run_windows(
        &mut self,
        neighbours: &mut [Neighbour],
        (window, until): (Nanos, Nanos),
        is_stopped: &AtomicBool,
        stop: Stop<'_>,
    ) -> Result<(), Interrupted> {
        loop {
            let end = (self.now + window).min(until);
            // A parcel goes to every other thread, so all stop after the same window.
            let mut is_last = end == until || is_stopped.load(Ordering::Relaxed);
            while let Some((link, thread)) = self.events.next_woken() {
                neighbours[thread].links.push(link);
            }
            for Neighbour { links, sender, crossings, .. } in &mut *neighbours {
                links.retain(|&link| {
                    let half = &mut self.links[link];
                    while let Some((arrival, packet)) = half.hand_over(self.now, end) {
                        crossings.push(Crossing { link, arrival, packet });
                    }
                    half.next_event() != NEVER
                });
                let crossings = std::mem::take(crossings);
                sender.send(Parcel { crossings, is_last }).map_err(|_| Interrupted)?;
            }
            for neighbour in &mut *neighbours {
                let mut parcel = neighbour.receive()?;
                is_last |= parcel.is_last;
                for Crossing { link, arrival, packet } in parcel.crossings.drain(..) {
                    let half = &mut self.links[link];
                    let was_idle = half.next_event() == NEVER;
                    half.take_over(arrival, packet);
                    if was_idle {
                        self.events.set_link(link, arrival);
                    }
                }
                neighbour.crossings = parcel.crossings;
            }
            self.run_events(end, stop)?;
            self.now = end;
            if is_last {
                return Ok(());
            }
        }
    }
}

impl Neighbour {
    /// Return the next parcel. It usually comes within microseconds, sooner than a thread that sleeps wakes up.
    ///
    /// # Errors
    /// The other thread has panicked.
    fn receive(&self) -> Result<Parcel, Interrupted> {
        for _ in 0..self.spins {
            match self.receiver.try_recv() {
                Err(TryRecvError::Empty) => std::hint::spin_loop(),
                parcel => return parcel.map_err(|_| Interrupted),
            }
        }
        self.receiver.recv().map_err(|_| Interrupted)
    }
}

impl Parallel {
    fn new(simulation: &Simulation, threads: usize) -> Self {
        let measures = |flow: &&Flow| flow.handshake.is_none() && !flow.sends_datagrams();
        Self {
            relays: (1..threads).map(|_| simulation.relay()).collect(),
            thread_of: Vec::new(),
            work: Vec::new(),
            delivered: Vec::new(),
            shortest_delay: Vec::new(),
            measured_start: simulation.flows.iter().filter(measures).map(|flow| flow.start).max(),
            buffers: Vec::new(),
            // A thread that waits awake keeps others from its core.
            spins: if available_parallelism().is_ok_and(|cores| threads <= cores.get()) { SPINS } else { 0 },
        }
    }

    fn threads(&self) -> usize {
        self.relays.len() + 1
    }

    /// Divide the satellites for a segment up to `until`. Return the lookahead, or `None` if one thread is better.
    fn prepare(&mut self, simulation: &Simulation, until: Nanos) -> Option<Nanos> {
        let forwarding = simulation.paths.forwarding()?;
        self.measure(simulation, forwarding);
        if self.measured_start.is_some_and(|start| simulation.now <= start) {
            return None;
        }
        let ends = (0..simulation.links.len()).filter(|&link| {
            let [tail, head] = self.threads_of(forwarding, link);
            tail != head
        });
        let lookahead = ends.map(|link| self.shortest_delay[link]).min().unwrap_or(NEVER);
        (lookahead >= SHORTEST_LOOKAHEAD && until > simulation.now + lookahead).then_some(lookahead)
    }

    /// Measure the work of each satellite and the delays of all links, and divide the satellites anew.
    fn measure(&mut self, simulation: &Simulation, forwarding: &Forwarding) {
        let satellites = forwarding.satellites() as usize;
        self.work.clear();
        self.work.resize(satellites, 1);
        self.delivered.resize(simulation.links.len(), 0);
        self.shortest_delay.resize(simulation.links.len(), NEVER);
        let mut station_work = 0;
        let before = self.delivered.iter_mut().zip(&mut self.shortest_delay);
        for ((number, link), (delivered, shortest)) in (0_u32..).zip(&simulation.links).zip(before) {
            let Some(head) = forwarding.end(number) else { continue };
            let arrivals = link.delivered() - *delivered;
            *delivered += arrivals;
            match self.work.get_mut(head as usize) {
                Some(work) => *work += arrivals,
                None => station_work += STATION_WORK * arrivals,
            }
            // A link that is off takes no packets.
            let is_on = forwarding.is_on(number);
            let delay = if is_on { link.schedule().at(simulation.now).delay } else { NEVER };
            *shortest = if link.next_event() == NEVER { delay } else { delay.min(*shortest) };
        }
        divide(&self.work, station_work, self.threads(), &mut self.thread_of);
    }

    /// Return the threads of the nodes at a link's start and end. A transmitter ends where it starts.
    fn threads_of(&self, forwarding: &Forwarding, link: usize) -> [usize; 2] {
        let tail = forwarding.tail(link as u32);
        let head = forwarding.end(link as u32).unwrap_or(tail);
        // Stations count on from the satellites.
        [tail, head].map(|node| self.thread_of.get(node as usize).copied().unwrap_or(0))
    }

    /// Run a segment in windows shorter than the `lookahead`.
    fn run(
        &mut self,
        simulation: &mut Simulation,
        lookahead: Nanos,
        until: Nanos,
        stop: Stop<'_>,
    ) -> Result<(), Interrupted> {
        let mut neighbours = self.lend(simulation);
        // What is sent as a window starts arrives after its end.
        let span = (lookahead - 1, until);
        let is_stopped = AtomicBool::new(false);
        let ask = || {
            if stop() {
                is_stopped.store(true, Ordering::Relaxed);
            }
            false
        };
        let (mut own, flag, buffers) = (neighbours.remove(0), &is_stopped, &mut self.buffers);
        std::thread::scope(|scope| {
            let relays = self.relays.iter_mut().zip(neighbours).map(|(relay, mut neighbours)| {
                scope.spawn(move || {
                    let result = relay.run_windows(&mut neighbours, span, flag, RUN_ON);
                    result.map(|()| neighbours.into_iter().map(|neighbour| neighbour.crossings).collect())
                })
            });
            let relays: Vec<ScopedJoinHandle<'_, Result<Vec<_>, Interrupted>>> = relays.collect();
            let result = simulation.run_windows(&mut own, span, flag, &ask);
            // Each thread owns its channels: if a thread panics, the others find them closed, and end.
            buffers.extend(own.into_iter().map(|neighbour| neighbour.crossings));
            for relay in relays {
                buffers.extend(relay.join().unwrap_or_else(|panic| resume_unwind(panic))?);
            }
            result
        })?;
        self.take_back(simulation);
        // At its end a segment is done; a caller that still wants to stop says so again.
        if is_stopped.into_inner() && simulation.now < until { Err(Interrupted) } else { Ok(()) }
    }

    /// Lend each thread its links and their events.
    fn lend(&mut self, simulation: &mut Simulation) -> Vec<Vec<Neighbour>> {
        let count = simulation.links.len();
        let mut neighbours = self.connect();
        for relay in &mut self.relays {
            relay.now = simulation.now;
            relay.paths = simulation.paths.clone();
            relay.paths.unroutable = [0; 2];
            relay.links.resize_with(count, Link::receiving);
            relay.events.grow(count);
            relay.events.own_all(count);
        }
        simulation.events.own_all(count);
        let Some(forwarding) = self.relays.first().and_then(|relay| relay.paths.forwarding_shared()) else {
            return neighbours;
        };
        for link in 0..count {
            let [tail, head] = self.threads_of(&forwarding, link);
            if tail == 0 && head == 0 {
                continue;
            }
            simulation.events.set_link(link, NEVER);
            // Each thread numbers the others in order, without itself.
            let thread = head - usize::from(head > tail);
            if tail != head && simulation.links[link].next_event() != NEVER {
                neighbours[tail][thread].links.push(link);
            }
            let Some(relay) = tail.checked_sub(1).map(|relay| &mut self.relays[relay]) else {
                simulation.events.give_away(link, thread);
                continue;
            };
            std::mem::swap(&mut simulation.links[link], &mut relay.links[link]);
            if tail == head {
                relay.events.set_link(link, relay.links[link].next_event());
            } else {
                relay.events.give_away(link, thread);
            }
        }
        neighbours
    }

    /// Connect each thread with all others.
    fn connect(&mut self) -> Vec<Vec<Neighbour>> {
        let threads = self.threads();
        let mut channels: Vec<Vec<_>> =
            (0..threads).map(|_| (0..threads).map(|_| Some(sync_channel(1))).collect()).collect();
        let mut receivers: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
        let mut senders: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
        for from in 0..threads {
            for to in (0..threads).filter(|&to| to != from) {
                let (sender, receiver) = channels[from][to].take().expect("each is taken once");
                senders[from].push(sender);
                receivers[to].push(receiver);
            }
        }
        let mut neighbour = |(sender, receiver)| Neighbour {
            links: Vec::new(),
            sender,
            receiver,
            crossings: self.buffers.pop().unwrap_or_default(),
            spins: self.spins,
        };
        let ends = senders.into_iter().zip(receivers);
        ends.map(|(senders, receivers)| senders.into_iter().zip(receivers).map(&mut neighbour).collect())
            .collect()
    }

    /// Take all links and events back.
    fn take_back(&mut self, simulation: &mut Simulation) {
        simulation.events.own_all(0);
        let paths = simulation.paths.clone();
        let Some(forwarding) = paths.forwarding() else { return };
        for link in 0..simulation.links.len() {
            let threads = self.threads_of(forwarding, link);
            for relay in threads.into_iter().filter_map(|thread| thread.checked_sub(1)) {
                self.relays[relay].events.set_link(link, NEVER);
            }
            if let Some(relay) = threads[0].checked_sub(1) {
                std::mem::swap(&mut simulation.links[link], &mut self.relays[relay].links[link]);
            }
            if threads != [0, 0] && forwarding.end(link as u32).is_some() {
                simulation.events.set_link(link, simulation.links[link].next_event());
            }
        }
        for relay in &mut self.relays {
            for (all, here) in simulation.paths.unroutable.iter_mut().zip(relay.paths.unroutable) {
                *all += here;
            }
            // The tables change in place once nobody shares them.
            relay.paths = Paths::default();
        }
    }
}

/// Give each of `threads` threads a range of satellites, such that all have as much work. The first has `station_work` already.
fn divide(work: &[u64], station_work: u64, threads: usize, thread_of: &mut Vec<usize>) {
    let mut left = station_work + work.iter().sum::<u64>();
    let (mut thread, mut filled) = (0, station_work);
    thread_of.clear();
    for work in work {
        // A satellite is the next thread's if more than half of its work exceeds this thread's share.
        if filled > 0 && thread + 1 < threads && 2 * filled + work > 2 * left / (threads - thread) as u64 {
            left -= filled;
            (thread, filled) = (thread + 1, 0);
        }
        thread_of.push(thread);
        filled += work;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_a_range_of_satellites_and_as_much_work() {
        let mut thread_of = Vec::new();
        divide(&[1; 12], 0, 3, &mut thread_of);
        assert_eq!(thread_of, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
        divide(&[1; 12], 2, 2, &mut thread_of);
        assert_eq!(thread_of, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1]);
        divide(&[1; 6], 60, 3, &mut thread_of);
        assert_eq!(thread_of, [1, 1, 1, 2, 2, 2], "the stations alone are more than a third");
        divide(&[9, 1, 1], 0, 7, &mut thread_of);
        assert_eq!(thread_of, [0, 1, 2], "there are more threads than satellites");
    }
}
