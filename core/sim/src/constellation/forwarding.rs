//! Forwarding tables of satellites and stations, and the links that exist at a moment.
//!
//! A packet follows the table of the node where it is, so tables that change redirect packets on their way. Stations do not
//! relay.

use std::collections::BTreeMap;

use leo_link::Nanos;

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
    ground: BTreeMap<(u32, u32), GroundPair>,
    updates: u32,
    reach: Vec<Vec<Reach>>,
    /// Stations that packets go to, and their trees.
    destinations: Vec<u32>,
    trees: Vec<Tree>,
    /// Next link by destination and satellite: `table[row * satellites + satellite]`.
    table: Vec<u32>,
    /// Rows of both ways by path number, apart from the pairs, because every packet reads them at every satellite.
    rows: Vec<[u32; 2]>,
    /// Senders and receivers, by path number.
    pub pairs: Vec<Pair>,
    /// Packets that stations and satellites had no route for.
    pub unroutable: [u64; 2],
    /// Some queue parts packets of one flow by codepoint.
    pub parts_codepoints: bool,
    scratch: Scratch,
}

impl Forwarding {
    /// Create the tables of a network in which no link exists yet. `pairs` have the stations of senders and receivers; their
    /// indices are path numbers.
    pub fn new(satellites: u32, stations: u32, lasers: &[[u32; 2]], pairs: &[[u32; 2]]) -> Self {
        let mut destinations: Vec<u32> = pairs.iter().flatten().copied().collect();
        destinations.sort_unstable();
        destinations.dedup();
        let row = |station: &u32| destinations.partition_point(|other| other < station);
        let pairs: Vec<Pair> =
            pairs.iter().map(|ends| Pair::new(*ends, [row(&ends[1]), row(&ends[0])])).collect();
        let mesh = Mesh::new(satellites, lasers);
        Self {
            satellites,
            hops: (0..2 * lasers.len() as u32)
                .map(|link| Hop { head: mesh.head(link), transmitter: OWN })
                .collect(),
            rows: pairs.iter().map(|pair| pair.rows).collect(),
            mesh,
            laser_km: vec![f64::INFINITY; lasers.len()],
            ground: BTreeMap::new(),
            updates: 1,
            reach: vec![Vec::new(); stations as usize],
            trees: vec![Tree::new(satellites); destinations.len()],
            table: vec![NOWHERE; destinations.len() * satellites as usize],
            destinations,
            pairs,
            unroutable: [0; 2],
            parts_codepoints: false,
            scratch: Scratch::default(),
        }
    }

    /// Return the step of a packet that has crossed `link`; `None` if it has reached its station.
    #[inline]
    pub fn onward(&self, path: u32, back: bool, link: usize) -> Option<Next> {
        let node = self.hops[link].head;
        if node >= self.satellites {
            return None;
        }
        let row = self.rows[path as usize][usize::from(back)] as usize;
        Some(self.step(self.table[row * self.satellites as usize + node as usize]))
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
        let links = self.pairs[path as usize].routes.iter().flatten().copied();
        links.flat_map(|link| [self.hops[link as usize].transmitter, link]).filter(|&link| link != OWN)
    }

    /// Add a link, with the transmitter in front of it if it shares that with others.
    pub fn add(&mut self, link: u32, needed: &Needed, transmitter: Option<u32>) {
        assert_eq!(link as usize, self.hops.len(), "links are numbered in order");
        let head = match needed.way {
            GroundWay::Up => needed.satellite,
            GroundWay::Down => self.satellites + needed.station,
        };
        self.hops.push(Hop { head, transmitter: transmitter.unwrap_or(OWN) });
        if let Some(pair) = self.ground.get_mut(&(needed.station, needed.satellite)) {
            pair.links[needed.way as usize] = link;
        }
    }

    /// Reserve the number of a link that packets only depart from.
    pub fn add_transmitter(&mut self) {
        self.hops.push(Hop { head: NOWHERE, transmitter: OWN });
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
        self.reach.iter_mut().for_each(Vec::clear);
        for &GroundLink { station, satellite, km } in snapshot.ground {
            self.reach[station as usize].push((satellite, km));
            let pair = self.ground.entry((station, satellite));
            let pair = pair.or_insert(GroundPair { links: [NOWHERE; 2], km, seen: 0 });
            (pair.km, pair.seen) = (km, self.updates);
            changes
                .lengths
                .extend(pair.links.iter().filter(|link| **link != NOWHERE).map(|&link| (link, km)));
        }
        for pair in self.ground.values().filter(|pair| pair.seen + 1 == self.updates) {
            changes.vanished.extend(pair.links.iter().filter(|link| **link != NOWHERE));
        }
        for (tree, &station) in self.trees.iter_mut().zip(&self.destinations) {
            tree.update(&self.mesh, &self.laser_km, &self.reach[station as usize], &mut self.scratch);
        }
    }

    /// Return the ground links that shortest paths use and that have no link yet.
    pub fn needed(&self) -> Vec<Needed> {
        let mut needed = BTreeMap::new();
        let mut need = |station, satellite, way| {
            let pair = self.ground[&(station, satellite)];
            if pair.links[way as usize] == NOWHERE {
                let link = Needed { station, satellite, way, km: pair.km };
                needed.insert((station, satellite, way as usize), link);
            }
        };
        for (tree, &station) in self.trees.iter().zip(&self.destinations) {
            for &(satellite, _) in &self.reach[station as usize] {
                if tree.next[satellite as usize] == GROUND {
                    need(station, satellite, GroundWay::Down);
                }
            }
        }
        for pair in &self.pairs {
            for (station, row) in pair.ends.into_iter().zip(pair.rows) {
                if let Some(satellite) = self.trees[row as usize].first(&self.reach[station as usize]) {
                    need(station, satellite, GroundWay::Up);
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
            for &(satellite, _) in &self.reach[station as usize] {
                if tree.next[satellite as usize] == GROUND {
                    table[satellite as usize] =
                        self.ground[&(station, satellite)].links[GroundWay::Down as usize];
                }
            }
        }
        let mut pairs = std::mem::take(&mut self.pairs);
        let mut route = Vec::new();
        for pair in &mut pairs {
            let mut base_rtt = 0;
            for way in [0, 1] {
                let (station, row) = (pair.ends[way], pair.rows[way] as usize);
                route.clear();
                let first = self.trees[row].first(&self.reach[station as usize]);
                if let Some(mut satellite) = first {
                    let up = self.ground[&(station, satellite)];
                    base_rtt += delay(up.km);
                    route.push(up.links[GroundWay::Up as usize]);
                    loop {
                        let link = self.table[row * satellites + satellite as usize];
                        route.push(link);
                        let head = self.hops[link as usize].head;
                        if head >= self.satellites {
                            base_rtt += delay(self.ground[&(head - self.satellites, satellite)].km);
                            break;
                        }
                        base_rtt += delay(self.laser_km[(link >> 1) as usize]);
                        satellite = head;
                    }
                }
                pair.first[way] = route.first().copied().unwrap_or(NOWHERE);
                pair.follow(now, way, &route);
            }
            pair.measure(now, base_rtt, rates);
        }
        self.pairs = pairs;
    }

    /// Return the node at the end of a link; stations count on from the satellites.
    pub fn head(&self, link: u32) -> u32 {
        self.hops[link as usize].head
    }

    /// Return the node of a station.
    pub const fn station(&self, station: u32) -> u32 {
        self.satellites + station
    }

    /// Return what a link is.
    pub fn place(&self, link: u32) -> Place {
        let lasers = 2 * self.mesh.lasers.len() as u32;
        match self.hops[link as usize].head {
            NOWHERE => Place::Transmitter { of_station: ((link - lasers) as usize) < self.reach.len() },
            _ if link < lasers => Place::Laser,
            node if node < self.satellites => Place::Up,
            _ => Place::Down,
        }
    }
}
