//! Disruptions drop packets in flight: outages, and soft handovers that dismantle a stretch of the path.

use crate::schedule::Direction;
use crate::{Event, Nanos, PathTrace};

/// An event that drops packets in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disruption {
    /// Trace time.
    pub at: Nanos,
    /// Which packets it drops.
    pub kind: DisruptionKind,
}

/// Which packets a disruption drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisruptionKind {
    /// An outage begins and drops every packet in flight.
    Outage,
    /// A soft handover drops the packets that have travelled for a time in `from..to`.
    Cut {
        /// Shortest travel time.
        from: Nanos,
        /// Longest travel time, exclusive.
        to: Nanos,
    },
}

impl Disruption {
    /// Return whether it drops a packet that has travelled for `travelled`.
    #[inline]
    pub fn takes(&self, travelled: Nanos) -> bool {
        match self.kind {
            DisruptionKind::Outage => true,
            DisruptionKind::Cut { from, to } => (from..to).contains(&travelled),
        }
    }
}

/// Return all disruptions of one trace period in time order, for packets that go in `direction`.
pub fn of(trace: &PathTrace, direction: Direction) -> Vec<Disruption> {
    let rows = &trace.rows;
    // Replay wraps: the row before the first is the last, and an outage may span the wrap.
    let before = |index: usize| &rows[(index + rows.len() - 1) % rows.len()];
    let mut disruptions = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let old = before(index).way(direction);
        if !row.way(direction).connected {
            if old.connected {
                disruptions.push(Disruption { at: row.time_ns, kind: DisruptionKind::Outage });
            }
            continue;
        }
        let Event::SoftHandover(stretch) = row.event else { continue };
        if stretch.from_us < stretch.to_us {
            let (from, to) = (u64::from(stretch.from_us) * 1000, u64::from(stretch.to_us) * 1000);
            // The trace measures the stretch from the first site; downlink packets start at the second. Whatever
            // makes their delay longer than the other way's is before the stretch, as at a scheduler.
            let (from, to) = match direction {
                Direction::Uplink => (from, to),
                Direction::Downlink => (old.delay_ns.saturating_sub(to), old.delay_ns.saturating_sub(from)),
            };
            disruptions.push(Disruption { at: row.time_ns, kind: DisruptionKind::Cut { from, to } });
        }
    }
    disruptions
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Arc;

    use super::*;
    use crate::{
        DropTail, Jitter, Link, Loss, NEVER, OneWay, Packet, Queued, Row, Schedule, Stretch, UNLIMITED,
    };

    const MS: Nanos = 1_000_000;

    #[derive(Clone, Copy)]
    struct Probe {
        offered_at: Nanos,
    }

    impl Packet for Probe {
        type Compact = Self;
        type Extra = ();
        type Queued = Self;
        fn pack(self, _extras: &mut VecDeque<()>) -> Self {
            self
        }
        fn unpack(compact: Self, _extras: &mut VecDeque<()>) -> Self {
            compact
        }

        fn queue(self) -> Self {
            self
        }

        fn pack_queued(queued: Self, extras: &mut VecDeque<()>) -> Self {
            queued.pack(extras)
        }

        fn compact_bytes(_compact: &Self) -> u32 {
            1500
        }

        fn bytes(&self) -> u32 {
            1500
        }
    }

    impl Queued for Probe {
        fn bytes(&self) -> u32 {
            Packet::bytes(self)
        }
    }

    /// A 10 ms path that becomes an 8 ms path at 1 s, when the stretch from 4 to 7 ms is dismantled.
    fn rerouted(direction: Direction) -> Link<Probe> {
        let row = |time_ns, delay_ns, path_id, event| {
            let way = OneWay { delay_ns, rate_bps: 1_000_000_000, loss: 0.0, connected: true };
            Row { path_id, event, ..Row::alike(time_ns, way) }
        };
        let stretch = Stretch { from_us: 4_000, to_us: 7_000 };
        let trace = PathTrace {
            rows: vec![
                row(0, 10 * MS, 0, Event::None),
                row(1_000 * MS, 8 * MS, 1, Event::SoftHandover(stretch)),
            ],
            period_ns: 2_000 * MS,
            ..PathTrace::default()
        };
        let schedule = Schedule::traced(Arc::new(trace), direction, Some(UNLIMITED), 0);
        Link::new(schedule, DropTail::INFINITE, Loss::new(0.0, 0), Jitter::none())
    }

    /// Offer a packet each ms before the change; return the ages (ms, at the change) of those that arrive.
    fn survivors(direction: Direction) -> Vec<u64> {
        let mut link = rerouted(direction);
        for age_ms in (0..10).rev() {
            // Half a millisecond keeps the packets off the stretch's ends.
            let now = 1_000 * MS - age_ms * MS - MS / 2;
            link.offer(Probe { offered_at: now }, now);
        }
        let mut ages = Vec::new();
        while link.next_event() != NEVER {
            let now = link.next_event();
            while let Some(probe) = link.poll(now) {
                ages.push((1_000 * MS - probe.offered_at) / MS);
            }
        }
        assert_eq!(link.stats(NEVER).lost, 3);
        ages
    }

    #[test]
    fn a_soft_handover_takes_what_is_on_the_dismantled_stretch_and_nothing_else() {
        assert_eq!(survivors(Direction::Uplink), [9, 8, 7, 3, 2, 1, 0]);
    }

    #[test]
    fn the_other_way_the_dismantled_stretch_comes_after_what_remains_of_the_path() {
        // Seen from the second site, the stretch lies between 10 - 7 and 10 - 4 ms.
        assert_eq!(survivors(Direction::Downlink), [9, 8, 7, 6, 2, 1, 0]);
    }
}
