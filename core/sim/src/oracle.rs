//! The scheme `oracle`: it knows all traffic of its path, and keeps every queue empty. It bounds all other schemes.
//!
//! Every packet leaves when it will find all transmitters of its path free: not before a silence, and not into an outage
//! or a handover that would drop it. Flows that share a link with other oracles take an equal share of its transmitter.

use leo_cc::External;
use leo_link::{Disruption, DisruptionKind, NEVER, Nanos, Schedule, Server, Transmission, UNLIMITED};
use leo_transport::PACKET_BYTES;

/// Scheme name of flows that know their path.
pub const ORACLE_SCHEME: &str = "oracle";
/// A sentence about it, as [`leo_cc::TABLE`] has for the others.
pub const ORACLE_ABOUT: &str = "Knows capacity and delay of its path, now and ahead, and keeps the queue empty: the upper bound; \
     simulator only.";

/// The oracle's window never limits it.
const WINDOW: u32 = 1 << 26;
/// While others' packets are in its way, an oracle leaves out one turn in this many.
const SKIPS: u32 = 8;
/// Packets that an oracle sends together where it shares a link.
const PAIR: u32 = 2;
const NANOS_PER_S: u128 = 1_000_000_000;

/// A link as an oracle foresees it.
#[derive(Clone, Debug)]
struct Twin {
    link: u32,
    schedule: Schedule,
    /// This flow's share of the transmitter: each of its bursts takes the time of `flows` bursts.
    server: Server,
    /// Running oracles on the link, this one included, and its place among them.
    flows: u32,
    place: u32,
    /// Whether the oracles of this link take turns: it is the tightest of the route, and shared.
    turns: bool,
}

impl Twin {
    /// Return when a packet that arrives at `at` can begin to leave; `NEVER` if it cannot.
    fn starts(&mut self, at: Nanos, burst: u32) -> Nanos {
        if !self.turns {
            return self.server.free_from(&mut self.schedule, at);
        }
        loop {
            let turn = self.server.free_from(&mut self.schedule, 0);
            if turn >= at {
                return turn;
            }
            self.serve(turn, burst);
        }
    }

    /// Take up the transmitter for a burst of each flow.
    fn serve(&mut self, at: Nanos, burst: u32) {
        let all = PACKET_BYTES * burst * self.flows.max(1);
        let done = self.server.transmit(&mut self.schedule, all, at);
        if self.turns && matches!(done, Transmission::CutOff(_)) {
            // All turns begin again after an outage.
            let again = self.server.free_from(&mut self.schedule, 0);
            if again != NEVER {
                self.begin_turns(again, burst);
            }
        }
    }

    /// Let the flows take turns from `at` on, in the order of their places.
    fn begin_turns(&mut self, at: Nanos, burst: u32) {
        self.server = Server::default();
        self.server.transmit(&mut self.schedule, PACKET_BYTES * burst * self.place, at);
    }

    /// Return when a packet whose transmission begins at `at` arrives at the other end, or how much later one may survive
    /// that this one does not.
    fn carries(&mut self, at: Nanos, burst: u32) -> Result<Nanos, Nanos> {
        let mut ahead = self.schedule.clone();
        let departure = match Server::default().transmit(&mut ahead, PACKET_BYTES, at) {
            Transmission::Done(NEVER) => return Err(NEVER),
            Transmission::Done(departure) => departure,
            Transmission::CutOff(lost) | Transmission::Discarded(lost) => return Err((lost - at).max(1)),
        };
        let arrival = departure + ahead.at(departure.saturating_sub(1)).delay;
        if let Some((when, Disruption { kind, .. })) = ahead.disruption(departure, arrival) {
            let travelled = when - departure;
            return Err(match kind {
                DisruptionKind::Outage => travelled.max(1),
                DisruptionKind::Cut { from, .. } => travelled - from + 1,
            });
        }
        self.serve(at, burst);
        Ok(arrival)
    }
}

/// The times at which a flow's packets leave.
#[derive(Clone, Debug)]
pub struct Oracle {
    /// The links of each of the flow's routes, in the order of its data.
    routes: Box<[Box<[Twin]>]>,
    route: usize,
    /// The links after the packet that is planned, and when it leaves.
    ahead: Box<[Twin]>,
    planned: Option<Nanos>,
    /// Packets that leave together with the last one.
    together: u32,
    /// When to send next, if there is something to send.
    wakes: Nanos,
    /// Whether others' packets are in its way, and turns since it left one out.
    crowded: bool,
    turns: u32,
    /// First packet not acknowledged, and the parity of the packets that the receiver acknowledges, if it waits for two.
    una: u64,
    parity: Option<u64>,
    /// The other directions of each route's links.
    back: Box<[Box<[Schedule]>]>,
    access_delay: Nanos,
    end: Nanos,
}

impl Oracle {
    /// Create the oracle of a flow with `routes` of links, with the traffic of both directions, in a run until `end`.
    pub fn new(routes: Vec<Vec<(u32, Schedule, Schedule)>>, access_delay: Nanos, end: Nanos) -> Self {
        let back = routes.iter().map(|route| route.iter().map(|(.., back)| back.clone()).collect()).collect();
        let twin = |(link, schedule, _)| Twin {
            link,
            schedule,
            server: Server::default(),
            flows: 1,
            place: 0,
            turns: false,
        };
        let routes: Box<[Box<[Twin]>]> =
            routes.into_iter().map(|route| route.into_iter().map(twin).collect()).collect();
        let ahead = routes[0].clone();
        Self {
            routes,
            route: 0,
            ahead,
            planned: None,
            together: 0,
            wakes: NEVER,
            crowded: false,
            turns: 0,
            una: 0,
            parity: None,
            back,
            access_delay,
            end,
        }
    }

    /// Return the scheme beneath: a window that never limits the flow.
    pub fn scheme() -> External {
        let mut scheme = External::new();
        scheme.command(WINDOW, 0);
        scheme
    }

    /// Take route number `route` from now on.
    pub fn reroute(&mut self, route: usize) {
        if self.route != route {
            self.route = route;
            self.ahead = self.routes[route].clone();
            self.planned = None;
        }
    }

    /// Iterate over the links of its route.
    pub fn links(&self) -> impl Iterator<Item = u32> {
        self.routes[self.route].iter().map(|twin| twin.link)
    }

    /// Share each link with the oracles that run on it from `now` on: `running` has their number and this one's place.
    pub fn share(&mut self, now: Nanos, running: impl Fn(u32) -> (u32, u32)) {
        let twins = &mut self.routes[self.route];
        for twin in twins.iter_mut() {
            (twin.flows, twin.place) = running(twin.link);
            twin.turns = false;
        }
        let share = |twin: &&mut Twin| twin.schedule.at(now).rate_bps / u64::from(twin.flows.max(1));
        if let Some(tightest) = twins.iter_mut().min_by_key(share).filter(|twin| twin.flows > 1) {
            tightest.turns = true;
            tightest.begin_turns(now, PAIR);
        }
        self.planned = None;
    }

    /// Packets that leave together. The receiver acknowledges every second packet, so a flow that shares its link sends
    /// pairs: the first packet of two that are apart would wait for the second.
    fn burst(&self) -> u32 {
        if self.routes[self.route].iter().any(|twin| twin.flows > 1) { PAIR } else { 1 }
    }

    /// Look at the first packet not acknowledged and at the queues: `queued` returns the packets at a link.
    pub fn look_around(&mut self, una: u64, mut queued: impl FnMut(u32) -> u64) {
        match una - self.una {
            0 => {}
            1 => self.parity = None,
            _ => self.parity = Some(una % 2),
        }
        self.una = una;
        let mut shared = self.routes[self.route].iter().filter(|twin| twin.flows > 1);
        self.crowded = shared.any(|twin| queued(twin.link) > u64::from(2 * PAIR));
    }

    /// Return whether a packet may leave at `now`.
    pub fn may_send(&mut self, now: Nanos) -> bool {
        if self.together > 0 {
            return true;
        }
        let planned = match self.planned {
            Some(at) if at >= now => at,
            _ => self.plan(now, self.burst()),
        };
        self.planned = Some(planned);
        planned == now
    }

    /// Return the first time from `earliest` on at which a packet that leaves finds every transmitter free, and arrives.
    fn plan(&mut self, earliest: Nanos, burst: u32) -> Nanos {
        let mut send = earliest;
        'later: while send < self.end {
            let mut arrives = send + self.access_delay;
            for (twin, ahead) in self.routes[self.route].iter().zip(&mut self.ahead) {
                ahead.clone_from(twin);
                let starts = ahead.starts(arrives, burst);
                let later = match starts {
                    NEVER => return NEVER,
                    _ if starts > arrives => Err(starts - arrives),
                    _ => ahead.carries(arrives, burst),
                };
                match later {
                    Ok(arrival) => arrives = arrival,
                    Err(wait) => {
                        send = send.saturating_add(wait);
                        continue 'later;
                    }
                }
            }
            return send;
        }
        NEVER
    }

    /// Note that packet `seq` leaves at `now`.
    pub fn on_sent(&mut self, now: Nanos, seq: u64) {
        if self.together > 0 {
            self.together -= 1;
            return;
        }
        self.routes[self.route].swap_with_slice(&mut self.ahead);
        self.planned = None;
        if self.burst() == PAIR {
            // A pair begins where the receiver begins to count to two.
            self.together = u32::from(self.parity.is_none_or(|parity| parity == seq % 2));
            self.turns += 1;
            if self.crowded && self.turns >= SKIPS {
                self.turns = 0;
                self.plan(now, PAIR);
                self.routes[self.route].swap_with_slice(&mut self.ahead);
            }
        }
    }

    /// Choose the next time to send after a burst; `waits`: the flow has more packets.
    pub fn end_sending(&mut self, waits: bool) {
        self.wakes = if waits { self.planned.unwrap_or(NEVER) } else { NEVER };
    }

    /// Return when to send next.
    pub const fn wakes(&self) -> Nanos {
        self.wakes
    }

    /// Return its share of the path at `now`, in payload bytes per second.
    pub fn pacing_rate(&self, now: Nanos) -> u64 {
        let shares = self.routes[self.route]
            .iter()
            .filter(|twin| twin.schedule.at(now).rate_bps != UNLIMITED)
            .map(|twin| twin.schedule.at(now).rate_bps / u64::from(twin.flows.max(1)));
        let payload = u64::from(leo_transport::SEGMENT_BYTES);
        shares.min().unwrap_or(0) * payload / u64::from(8 * PACKET_BYTES)
    }

    /// Return the packets that it needs in flight to use its share at `now`.
    pub fn window(&self, now: Nanos) -> u32 {
        let there = self.routes[self.route].iter().map(|twin| &twin.schedule);
        let delays = there.chain(&self.back[self.route]).map(|schedule| schedule.at(now).delay);
        let rtt = 2 * self.access_delay + delays.sum::<Nanos>();
        let bytes = u128::from(self.pacing_rate(now)) * u128::from(rtt) / NANOS_PER_S;
        (bytes.div_ceil(u128::from(leo_transport::SEGMENT_BYTES)) as u32).max(1)
    }
}
