//! Paths between two stations without a common link: the shortest one, then the shortest one over the remaining links, and so on
//! (Handley, HotNets 2018, section 4).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::trees::{Entry, GROUND, Mesh, NOWHERE, Reach, Tree};

/// A path: its first satellite, and the lasers that it crosses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    pub first: u32,
    pub last: u32,
    pub lasers: Vec<u32>,
}

/// Costs of the links between two stations.
#[derive(Clone, Copy, Debug)]
pub struct Costs<'a> {
    pub mesh: &'a Mesh,
    /// Of each laser link.
    pub laser: &'a [f64],
    /// Of the sender's up-links.
    pub up: &'a [Reach],
    /// Of the receiver's down-links.
    pub down: &'a [Reach],
}

/// Memory that searches reuse.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The number of the search that last reached a satellite, its cost and the link to it, [`GROUND`] from the sender.
    reached: Vec<(u32, f64, u32)>,
    /// The number of the pair whose paths use a laser.
    used: Vec<u32>,
    searches: u32,
    pairs: u32,
    /// Entries cost the path from the sender, and the least that follows.
    heap: BinaryHeap<Reverse<Entry>>,
}

impl Search {
    /// Find up to `most` paths. `tree` has the shortest paths to the receiver.
    pub fn find(&mut self, costs: &Costs<'_>, tree: &Tree, most: usize, ways: &mut Vec<Way>) {
        ways.clear();
        let Some(first) = tree.first(costs.up) else { return };
        self.pairs += 1;
        self.used.resize(costs.mesh.lasers.len(), 0);
        let mut way = Way { first, last: first, lasers: Vec::new() };
        while tree.next[way.last as usize] < GROUND {
            let link = tree.next[way.last as usize];
            way.lasers.push(link);
            way.last = costs.mesh.head(link);
        }
        loop {
            for &link in &way.lasers {
                self.used[(link >> 1) as usize] = self.pairs;
            }
            ways.push(way);
            if ways.len() == most {
                return;
            }
            match self.shortest(costs, tree, ways) {
                Some(next) => way = next,
                None => return,
            }
        }
    }

    /// Find the shortest path that has no link of `ways`: A*, whose bound is the cost over all links.
    fn shortest(&mut self, costs: &Costs<'_>, tree: &Tree, ways: &[Way]) -> Option<Way> {
        let Costs { mesh, laser, up, down } = *costs;
        self.searches += 1;
        self.reached.resize(tree.next.len(), (0, 0.0, NOWHERE));
        self.heap.clear();
        for &(satellite, cost) in up {
            if ways.iter().all(|way| way.first != satellite) {
                self.reach(satellite, cost, GROUND, tree);
            }
        }
        let (mut best, mut last) = (f64::INFINITY, NOWHERE);
        while let Some(Reverse(Entry { cost: bound, satellite })) = self.heap.pop() {
            if bound >= best {
                break;
            }
            let (_, cost, _) = self.reached[satellite as usize];
            if bound > cost + tree.distance[satellite as usize] {
                continue;
            }
            let lands = down.binary_search_by_key(&satellite, |&(satellite, _)| satellite);
            if let Some(&(_, down)) = lands.ok().and_then(|place| down.get(place)) {
                let free = ways.iter().all(|way| way.last != satellite);
                if free && cost + down < best {
                    (best, last) = (cost + down, satellite);
                }
            }
            for &link in mesh.out(satellite) {
                if self.used[(link >> 1) as usize] != self.pairs {
                    self.reach(mesh.head(link), cost + laser[link as usize], link, tree);
                }
            }
        }
        (last != NOWHERE).then(|| {
            let mut way = Way { first: last, last, lasers: Vec::new() };
            while self.reached[way.first as usize].2 != GROUND {
                let link = self.reached[way.first as usize].2;
                way.lasers.push(link);
                way.first = mesh.head(link ^ 1);
            }
            way.lasers.reverse();
            way
        })
    }

    fn reach(&mut self, satellite: u32, cost: f64, by: u32, tree: &Tree) {
        let bound = cost + tree.distance[satellite as usize];
        let (search, before, _) = self.reached[satellite as usize];
        if bound.is_finite() && (search != self.searches || cost < before) {
            self.reached[satellite as usize] = (self.searches, cost, by);
            self.heap.push(Reverse(Entry { cost: bound, satellite }));
        }
    }
}
