//! What only the simulator knows of the flows' paths, for rewards and critics.

use leo_control::World;
use leo_link::Link;
use leo_transport::PACKET_BYTES;

use crate::flow::{Flow, Phase};
use crate::packet::Packet;
use crate::simulation::Simulation;
use crate::world::world;

/// The bottlenecks of a moment.
#[derive(Clone, Debug, Default)]
pub struct Bottlenecks {
    /// Running flows whose data crosses each link.
    flows: Vec<u32>,
}

/// A flow's path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathWorld {
    pub world: World,
    /// The slowest of its links, and among equal ones the first of those with the most flows; `None` without a route.
    pub bottleneck: Option<u32>,
    /// Running flows whose data crosses the bottleneck.
    pub flows: u32,
}

impl Bottlenecks {
    /// Count the flows on each link now.
    pub fn count(&mut self, simulation: &Simulation) {
        self.flows.clear();
        self.flows.resize(simulation.links().len(), 0);
        for flow in simulation.flows().iter().filter(|flow| flow.phase == Phase::Running) {
            each_link(simulation, flow, |link| self.flows[link as usize] += 1);
        }
    }

    /// Return the running flows whose data crosses a link.
    pub fn flows(&self, link: u32) -> u32 {
        self.flows[link as usize]
    }

    /// Return the state of a flow's path. In a constellation without a route, the capacity is that of the slowest kind
    /// of link.
    pub fn path(&self, simulation: &Simulation, flow: usize) -> PathWorld {
        if simulation.paths.forwarding().is_some() {
            return self.path_in_network(simulation, flow);
        }
        let (links, route) = (simulation.links(), simulation.flows()[flow].routes.current());
        let crossed = route.links.iter().zip(route.both_ways(links)).map(|(&link, (there, back))| {
            (there.schedule(), back.schedule(), there.limit(), self.flows[link as usize])
        });
        let (world, place) = world(crossed, simulation.now());
        let bottleneck = place.map(|place| route.links[place]);
        PathWorld { world, bottleneck, flows: bottleneck.map_or(1, |link| self.flows(link)) }
    }

    fn path_in_network(&self, simulation: &Simulation, flow: usize) -> PathWorld {
        let forwarding = simulation.paths.forwarding().expect("a constellation has tables");
        let path = simulation.flows()[flow].routes.path();
        let base_rtt_ns = forwarding.pairs[path as usize].base_rtt;
        let links: &[Link<Packet>] = simulation.links();
        let rate = |link: u32| links[link as usize].schedule().at(simulation.now()).rate_bps;
        let slowest = forwarding
            .crossed_one_way(path, 0)
            .min_by_key(|&link| (rate(link), u32::MAX - self.flows[link as usize]));
        let Some(link) = slowest else {
            let maker = simulation.link_maker.as_ref().expect("a constellation makes links");
            let capacity_bytes_per_s = maker.rates().into_iter().fold(f64::INFINITY, f64::min) / 8.0;
            let world = World { capacity_bytes_per_s, base_rtt_ns, buffer_bytes: 0 };
            return PathWorld { world, bottleneck: None, flows: 1 };
        };
        let limit = links[link as usize].limit();
        let world = World {
            capacity_bytes_per_s: rate(link) as f64 / 8.0,
            base_rtt_ns,
            buffer_bytes: limit.bytes.min(limit.packets.saturating_mul(u64::from(PACKET_BYTES))),
        };
        PathWorld { world, bottleneck: Some(link), flows: self.flows(link) }
    }
}

/// Return whether a flow's data crosses `link`.
pub fn crosses(simulation: &Simulation, flow: usize, link: u32) -> bool {
    let mut is_crossed = false;
    each_link(simulation, &simulation.flows()[flow], |crossed| is_crossed |= crossed == link);
    is_crossed
}

/// Call `visit` with each link that a flow's data crosses, without access links.
fn each_link(simulation: &Simulation, flow: &Flow, visit: impl FnMut(u32)) {
    match simulation.paths.forwarding() {
        Some(forwarding) => forwarding.crossed_one_way(flow.routes.path(), 0).for_each(visit),
        None => flow.routes.current().links.iter().copied().for_each(visit),
    }
}
