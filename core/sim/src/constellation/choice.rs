//! Flows that choose among the paths of their pair, and what they can know of these.

use leo_link::Nanos;

use crate::bottlenecks::Bottlenecks;
use crate::flow::Phase;
use crate::simulation::Simulation;

/// A path that a flow takes or may take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathState {
    /// Propagation both ways; that of the last route, if there is none.
    pub base_rtt: Nanos,
    /// Links of the way there; 0 without a route.
    pub hops: u32,
    /// The largest share of its capacity that a link of the way there carried; 1 without a route.
    pub utilisation: f64,
    /// The flow's equal share of the bottleneck in bit/s, if it takes the path and all others stay; 0 without a route.
    pub share_bps: f64,
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

    /// Return the paths of each flow in turn, with the load of their links since the last call.
    ///
    /// # Panics
    /// The simulation is not one of a constellation.
    pub fn measure_paths(&mut self) -> Vec<PathState> {
        let mut bottlenecks = Bottlenecks::default();
        bottlenecks.count(self);
        let Self { now, links, paths, flows, .. } = self;
        let forwarding = paths.forwarding_mut().expect("a constellation has tables");
        forwarding.meter.measure(*now, links);
        let count = forwarding.paths() as u32;
        let mut states = Vec::with_capacity(flows.len() * count as usize);
        for flow in flows {
            let current = flow.routes.path();
            let runs = flow.phase == Phase::Running;
            let own: Vec<u32> = forwarding.crossed_one_way(current, 0).filter(|_| runs).collect();
            for path in current / count * count..(current / count + 1) * count {
                let mut state = PathState { utilisation: 1.0, ..PathState::default() };
                for (place, link) in forwarding.crossed_one_way(path, 0).enumerate() {
                    let others = bottlenecks.flows(link) - u32::from(own.contains(&link));
                    let rate_bps = links[link as usize].schedule().at(*now).rate_bps as f64;
                    let (carried, share_bps) =
                        (forwarding.meter.utilisation[link as usize], rate_bps / f64::from(others + 1));
                    if place == 0 {
                        (state.utilisation, state.share_bps) = (carried, share_bps);
                    }
                    state.utilisation = state.utilisation.max(carried);
                    state.share_bps = state.share_bps.min(share_bps);
                }
                let pair = &forwarding.pairs[path as usize];
                (state.base_rtt, state.hops) = (pair.base_rtt, pair.routes[0].len() as u32);
                states.push(state);
            }
        }
        states
    }
}
