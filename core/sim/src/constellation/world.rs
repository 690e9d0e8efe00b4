//! What only the simulator knows of the paths of a constellation's flows, for rewards and critics.

use leo_control::World;
use leo_transport::PACKET_BYTES;

use crate::flow::Phase;
use crate::simulation::Simulation;

/// The bottlenecks of a moment.
#[derive(Clone, Debug, Default)]
pub struct Bottlenecks {
    /// Running flows whose data crosses each link.
    flows: Vec<u32>,
}

impl Bottlenecks {
    /// Count the flows on each link now.
    ///
    /// # Panics
    /// The simulation is not one of a constellation.
    pub fn count(&mut self, simulation: &Simulation) {
        let forwarding = simulation.paths.forwarding().expect("a constellation has tables");
        self.flows.clear();
        self.flows.resize(simulation.links().len(), 0);
        for flow in simulation.flows().iter().filter(|flow| flow.phase == Phase::Running) {
            for link in forwarding.crossed_one_way(flow.routes.path(), 0) {
                self.flows[link as usize] += 1;
            }
        }
    }

    /// Return the running flows whose data crosses a link.
    pub fn flows(&self, link: u32) -> u32 {
        self.flows[link as usize]
    }

    /// Return the state of a flow's path, and the running flows on its bottleneck: the slowest of its links, and among equal ones
    /// that with the most flows. Without a route, the capacity is that of the slowest kind of link.
    ///
    /// # Panics
    /// As [`Self::count`].
    pub fn world(&self, simulation: &Simulation, flow: usize) -> (World, u32) {
        let forwarding = simulation.paths.forwarding().expect("a constellation has tables");
        let path = simulation.flows()[flow].routes.path();
        let base_rtt_ns = forwarding.pairs[path as usize].base_rtt;
        let links = simulation.links();
        let rate = |link: u32| links[link as usize].schedule().at(simulation.now()).rate_bps;
        let slowest = forwarding
            .crossed_one_way(path, 0)
            .min_by_key(|&link| (rate(link), u32::MAX - self.flows[link as usize]));
        let Some(link) = slowest else {
            let maker = simulation.link_maker.as_ref().expect("a constellation makes links");
            let capacity_bytes_per_s = maker.rates().into_iter().fold(f64::INFINITY, f64::min) / 8.0;
            return (World { capacity_bytes_per_s, base_rtt_ns, buffer_bytes: 0 }, 1);
        };
        let limit = links[link as usize].limit();
        let world = World {
            capacity_bytes_per_s: rate(link) as f64 / 8.0,
            base_rtt_ns,
            buffer_bytes: limit.bytes.min(limit.packets.saturating_mul(u64::from(PACKET_BYTES))),
        };
        (world, self.flows[link as usize])
    }
}
