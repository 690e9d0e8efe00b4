//! The routes of a flow over time.

use leo_link::{Link, NEVER, Nanos};

use crate::packet::Packet;

/// A route and its start time.
#[derive(Clone, Debug)]
pub struct Route {
    pub from: Nanos,
    /// Links that data crosses, without access links.
    pub links: Box<[u32]>,
    /// Their other directions, in the same order.
    pub back: Box<[u32]>,
    /// Path number, with access links.
    pub path: u32,
}

impl Route {
    /// Iterate over the links that data crosses, each with its other direction.
    pub fn both_ways<'a>(
        &'a self,
        links: &'a [Link<Packet>],
    ) -> impl Iterator<Item = (&'a Link<Packet>, &'a Link<Packet>)> {
        self.links.iter().zip(&self.back).map(|(&link, &back)| (&links[link as usize], &links[back as usize]))
    }
}

/// A flow's routes, sorted by time. Packets on an old route stay on it, so a change loses none.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Routes {
    path: u32,
    /// Start of the next route, stored here because every packet needs it.
    next_change: Nanos,
    all: Vec<Route>,
    current: usize,
    /// Tables lead the packets, and they change.
    in_network: bool,
}

impl Routes {
    /// Create from the initial route and later routes in any order.
    pub fn new(first: Route, mut later: Vec<Route>) -> Self {
        later.sort_by_key(|route| route.from);
        later.insert(0, first);
        let path = later[0].path;
        let next_change = later.get(1).map_or(NEVER, |route| route.from);
        Self { all: later, current: 0, path, next_change, in_network: false }
    }

    /// Create for a flow whose packets follow the tables of a network on `path`.
    pub fn in_network(path: u32) -> Self {
        let first = Route { from: 0, links: Box::default(), back: Box::default(), path };
        Self { in_network: true, ..Self::new(first, Vec::new()) }
    }

    pub fn current(&self) -> &Route {
        &self.all[self.current]
    }

    /// Return the number of the current route.
    pub const fn number(&self) -> usize {
        self.current
    }

    /// Iterate over all routes.
    pub fn all(&self) -> impl Iterator<Item = &Route> {
        self.all.iter()
    }

    pub fn change(&self) -> bool {
        self.in_network || self.all.len() > 1
    }

    pub const fn path(&self) -> u32 {
        self.path
    }

    pub const fn next_change(&self) -> Nanos {
        self.next_change
    }

    /// Take another path, in a network.
    pub fn choose(&mut self, path: u32) {
        self.path = path;
        self.all[0].path = path;
    }

    /// Switch to the route at `now`.
    pub fn follow(&mut self, now: Nanos) {
        while self.next_change() <= now {
            self.current += 1;
            self.path = self.current().path;
            self.next_change = self.all.get(self.current + 1).map_or(NEVER, |route| route.from);
        }
    }

    /// Iterate over the routes in use within `from..to`, with the times of their use.
    pub fn over(&self, from: Nanos, to: Nanos) -> impl Iterator<Item = (&Route, Nanos, Nanos)> {
        let ends = self.all.iter().skip(1).map(|route| route.from).chain([NEVER]);
        let parts = self.all.iter().zip(ends);
        parts
            .map(move |(route, end)| (route, route.from.max(from), end.min(to)))
            .filter(|(_, from, to)| from < to)
    }
}
