//! The path state for rewards and critics.

use leo_control::World;
use leo_link::{DropTail, Nanos, Schedule};
use leo_transport::PACKET_BYTES;

/// Return the bottleneck (the first of the slowest links) and the propagation both ways of a route at `now`.
/// Each of its links is given with the schedule of its other direction. During an outage, a link counts with
/// its rate outside of outages.
pub fn world<'a>(
    route: impl IntoIterator<Item = (&'a Schedule, &'a Schedule, DropTail)>,
    now: Nanos,
) -> World {
    let mut world = World::default();
    let mut slowest = u64::MAX;
    for (schedule, back, limit) in route {
        let span = schedule.at(now);
        world.base_rtt_ns += span.delay + back.at(now).delay;
        if span.rate_bps < slowest {
            slowest = span.rate_bps;
            world.capacity_bytes_per_s = span.rate_bps as f64 / 8.0;
            world.buffer_bytes = limit.bytes.min(limit.packets.saturating_mul(u64::from(PACKET_BYTES)));
        }
    }
    world
}
