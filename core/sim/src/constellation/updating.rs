//! Moves a simulation on to the links of the next moment.

use leo_link::{DropTail, Jitter, Link, Loss, NEVER, Nanos, Schedule, UNLIMITED};

use super::forwarding::{Changes, Forwarding, GroundWay, Needed, Snapshot};
use crate::network::queue;
use crate::packet::Packet;
use crate::scenario::{ConstellationSpec, TransmitterSpec, VanishedLinks, nanos};
use crate::simulation::Simulation;
use crate::telemetry::Port;

const LIGHT_KM_PER_S: f64 = 299_792.458;

/// Return the time of light over `km`, rounded up as in path traces.
pub fn light(km: f64) -> Nanos {
    (km / LIGHT_KM_PER_S * 1e9).ceil() as Nanos
}

/// Makes the links of a constellation.
#[derive(Clone, Debug)]
pub struct LinkMaker {
    laser: TransmitterSpec,
    uplink: TransmitterSpec,
    downlink: TransmitterSpec,
    jitter: Nanos,
    seed: u64,
    observed: bool,
    /// First link number of the stations' and of the satellites' transmitters, if nodes share them among links.
    shared: Option<[u32; 2]>,
    stations: Vec<String>,
    pub vanished: VanishedLinks,
    changes: Changes,
}

impl LinkMaker {
    /// Prepare to make ground links, and make lasers and shared transmitters.
    pub fn new(
        spec: &ConstellationSpec,
        observed: bool,
        forwarding: &mut Forwarding,
        links: &mut Vec<Link<Packet>>,
        logged: &mut Vec<(String, usize)>,
    ) -> Self {
        let mut maker = Self {
            laser: spec.laser.clone(),
            uplink: spec.uplink.clone(),
            downlink: spec.downlink.clone(),
            jitter: nanos(spec.host_jitter_us, 1e3),
            seed: spec.seed,
            observed,
            shared: None,
            stations: spec.stations.clone(),
            vanished: spec.vanished_links,
            changes: Changes::default(),
        };
        for [from, to] in spec.lasers.iter().flat_map(|&[a, b]| [[a, b], [b, a]]) {
            logged.push((format!("satellite {from} > satellite {to}"), links.len()));
            let link = maker.link(&maker.laser, 0, links.len(), Jitter::none());
            links.push(link);
        }
        if spec.shared_ground {
            let up = links.len() as u32;
            maker.shared = Some([up, up + spec.stations.len() as u32]);
            forwarding.shared = maker.shared;
            let stations = spec.stations.iter().map(|name| (format!("{name} > satellites"), &spec.uplink));
            let satellites = (0..spec.satellites)
                .map(|satellite| (format!("satellite {satellite} > ground"), &spec.downlink));
            let nodes = (spec.satellites..).take(spec.stations.len()).chain(0..spec.satellites);
            for (node, (name, kind)) in nodes.zip(stations.chain(satellites)) {
                logged.push((name, links.len()));
                links.push(Link::transmitter(schedule(kind, 0), size(kind)));
                forwarding.add_transmitter(node);
            }
        }
        let parts = |kind: &TransmitterSpec| kind.queue.kind == leo_link::QueueKind::DualPi2;
        forwarding.parts_codepoints = parts(&spec.laser) || parts(&spec.uplink) || parts(&spec.downlink);
        maker
    }

    /// Make a link with its own transmitter and queue.
    fn link(&self, kind: &TransmitterSpec, delay: Nanos, number: usize, jitter: Jitter) -> Link<Packet> {
        let link = Link::new(schedule(kind, delay), size(kind), self.loss(kind, number), jitter)
            .with_changing_delay();
        let link = queue::install(
            link,
            &kind.queue,
            self.seed.rotate_left(32) ^ 0x7175_6575_6500_0000 ^ number as u64,
        );
        if self.observed { link.observed() } else { link }
    }

    fn loss(&self, kind: &TransmitterSpec, number: usize) -> Loss {
        Loss::new(kind.loss, self.seed.rotate_left(32) ^ 0x6c6f_7373_0000_0000 ^ number as u64)
    }

    /// Make a ground link with the number `number`, and return the transmitter in front of it, if nodes share these.
    fn ground_link(&self, needed: &Needed, number: usize) -> (Link<Packet>, Option<u32>) {
        let (kind, jitter) = match needed.way {
            GroundWay::Up => (&self.uplink, Jitter::new(self.jitter, self.seed ^ number as u64)),
            GroundWay::Down => (&self.downlink, Jitter::none()),
        };
        let delay = light(needed.km);
        let Some([stations, satellites]) = self.shared else {
            return (self.link(kind, delay, number, jitter), None);
        };
        let transmitter = match needed.way {
            GroundWay::Up => stations + needed.station,
            GroundWay::Down => satellites + needed.satellite,
        };
        let schedule = Schedule::constant(delay, UNLIMITED);
        (Link::new(schedule, DropTail::INFINITE, self.loss(kind, number), jitter), Some(transmitter))
    }

    fn name(&self, needed: &Needed) -> String {
        let (station, satellite) = (&self.stations[needed.station as usize], needed.satellite);
        match needed.way {
            GroundWay::Up => format!("{station} > satellite {satellite}"),
            GroundWay::Down => format!("satellite {satellite} > {station}"),
        }
    }

    /// Return the capacities of up-links, lasers and down-links in bit/s, infinite where they are uncongested.
    pub fn rates(&self) -> [f64; 3] {
        [&self.uplink, &self.laser, &self.downlink]
            .map(|kind| kind.rate_mbps.map_or(f64::INFINITY, |rate| rate * 1e6))
    }
}

fn schedule(kind: &TransmitterSpec, delay: Nanos) -> Schedule {
    Schedule::constant(delay, kind.rate_mbps.map_or(UNLIMITED, |rate| ((rate * 1e6).round() as u64).max(1)))
}

fn size(kind: &TransmitterSpec) -> DropTail {
    if kind.rate_mbps.is_none() { DropTail::INFINITE } else { queue::limit(&kind.queue, 0, 0) }
}

impl Simulation {
    /// Take over the links of a moment: packets that are sent from now on follow the routes over these.
    ///
    /// Call it at the start, and then whenever routes are to be found anew.
    ///
    /// # Panics
    /// The simulation is not one of a constellation.
    pub fn follow(&mut self, snapshot: &Snapshot<'_>) {
        let Self { now, links, paths, events, logged_links, link_maker, ports, flows, recorder, .. } = self;
        let (Some(forwarding), Some(maker)) = (paths.forwarding_mut(), link_maker) else {
            panic!("only a constellation has snapshots");
        };
        if let Some(loads) = &mut forwarding.loads {
            loads.measure(*now, links);
        }
        let mut changes = std::mem::take(&mut maker.changes);
        forwarding.measure(snapshot, &mut changes);
        for &(link, km) in &changes.lengths {
            links[link as usize].set_delay(light(km), *now);
        }
        if maker.vanished == VanishedLinks::Lose {
            for &link in &changes.vanished {
                links[link as usize].lose_all(*now);
                events.set_link(link as usize, NEVER);
            }
        }
        for needed in forwarding.needed() {
            let number = links.len();
            let (link, transmitter) = maker.ground_link(&needed, number);
            forwarding.add(number as u32, &needed, transmitter);
            links.push(link);
            if transmitter.is_none() {
                logged_links.push((maker.name(&needed), number));
                recorder.add_link();
            }
            if !ports.is_empty() {
                ports.push(Port::new(flows.len()));
            }
        }
        events.grow(links.len());
        forwarding.tabulate(*now, maker.rates(), light);
        maker.changes = changes;
    }
}
