//! The path state for rewards and critics.

use leo_control::World;
use leo_link::{DropTail, Nanos, Schedule};
use leo_transport::PACKET_BYTES;

use crate::telemetry::framed_bps;

/// Return the bottleneck (the first of the slowest links) and the propagation both ways of a route at `now`.
/// Each of its links is given with the schedule of its other direction. During an outage, a link counts with
/// its rate outside of outages, and a link that sends in frames with their mean rate.
pub fn world<'a>(
    route: impl IntoIterator<Item = (&'a Schedule, &'a Schedule, DropTail)>,
    now: Nanos,
) -> World {
    let mut world = World::default();
    let mut slowest = u64::MAX;
    for (schedule, back, limit) in route {
        let span = schedule.at(now);
        world.base_rtt_ns += span.delay + back.at(now).delay;
        let rate_bps = framed_bps(schedule, now).unwrap_or(span.rate_bps);
        if rate_bps < slowest {
            slowest = rate_bps;
            world.capacity_bytes_per_s = rate_bps as f64 / 8.0;
            world.buffer_bytes = limit.bytes.min(limit.packets.saturating_mul(u64::from(PACKET_BYTES)));
        }
    }
    world
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use leo_link::{Direction, OneWay, PathTrace, Row};

    use super::*;

    const MS: Nanos = 1_000_000;

    #[test]
    fn the_capacity_of_a_link_that_sends_in_frames_is_their_mean_rate_within_and_between_them() {
        let row = |time_ns, mbps: u64| {
            Row::alike(
                time_ns,
                OneWay { delay_ns: 7 * MS, rate_bps: mbps * 1_000_000, loss: 0.0, connected: true },
            )
        };
        // A frame of 1 ms every 10 ms.
        let trace =
            PathTrace { rows: vec![row(0, 400), row(MS, 0)], period_ns: 10 * MS, ..PathTrace::default() };
        let schedule = Schedule::traced(Arc::new(trace), Direction::Uplink, None, 0);
        let limit = DropTail { bytes: 1, packets: 1 };
        for now in [200 * MS, 200 * MS + MS / 2, 205 * MS, 209 * MS] {
            let world = world([(&schedule, &schedule, limit)], now);
            // The silence at the end, up to 9 of 100 ms, does not count.
            assert!((5e6..5.5e6).contains(&world.capacity_bytes_per_s), "{now}: {world:?}");
            assert_eq!(world.base_rtt_ns, 14 * MS);
        }
    }

    #[test]
    fn the_slowest_link_is_that_with_the_least_mean_rate() {
        let row = |time_ns, mbps: u64| {
            Row::alike(
                time_ns,
                OneWay { delay_ns: MS, rate_bps: mbps * 1_000_000, loss: 0.0, connected: true },
            )
        };
        let trace =
            PathTrace { rows: vec![row(0, 400), row(5 * MS, 0)], period_ns: 10 * MS, ..PathTrace::default() };
        let framed = Schedule::traced(Arc::new(trace), Direction::Uplink, None, 0);
        let constant = Schedule::constant(MS, 100_000_000);
        let limit = |bytes| DropTail { bytes, packets: u64::MAX };
        for now in [200 * MS + MS, 200 * MS + 7 * MS] {
            let route = [(&framed, &framed, limit(1)), (&constant, &constant, limit(2))];
            let world = world(route, now);
            assert_eq!((world.capacity_bytes_per_s, world.buffer_bytes), (12.5e6, 2));
        }
    }
}
