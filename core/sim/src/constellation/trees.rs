//! Shortest paths from all satellites to one station, kept up to date while lengths change.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// The next link of a satellite that reaches no station.
pub const NOWHERE: u32 = u32::MAX;
/// The next link of a satellite that sends straight to the station.
pub const GROUND: u32 = u32::MAX - 1;

/// The lasers between satellites. Laser `i` between `[a, b]` is link `2 i` from `a` to `b`, and link `2 i + 1` back.
#[derive(Clone, Debug)]
pub struct Mesh {
    pub lasers: Box<[[u32; 2]]>,
    /// Links that leave each satellite: `out[starts[s]..starts[s + 1]]`.
    starts: Box<[u32]>,
    out: Box<[u32]>,
}

impl Mesh {
    pub fn new(satellites: u32, lasers: &[[u32; 2]]) -> Self {
        let mut out: Vec<(u32, u32)> = (0_u32..)
            .zip(lasers)
            .flat_map(|(laser, &[first, second])| [(first, 2 * laser), (second, 2 * laser + 1)])
            .collect();
        out.sort_unstable();
        let starts =
            (0..=satellites).map(|satellite| out.partition_point(|&(from, _)| from < satellite) as u32);
        Self {
            starts: starts.collect(),
            out: out.iter().map(|&(_, link)| link).collect(),
            lasers: lasers.into(),
        }
    }

    /// Return the satellite at the end of a laser link.
    #[inline]
    pub fn head(&self, link: u32) -> u32 {
        let [first, second] = self.lasers[(link >> 1) as usize];
        if link & 1 == 0 { second } else { first }
    }

    /// Return the laser links that leave a satellite.
    #[inline]
    pub fn out(&self, satellite: u32) -> &[u32] {
        let from = satellite as usize;
        &self.out[self.starts[from] as usize..self.starts[from + 1] as usize]
    }
}

/// A satellite in reach of a station, and the cost of the link.
pub type Reach = (u32, f64);

/// The shortest paths to one station.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Cost of each satellite's path; infinite without one.
    pub distance: Box<[f64]>,
    /// Each satellite's next link: a laser link, [`GROUND`] or [`NOWHERE`].
    pub next: Box<[u32]>,
}

/// Memory that updates reuse.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    measured: Vec<bool>,
    chain: Vec<u32>,
    reach_costs: Vec<f64>,
    heap: BinaryHeap<Reverse<Entry>>,
}

/// A satellite that a search has yet to expand, by cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    pub cost: f64,
    pub satellite: u32,
}

impl Eq for Entry {}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.cost.total_cmp(&other.cost).then(self.satellite.cmp(&other.satellite))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Tree {
    pub fn new(satellites: u32) -> Self {
        Self {
            distance: vec![f64::INFINITY; satellites as usize].into(),
            next: vec![NOWHERE; satellites as usize].into(),
        }
    }

    /// Find the shortest paths over laser links of these costs, infinite for those that are off, and the satellites in reach of
    /// the station. Without load, costs are lengths in km.
    ///
    /// Few paths change from one update to the next, so this measures the old paths and repairs those that are no longer the
    /// shortest. Of paths of equal cost, the old one stays.
    pub fn update(&mut self, mesh: &Mesh, costs: &[f64], reach: &[Reach], scratch: &mut Scratch) {
        self.measure(mesh, costs, reach, scratch);
        scratch.heap.clear();
        for &(satellite, cost) in reach {
            self.shorten(satellite, cost, GROUND, scratch);
        }
        for (laser, &[first, second]) in (0_u32..).zip(&*mesh.lasers) {
            let [there, back] = [2 * laser, 2 * laser + 1];
            self.shorten(second, self.distance[first as usize] + costs[back as usize], back, scratch);
            self.shorten(first, self.distance[second as usize] + costs[there as usize], there, scratch);
        }
        while let Some(Reverse(Entry { cost, satellite })) = scratch.heap.pop() {
            if cost > self.distance[satellite as usize] {
                continue;
            }
            for &link in mesh.out(satellite) {
                let back = link ^ 1;
                self.shorten(mesh.head(link), cost + costs[back as usize], back, scratch);
            }
        }
    }

    /// Return the first satellite of the shortest path from a station in `reach` of satellites.
    pub fn first(&self, reach: &[Reach]) -> Option<u32> {
        let length = |&(satellite, cost): &Reach| cost + self.distance[satellite as usize];
        let nearest = reach.iter().min_by(|first, second| length(first).total_cmp(&length(second)))?;
        length(nearest).is_finite().then_some(nearest.0)
    }

    /// Measure the paths as they are, and drop those that no longer exist.
    fn measure(&mut self, mesh: &Mesh, costs: &[f64], reach: &[Reach], scratch: &mut Scratch) {
        let Scratch { measured, chain, reach_costs, .. } = scratch;
        measured.clear();
        measured.resize(self.next.len(), false);
        reach_costs.clear();
        reach_costs.resize(self.next.len(), f64::INFINITY);
        for &(satellite, cost) in reach {
            reach_costs[satellite as usize] = cost;
        }
        for satellite in 0..self.next.len() as u32 {
            let mut at = satellite;
            while !measured[at as usize] {
                chain.push(at);
                let next = self.next[at as usize];
                if next >= GROUND {
                    break;
                }
                at = mesh.head(next);
            }
            while let Some(at) = chain.pop() {
                let at = at as usize;
                self.distance[at] = match self.next[at] {
                    NOWHERE => f64::INFINITY,
                    GROUND => reach_costs[at],
                    link => self.distance[mesh.head(link) as usize] + costs[link as usize],
                };
                if self.distance[at].is_infinite() {
                    self.next[at] = NOWHERE;
                }
                measured[at] = true;
            }
        }
    }

    #[inline]
    fn shorten(&mut self, satellite: u32, cost: f64, next: u32, scratch: &mut Scratch) {
        let index = satellite as usize;
        if cost < self.distance[index] {
            self.distance[index] = cost;
            self.next[index] = next;
            scratch.heap.push(Reverse(Entry { cost, satellite }));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bellman and Ford's distances, without a tree.
    fn distances(satellites: u32, mesh: &Mesh, costs: &[f64], reach: &[Reach]) -> Vec<f64> {
        let mut distance = vec![f64::INFINITY; satellites as usize];
        for &(satellite, km) in reach {
            distance[satellite as usize] = km;
        }
        for _ in 0..satellites {
            for (&[first, second], &[there, back]) in mesh.lasers.iter().zip(costs.as_chunks::<2>().0) {
                let (first, second) = (first as usize, second as usize);
                distance[second] = distance[second].min(distance[first] + back);
                distance[first] = distance[first].min(distance[second] + there);
            }
        }
        distance
    }

    const SATELLITES: u32 = 12;

    /// Costs of the laser links, and the satellites in reach.
    type Moment = (Vec<f64>, Vec<Reach>);

    fn costs(lasers: usize) -> impl Strategy<Value = Moment> {
        let km = prop_oneof![1 => Just(f64::INFINITY), 6 => (1_u32..50).prop_map(f64::from)];
        let reach = prop::collection::btree_map(0..SATELLITES, (1_u32..50).prop_map(f64::from), 0..4);
        (prop::collection::vec(km, 2 * lasers), reach.prop_map(|reach| reach.into_iter().collect()))
    }

    fn changes() -> impl Strategy<Value = (Vec<[u32; 2]>, Vec<Moment>)> {
        let laser =
            (0..SATELLITES, 1..SATELLITES).prop_map(|(from, step)| [from, (from + step) % SATELLITES]);
        prop::collection::vec(laser, 1..30).prop_flat_map(|lasers| {
            let moments = prop::collection::vec(costs(lasers.len()), 1..6);
            (Just(lasers), moments)
        })
    }

    proptest! {
        #[test]
        fn after_any_changes_every_satellites_path_is_the_shortest_and_leads_to_the_station((lasers, moments) in changes()) {
            let mesh = Mesh::new(SATELLITES, &lasers);
            let (mut tree, mut scratch) = (Tree::new(SATELLITES), Scratch::default());
            for (costs, reach) in moments {
                tree.update(&mesh, &costs, &reach, &mut scratch);
                prop_assert_eq!(&*tree.distance, distances(SATELLITES, &mesh, &costs, &reach));
                for start in 0..SATELLITES {
                    let (mut at, mut km, mut links) = (start, 0.0, 0);
                    while tree.next[at as usize] < GROUND {
                        let link = tree.next[at as usize];
                        km += costs[link as usize];
                        at = mesh.head(link);
                        links += 1;
                        prop_assert!(links < SATELLITES, "a loop");
                    }
                    if tree.next[at as usize] == NOWHERE {
                        prop_assert!(at == start && tree.distance[at as usize].is_infinite());
                    } else {
                        let last = reach.iter().find(|(satellite, _)| *satellite == at).expect("in reach").1;
                        prop_assert_eq!(km + last, tree.distance[start as usize]);
                    }
                }
            }
        }
    }
}
