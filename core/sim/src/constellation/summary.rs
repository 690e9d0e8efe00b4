//! What a network's run log has beside those of flows and links: its pairs of stations, and the fate of all packets.

use leo_link::{NEVER, Nanos};

use super::forwarding::Place;
use crate::run_log::table;
use crate::simulation::Simulation;

table! {
    /// The summary of the route from one station to another.
    PairSummary {
        from: u64, "", "index of the sender's station";
        to: u64, "", "index of the receiver's station";
        path: u64, "", "number among the pair's paths, 0 if it has only that";
        changes: u64, "", "changes of the way from sender to receiver";
        unreachable_s: f64, "s", "time without a way from sender to receiver";
        rtt_min_ms: f64, "ms", "smallest propagation both ways; NaN without a route";
        rtt_max_ms: f64, "ms", "largest propagation both ways; NaN without a route";
        hops: u64, "", "links of the way from sender to receiver at the end";
        capacity_mbps: f64, "Mbit/s", "mean capacity of the way's slowest link; 0 without a way";
    }
}

/// The fate of all packets that stations have sent: sent = arrived + dropped + lost + unroutable + inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrafficCount {
    /// Packets that stations sent, ACKs included.
    pub sent: u64,
    /// Packets that reached their station.
    pub arrived: u64,
    /// Packets that queues dropped.
    pub dropped: u64,
    /// Packets lost at random or on links that vanished.
    pub lost: u64,
    /// Packets that a node had no route for.
    pub unroutable: u64,
    /// Packets that wait or travel.
    pub inside: u64,
    /// Links that packets have crossed.
    pub hops: u64,
}

impl Simulation {
    /// Return a summary of each pair of stations with flows.
    ///
    /// # Panics
    /// The simulation is not one of a constellation.
    pub fn pairs(&self) -> Vec<PairSummary> {
        let forwarding = self.paths.forwarding().expect("a constellation has tables");
        let ms = |time: Nanos| time as f64 * 1e-6;
        let summary = |pair: &super::pairs::Pair| PairSummary {
            from: pair.ends[0].into(),
            to: pair.ends[1].into(),
            path: pair.number,
            changes: pair.changes,
            unreachable_s: pair.unreachable(0, self.now) as f64 * 1e-9,
            rtt_min_ms: if pair.base_rtts[0] == NEVER { f64::NAN } else { ms(pair.base_rtts[0]) },
            rtt_max_ms: if pair.base_rtts[0] == NEVER { f64::NAN } else { ms(pair.base_rtts[1]) },
            hops: pair.routes[0].len() as u64,
            capacity_mbps: pair.capacity_bits(0, self.now) * 1e3 / self.now.max(1) as f64,
        };
        forwarding.pairs.iter().map(summary).collect()
    }

    /// Return the index of each flow's pair.
    pub fn pairs_of_flows(&self) -> Vec<u32> {
        self.flows.iter().map(|flow| flow.routes.path()).collect()
    }

    /// Return the nodes of each pair's route now, stations included and counted on from the satellites, and the propagation both
    /// ways in ns; no nodes without a route.
    ///
    /// # Panics
    /// As for [`Self::pairs`].
    pub fn routes(&self) -> Vec<(Vec<u32>, Nanos)> {
        let forwarding = self.paths.forwarding().expect("a constellation has tables");
        let nodes = |pair: &super::pairs::Pair| {
            let [there, back] = &pair.routes;
            if there.is_empty() || back.is_empty() {
                return (Vec::new(), 0);
            }
            let heads = there.iter().map(|&link| forwarding.head(link));
            ([forwarding.station(pair.ends[0])].into_iter().chain(heads).collect(), pair.base_rtt)
        };
        forwarding.pairs.iter().map(nodes).collect()
    }

    /// Return the fate of all packets so far.
    ///
    /// # Panics
    /// As for [`Self::pairs`].
    pub fn traffic(&mut self) -> TrafficCount {
        let Self { now, links, paths, .. } = self;
        let forwarding = paths.forwarding().expect("a constellation has tables");
        let [at_stations, in_space] = paths.unroutable;
        let mut count =
            TrafficCount { sent: at_stations, unroutable: at_stations + in_space, ..TrafficCount::default() };
        for (number, link) in (0_u32..).zip(links) {
            let stats = link.stats(*now);
            count.dropped += stats.dropped;
            let place = forwarding.place(number);
            if let Place::Transmitter { of_station } = place {
                // Packets that it accepts count on the link behind it at once.
                count.sent += if of_station { stats.dropped } else { 0 };
                continue;
            }
            count.lost += stats.lost;
            count.hops += stats.delivered;
            count.inside += stats.offered - stats.delivered - stats.dropped - stats.lost;
            match place {
                Place::Up => count.sent += stats.offered,
                Place::Down => count.arrived += stats.delivered,
                Place::Laser | Place::Transmitter { .. } => {}
            }
        }
        count
    }
}
