//! What rewards and critics see of the simulated path.

use leo_control::World;
use leo_link::{DropTail, Nanos, Schedule};
use leo_transport::PACKET_BYTES;

/// The bottleneck of a route and the route's propagation at `now`.
///
/// The slowest link is the bottleneck, the first of several; in an outage it counts with the rate that it would have.
pub fn world<'a>(route: impl IntoIterator<Item = (&'a Schedule, DropTail)>, now: Nanos) -> World {
    let mut world = World::default();
    let mut slowest = u64::MAX;
    for (schedule, limit) in route {
        let span = schedule.at(now);
        world.base_delay_ns += span.delay;
        if span.rate_bps < slowest {
            slowest = span.rate_bps;
            world.capacity_bytes_per_s = span.rate_bps as f64 / 8.0;
            world.buffer_bytes = limit.bytes.min(limit.packets.saturating_mul(u64::from(PACKET_BYTES)));
        }
    }
    world
}
