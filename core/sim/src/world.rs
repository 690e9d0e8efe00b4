//! The path state for rewards and critics.

use leo_control::World;
use leo_link::{DropTail, Nanos, Schedule};
use leo_transport::PACKET_BYTES;

use crate::telemetry::framed_bps;

/// Return the state of a route at `now`, and the place of its bottleneck: the slowest of its links, and among equal ones
/// the first of those with the most flows. Each of its links is given with the schedule of its other direction, its
/// queue's limit and the number of flows on it. During an outage, a link counts with its rate outside of outages, and a
/// link that sends in frames with their mean rate.
pub fn world<'a>(
    route: impl IntoIterator<Item = (&'a Schedule, &'a Schedule, DropTail, u32)>,
    now: Nanos,
) -> (World, Option<usize>) {
    let mut world = World::default();
    let mut slowest: Option<(usize, u64, u32)> = None;
    for (place, (schedule, back, limit, flows)) in route.into_iter().enumerate() {
        let span = schedule.at(now);
        world.base_rtt_ns += span.delay + back.at(now).delay;
        let rate_bps = framed_bps(schedule, now).unwrap_or(span.rate_bps);
        if slowest.is_none_or(|(_, least, most)| rate_bps < least || (rate_bps == least && flows > most)) {
            slowest = Some((place, rate_bps, flows));
            world.capacity_bytes_per_s = rate_bps as f64 / 8.0;
            world.buffer_bytes = limit.bytes.min(limit.packets.saturating_mul(u64::from(PACKET_BYTES)));
        }
    }
    (world, slowest.map(|(place, ..)| place))
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
            let (world, _) = world([(&schedule, &schedule, limit, 1)], now);
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
            let route = [(&framed, &framed, limit(1), 1), (&constant, &constant, limit(2), 1)];
            let (world, place) = world(route, now);
            assert_eq!((world.capacity_bytes_per_s, world.buffer_bytes, place), (12.5e6, 2, Some(1)));
        }
    }

    #[test]
    fn among_equally_slow_links_the_first_of_those_with_the_most_flows_is_the_bottleneck() {
        let schedule = Schedule::constant(MS, 100_000_000);
        let place = |flows: [u32; 3]| {
            let limit = DropTail { bytes: 1, packets: u64::MAX };
            world(flows.map(|flows| (&schedule, &schedule, limit, flows)), 0).1
        };
        assert_eq!([place([1, 1, 1]), place([1, 2, 2]), place([1, 2, 3])], [Some(0), Some(1), Some(2)]);
    }
}
