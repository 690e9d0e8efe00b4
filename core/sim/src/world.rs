//! What rewards and critics see of the simulated path.

use leo_control::World;
use leo_link::Nanos;
use leo_transport::PACKET_BYTES;

use crate::simulation::Simulation;

/// The bottleneck of `flow`'s route and its propagation at `now`.
pub fn world_of(simulation: &Simulation, flow: usize, now: Nanos) -> World {
    let mut world = World::default();
    let mut slowest = u64::MAX;
    for &link in &simulation.flows()[flow].routes.current().links {
        let link = &simulation.links()[link as usize];
        let span = link.schedule().at(now);
        world.base_delay_ns += span.delay;
        if span.rate_bps < slowest {
            slowest = span.rate_bps;
            world.capacity_bytes_per_s = span.rate_bps as f64 / 8.0;
            let limit = link.limit();
            world.buffer_bytes = limit.bytes.min(limit.packets.saturating_mul(u64::from(PACKET_BYTES)));
        }
    }
    world
}
