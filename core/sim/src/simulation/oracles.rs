//! The knowledge of oracles: the simulation's queues and their own number.

use super::Simulation;
use crate::flow::{Flow, Phase};

impl Simulation {
    /// Show a flow's oracle, if it has one, the queues of its links.
    #[inline(never)]
    pub(super) fn look_around(&mut self, index: usize) {
        let Self { now, links, flows, .. } = self;
        let una = flows[index].sender.una();
        if let Some(oracle) = &mut flows[index].oracle {
            oracle.look_around(una, |link| links[link as usize].queued_packets(*now));
        }
    }

    /// Share the links among all oracles after flow `index` has started, stopped or changed its route.
    #[cold]
    pub(super) fn note_change(&mut self, index: usize) {
        let Self { now, links, flows, .. } = self;
        let route = flows[index].routes.number();
        let Some(oracle) = &mut flows[index].oracle else { return };
        oracle.reroute(route);
        let mut running = vec![0; links.len()];
        let runs = |flow: &Flow| flow.phase == Phase::Running;
        for link in flows
            .iter()
            .filter(|flow| runs(flow))
            .filter_map(|flow| flow.oracle.as_ref())
            .flat_map(|oracle| oracle.links())
        {
            running[link as usize] += 1;
        }
        let mut places = vec![0; links.len()];
        for flow in flows.iter_mut().filter(|flow| runs(flow)) {
            let Some(oracle) = &mut flow.oracle else { continue };
            oracle.share(*now, |link| (running[link as usize], places[link as usize]));
            for link in oracle.links() {
                places[link as usize] += 1;
            }
        }
    }
}
