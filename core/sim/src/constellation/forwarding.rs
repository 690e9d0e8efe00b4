//! Forwarding tables of satellites and stations, and the links that exist at a moment.
//!
//! A packet follows the table of the node where it is, so tables that change redirect packets on their way. Stations do not
//! relay.

use std::collections::BTreeMap;

use leo_link::Nanos;

use super::disjoint::{Costs, Search, Way};
use super::load::{Loads, Meter};
use super::pairs::Pair;
use super::trees::{GROUND, Mesh, NOWHERE, Reach, Scratch, Tree};
use crate::path::Next;

/// No transmitter in front of a link: it has its own.
const OWN: u32 = u32::MAX;

/// What a packet on a link, or before it, needs to know.
#[derive(Clone, Copy, Debug)]
struct Hop {
    /// The node at the link's end; stations count on from the satellites.
    head: u32,
    /// The transmitter in front of it, or [`OWN`].
    transmitter: u32,
}

/// A link between a station and a satellite at a moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroundLink {
    /// Index of the station.
    pub station: u32,
    /// Index of the satellite.
    pub satellite: u32,
    /// Length of the link.
    pub km: f64,
}

/// The links of a constellation at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// Length of each laser; infinite while it is off.
    pub laser_km: &'a [f64],
    /// Sorted by station, each pair once.
    pub ground: &'a [GroundLink],
}

/// The way of a link between station and satellite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroundWay {
    Up,
    Down,
}

/// Both directions of a ground link, [`NOWHERE`] until a route needs them.
#[derive(Clone, Copy, Debug)]
struct GroundPair {
    links: [u32; 2],
    km: f64,
    /// The last update in which it existed.
    seen: u32,
}

/// A ground link for which the simulation has to make a link.
#[derive(Clone, Copy, Debug)]
pub struct Needed {
    pub station: u32,
    pub satellite: u32,
    pub way: GroundWay,
    pub km: f64,
}

/// What a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Laser,
    Up,
    Down,
    /// A transmitter that several ground links share.
    Transmitter {
        of_station: bool,
    },
}

/// What an update changed.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Links with new lengths.
    pub lengths: Vec<(u32, f64)>,
    /// Links that vanished.
    pub vanished: Vec<u32>,
}

/// Tables, and what they are made of.
#[derive(Clone, Debug)]
pub struct Forwarding {
    satellites: u32,
    pub mesh: Mesh,
    laser_km: Vec<f64>,
    /// By link.
    hops: Vec<Hop>,
    /// The node at each link's start, which packets do not read.
    tails: Vec<u32>,
    ground: BTreeMap<(u32, u32), GroundPair>,
    updates: u32,
    /// Costs of the laser links.
    costs: Vec<f64>,
    /// Satellites in reach of each station, with the costs of up-links and of down-links.
    reach: [Vec<Vec<Reach>>; 2],
    /// Stations that packets go to, and their trees.
    destinations: Vec<u32>,
    trees: Vec<Tree>,
    /// Next link by destination and satellite: `table[row * satellites + satellite]`.
    table: Vec<u32>,
    /// Paths of each pair of stations.
    paths: usize,
    /// The link-disjoint paths of each pair, if it may have several.
    ways: Vec<Vec<Way>>,
    search: Search,
    /// The load of links, if routes depend on it.
    pub loads: Option<Loads>,
    /// Measures what the paths carry.
    pub meter: Meter,
    /// First link number of the stations' and of the satellites' transmitters, if nodes share these among links.
    pub shared: Option<[u32; 2]>,
    /// Rows of both ways by path number, apart from the pairs, because every packet reads them at every satellite.
    rows: Vec<[u32; 2]>,
    /// Senders and receivers, by path number. Those of one pair of stations follow each other.
    pub pairs: Vec<Pair>,
    /// Some queue parts packets of one flow by codepoint.
    pub parts_codepoints: bool,
    /// For each thread.
    scratches: Vec<Scratch>,
}

impl Forwarding {
    /// Create the tables of a network in which no link exists yet. `pairs` have the stations of senders and receivers; each has
    /// `paths` path numbers in turn.
    pub fn new(
        [satellites, stations]: [u32; 2],
        lasers: &[[u32; 2]],
        pairs: &[[u32; 2]],
        paths: usize,
    ) -> Self {
        let mut destinations: Vec<u32> = pairs.iter().flatten().copied().collect();
        destinations.sort_unstable();
        destinations.dedup();
        let row = |station: &u32| destinations.partition_point(|other| other < station);
        let several = |ends: &[u32; 2]| {
            let pair = Pair::new(*ends, [row(&ends[1]), row(&ends[0])]);
            (0..paths as u64).map(move |number| pair.clone().numbered(number))
        };
        let ways = vec![Vec::new(); if paths > 1 { pairs.len() } else { 0 }];
        let pairs: Vec<Pair> = pairs.iter().flat_map(several).collect();
        let mesh = Mesh::new(satellites, lasers);
        Self {
            satellites,
            hops: (0..2 * lasers.len() as u32)
                .map(|link| Hop { head: mesh.head(link), transmitter: OWN })
                .collect(),
            tails: (0..2 * lasers.len() as u32).map(|link| mesh.head(link ^ 1)).collect(),
            rows: pairs.iter().map(|pair| pair.rows).collect(),
            mesh,
            laser_km: vec![f64::INFINITY; lasers.len()],
            ground: BTreeMap::new(),
            updates: 1,
            costs: vec![f64::INFINITY; 2 * lasers.len()],
            reach: [0, 1].map(|_| vec![Vec::new(); stations as usize]),
            trees: vec![Tree::new(satellites); destinations.len()],
            table: vec![NOWHERE; destinations.len() * satellites as usize],
            destinations,
            paths,
            ways,
            search: Search::default(),
            loads: None,
            meter: Meter::default(),
            shared: None,
            pairs,
            parts_codepoints: false,
            scratches: vec![Scratch::default()],
        }
    }

    /// Return the step of a packet that has crossed `link` as its link number `hop`; `None` if it has reached its station.
    #[inline]
    pub fn onward(&self, path: u32, back: bool, hop: u8, link: usize) -> Option<Next> {
        let node = self.hops[link].head;
        if node >= self.satellites {
            return None;
        }
        if self.paths > 1 {
            if let Some(next) = self.along(path, back, hop, link) {
                return Some(self.step(next));
            }
        }
        let row = self.rows[path as usize][usize::from(back)] as usize;
        Some(self.step(self.table[row * self.satellites as usize + node as usize]))
    }

    /// Return the link that follows `link` on one of several paths. A packet at a node that is no longer on its path takes the
    /// shortest one, until it comes to its path.
    fn along(&self, path: u32, back: bool, hop: u8, link: usize) -> Option<u32> {
        let route = &self.pairs[path as usize].routes[usize::from(back)];
        let place = usize::from(hop);
        if route.get(place.wrapping_sub(1)) == Some(&(link as u32)) {
            return route.get(place).copied();
        }
        let node = self.hops[link].head;
        let before = route.iter().position(|&link| self.hops[link as usize].head == node)?;
        route.get(before + 1).copied()
    }

    /// Return the first step of a packet on `path`, or of one that goes `back`.
    #[inline]
    pub fn enter(&self, path: u32, back: bool) -> Next {
        self.step(self.pairs[path as usize].first[usize::from(back)])
    }

    #[inline]
    fn step(&self, link: u32) -> Next {
        if link == NOWHERE {
            return Next::Nowhere;
        }
        let Hop { head, transmitter } = self.hops[link as usize];
        let goes_on = head < self.satellites;
        match transmitter {
            OWN if goes_on => Next::Link(link),
            OWN => Next::Last(link),
            transmitter => Next::Through { transmitter, link, goes_on },
        }
    }

    /// Iterate over the links and shared transmitters of the current route of `path`, there and back.
    pub fn crossed(&self, path: u32) -> impl Iterator<Item = u32> {
        [0, 1].into_iter().flat_map(move |way| self.crossed_one_way(path, way))
    }

    /// Iterate over those of one way of the current route of `path`: 0 is that of data.
    pub fn crossed_one_way(&self, path: u32, way: usize) -> impl Iterator<Item = u32> {
        let links = self.pairs[path as usize].routes[way].iter();
        links.flat_map(|&link| [self.hops[link as usize].transmitter, link]).filter(|&link| link != OWN)
    }

    /// Add a link, with the transmitter in front of it if it shares that with others.
    pub fn add(&mut self, link: u32, needed: &Needed, transmitter: Option<u32>) {
        assert_eq!(link as usize, self.hops.len(), "links are numbered in order");
        let station = self.satellites + needed.station;
        let (tail, head) = match needed.way {
            GroundWay::Up => (station, needed.satellite),
            GroundWay::Down => (needed.satellite, station),
        };
        self.hops.push(Hop { head, transmitter: transmitter.unwrap_or(OWN) });
        self.tails.push(tail);
        if let Some(pair) = self.ground.get_mut(&(needed.station, needed.satellite)) {
            pair.links[needed.way as usize] = link;
        }
    }

    /// Reserve the number of a link that packets only depart from, at `node`.
    pub fn add_transmitter(&mut self, node: u32) {
        self.hops.push(Hop { head: NOWHERE, transmitter: OWN });
        self.tails.push(node);
    }

    /// Take over the links of a moment: lengths and paths, but not the tables, for which [`needed`](Self::needed) links may
    /// have to be made first.
    pub fn measure(&mut self, snapshot: &Snapshot<'_>, changes: &mut Changes) {
        changes.lengths.clear();
        changes.vanished.clear();
        for (laser, (old, &new)) in self.laser_km.iter_mut().zip(snapshot.laser_km).enumerate() {
            let links = [2 * laser as u32, 2 * laser as u32 + 1];
            if new.is_finite() {
                changes.lengths.extend(links.map(|link| (link, new)));
            } else if old.is_finite() {
                changes.vanished.extend(links);
            }
            *old = new;
        }
        self.updates += 1;
        self.reach.iter_mut().flatten().for_each(Vec::clear);
        for &GroundLink { station, satellite, km } in snapshot.ground {
            let pair = self.ground.entry((station, satellite));
            let pair = pair.or_insert(GroundPair { links: [NOWHERE; 2], km, seen: 0 });
            (pair.km, pair.seen) = (km, self.updates);
            let links = pair.links;
            changes.lengths.extend(links.iter().filter(|link| **link != NOWHERE).map(|&link| (link, km)));
            let transmitters = self.shared.map_or(links, |[up, down]| [up + station, down + satellite]);
            for (reach, link) in self.reach.iter_mut().zip(transmitters) {
                reach[station as usize].push((satellite, km * factor(self.loads.as_ref(), link)));
            }
        }
        for pair in self.ground.values().filter(|pair| pair.seen + 1 == self.updates) {
            changes.vanished.extend(pair.links.iter().filter(|link| **link != NOWHERE));
        }
        for (link, cost) in (0_u32..).zip(&mut self.costs) {
            *cost = self.laser_km[(link >> 1) as usize] * factor(self.loads.as_ref(), link);
        }
        let [up, down] = &self.reach;
        let (mesh, costs) = (&self.mesh, &self.costs[..]);
        let update = |trees: &mut [Tree], stations: &[u32], scratch: &mut Scratch| {
            for (tree, &station) in trees.iter_mut().zip(stations) {
                tree.update(mesh, costs, &down[station as usize], scratch);
            }
        };
        let share = self.trees.len().div_ceil(self.scratches.len()).max(1);
        let shares = self.trees.chunks_mut(share).zip(self.destinations.chunks(share));
        let mut shares = shares.zip(&mut self.scratches);
        let own = shares.next();
        std::thread::scope(|scope| {
            for ((trees, stations), scratch) in shares {
                scope.spawn(move || update(trees, stations, scratch));
            }
            if let Some(((trees, stations), scratch)) = own {
                update(trees, stations, scratch);
            }
        });
        for (ways, pair) in self.ways.iter_mut().zip(self.pairs.iter().step_by(self.paths)) {
            let [from, to] = pair.ends.map(|station| station as usize);
            let costs = Costs { mesh: &self.mesh, laser: &self.costs, up: &up[from], down: &down[to] };
            self.search.find(&costs, &self.trees[pair.rows[0] as usize], self.paths, ways);
        }
    }

    /// Return the ground links that routes use and that have no link yet.
    pub fn needed(&self) -> Vec<Needed> {
        let mut needed = BTreeMap::new();
        let mut need = |station, satellite, way| {
            let pair = self.ground[&(station, satellite)];
            if pair.links[way as usize] == NOWHERE {
                let link = Needed { station, satellite, way, km: pair.km };
                needed.insert((station, satellite, way as usize), link);
            }
        };
        let [up, down] = &self.reach;
        for (tree, &station) in self.trees.iter().zip(&self.destinations) {
            for &(satellite, _) in &down[station as usize] {
                if tree.next[satellite as usize] == GROUND {
                    need(station, satellite, GroundWay::Down);
                }
            }
        }
        for pair in self.pairs.iter().step_by(self.paths) {
            for (station, row) in pair.ends.into_iter().zip(pair.rows) {
                if let Some(satellite) = self.trees[row as usize].first(&up[station as usize]) {
                    need(station, satellite, GroundWay::Up);
                }
            }
        }
        for (ways, pair) in self.ways.iter().zip(self.pairs.iter().step_by(self.paths)) {
            for way in ways {
                for (station, satellite) in pair.ends.into_iter().zip([way.first, way.last]) {
                    need(station, satellite, GroundWay::Up);
                    need(station, satellite, GroundWay::Down);
                }
            }
        }
        needed.into_values().collect()
    }

    /// Write the tables and the routes of all pairs at `now`. `rates` are the capacities of up-links, lasers and down-links
    /// in bit/s, `delay` converts km.
    pub fn tabulate(&mut self, now: Nanos, rates: [f64; 3], delay: impl Fn(f64) -> Nanos) {
        let satellites = self.satellites as usize;
        for (row, (tree, &station)) in self.trees.iter().zip(&self.destinations).enumerate() {
            let table = &mut self.table[row * satellites..(row + 1) * satellites];
            table.copy_from_slice(&tree.next);
            for &(satellite, _) in &self.reach[1][station as usize] {
                if tree.next[satellite as usize] == GROUND {
                    table[satellite as usize] =
                        self.ground[&(station, satellite)].links[GroundWay::Down as usize];
                }
            }
        }
        let mut pairs = std::mem::take(&mut self.pairs);
        let mut route = Vec::new();
        for (path, pair) in pairs.iter_mut().enumerate() {
            let mut base_rtt = 0;
            for way in [0, 1] {
                route.clear();
                if self.paths > 1 {
                    self.follow_way(path, pair, way, &mut route);
                } else {
                    self.follow_table(pair, way, &mut route);
                }
                base_rtt += self.propagation(pair.ends[way], &route, &delay);
                pair.first[way] = route.first().copied().unwrap_or(NOWHERE);
                pair.follow(now, way, &route);
            }
            pair.measure(now, base_rtt, rates);
        }
        self.pairs = pairs;
    }

    /// Append the links of the shortest path of a pair.
    fn follow_table(&self, pair: &Pair, way: usize, route: &mut Vec<u32>) {
        let (station, row) = (pair.ends[way], pair.rows[way] as usize);
        let first = self.trees[row].first(&self.reach[0][station as usize]);
        let Some(mut satellite) = first else { return };
        route.push(self.ground[&(station, satellite)].links[GroundWay::Up as usize]);
        while satellite < self.satellites {
            let link = self.table[row * self.satellites as usize + satellite as usize];
            route.push(link);
            satellite = self.hops[link as usize].head;
        }
    }

    /// Append the links of one of a pair's several paths; ACKs take the same one back. If there are fewer than `paths`, they are
    /// taken in turn.
    fn follow_way(&self, path: usize, pair: &Pair, way: usize, route: &mut Vec<u32>) {
        let ways = &self.ways[path / self.paths];
        let Some(Way { first, last, lasers }) = ways.get(path % self.paths % ways.len().max(1)) else {
            return;
        };
        let link = |end: usize, satellite: u32, way: GroundWay| {
            self.ground[&(pair.ends[end], satellite)].links[way as usize]
        };
        if way == 0 {
            route.push(link(0, *first, GroundWay::Up));
            route.extend_from_slice(lasers);
            route.push(link(1, *last, GroundWay::Down));
        } else {
            route.push(link(1, *last, GroundWay::Up));
            route.extend(lasers.iter().rev().map(|link| link ^ 1));
            route.push(link(0, *first, GroundWay::Down));
        }
    }

    /// Return the propagation from a station over the links of a route.
    fn propagation(&self, mut from: u32, route: &[u32], delay: impl Fn(f64) -> Nanos) -> Nanos {
        let mut sum = 0;
        for (place, &link) in route.iter().enumerate() {
            let head = self.hops[link as usize].head;
            sum += delay(match (place, head.checked_sub(self.satellites)) {
                (_, Some(station)) => self.ground[&(station, from)].km,
                (0, _) => self.ground[&(from, head)].km,
                _ => self.laser_km[(link >> 1) as usize],
            });
            from = head;
        }
        sum
    }

    /// Return the node at the end of a link; stations count on from the satellites.
    pub fn head(&self, link: u32) -> u32 {
        self.hops[link as usize].head
    }

    /// Update the trees on so many threads.
    pub fn share_among(&mut self, threads: usize) {
        self.scratches.resize(threads, Scratch::default());
    }

    /// Return the node at the start of a link.
    pub fn tail(&self, link: u32) -> u32 {
        self.tails[link as usize]
    }

    /// Return the node at the end of a link; none if packets only depart from it.
    pub fn end(&self, link: u32) -> Option<u32> {
        Some(self.hops[link as usize].head).filter(|head| *head != NOWHERE)
    }

    /// Return whether a link may carry packets now: it is no laser that is off.
    pub fn is_on(&self, link: u32) -> bool {
        self.laser_km.get((link >> 1) as usize).is_none_or(|km| km.is_finite())
    }

    /// Return the number of satellites.
    pub const fn satellites(&self) -> u32 {
        self.satellites
    }

    /// Return the number of paths of each pair of stations.
    pub const fn paths(&self) -> usize {
        self.paths
    }

    /// Return the node of a station.
    pub const fn station(&self, station: u32) -> u32 {
        self.satellites + station
    }

    /// Return what a link is.
    pub fn place(&self, link: u32) -> Place {
        let lasers = 2 * self.mesh.lasers.len() as u32;
        match self.hops[link as usize].head {
            NOWHERE => Place::Transmitter { of_station: ((link - lasers) as usize) < self.reach[0].len() },
            _ if link < lasers => Place::Laser,
            node if node < self.satellites => Place::Up,
            _ => Place::Down,
        }
    }
}

/// Return the cost of a link over that of the idle link.
fn factor(loads: Option<&Loads>, link: u32) -> f64 {
    loads.map_or(1.0, |loads| loads.factor(link))
}
