//! Flows that choose among the paths of their pair, and what they can know of these.

use leo_link::Nanos;

use super::world::Bottlenecks;
use crate::simulation::Simulation;

/// A path between two stations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathState {
    /// Propagation both ways; that of the last route, if there is none.
    pub base_rtt: Nanos,
    /// Links of the way there; 0 without a route.
    pub hops: u32,
    /// The largest share of its capacity that a link of the way there carried; 1 without a route.
    pub utilisation: f64,
    /// Equal shares of the running flows now, in bit/s: the smallest of the way's links; 0 without a route.
    pub share_bps: f64,
    /// The same with one flow more.
    pub share_of_one_more_bps: f64,
}

impl Simulation {
    /// Let a flow take another path of its pair from now on. Packets on their way stay on theirs.
    ///
    /// # Panics
    /// The simulation is not one of a constellation, or has no such flow or path.
    pub fn choose_path(&mut self, flow: usize, number: u32) {
        let forwarding = self.paths.forwarding().expect("a constellation has tables");
        let paths = forwarding.paths() as u32;
        assert!(number < paths, "the pair has {paths} paths");
        let routes = &mut self.flows[flow].routes;
        routes.choose(routes.path() / paths * paths + number);
    }

    /// Return all paths, those of each pair in turn, with the load of their links since the last call.
    ///
    /// # Panics
    /// The simulation is not one of a constellation.
    pub fn measure_paths(&mut self) -> Vec<PathState> {
        let mut bottlenecks = Bottlenecks::default();
        bottlenecks.count(self);
        let Self { now, links, paths, .. } = self;
        let forwarding = paths.forwarding_mut().expect("a constellation has tables");
        forwarding.meter.measure(*now, links);
        let state = |path: usize| {
            let pair = &forwarding.pairs[path];
            let carried = forwarding.crossed_one_way(path as u32, 0);
            let share = |more: u32| {
                let of = |link: u32| {
                    let flows = bottlenecks.flows(link) + more;
                    links[link as usize].schedule().at(*now).rate_bps as f64 / f64::from(flows.max(1))
                };
                forwarding.crossed_one_way(path as u32, 0).map(of).reduce(f64::min).unwrap_or(0.0)
            };
            let utilisation = carried.map(|link| forwarding.meter.utilisation[link as usize]);
            PathState {
                base_rtt: pair.base_rtt,
                hops: pair.routes[0].len() as u32,
                utilisation: utilisation.reduce(f64::max).unwrap_or(1.0),
                share_bps: share(0),
                share_of_one_more_bps: share(1),
            }
        };
        (0..forwarding.pairs.len()).map(state).collect()
    }
}
