//! The ways that a flow takes through the links, one after another.

use leo_link::{NEVER, Nanos};

/// A way through the links, from an instant on.
#[derive(Clone, Debug)]
pub struct Route {
    /// When the flow begins to take it.
    pub from: Nanos,
    /// The links that data crosses, access left out.
    pub links: Box<[u32]>,
    /// The path, access included.
    pub path: u32,
}

/// A flow's routes in the order of their times. What is on an old one stays on it: a change loses no packets.
#[derive(Clone, Debug)]
pub struct Routes {
    all: Vec<Route>,
    current: usize,
    /// The path of the current one.
    path: u32,
    /// When the next one begins: asked for each packet, unlike the others.
    next_change: Nanos,
}

impl Routes {
    /// The route of the start, and later ones in any order.
    pub fn new(first: Route, mut later: Vec<Route>) -> Self {
        later.sort_by_key(|route| route.from);
        later.insert(0, first);
        let path = later[0].path;
        let next_change = later.get(1).map_or(NEVER, |route| route.from);
        Self { all: later, current: 0, path, next_change }
    }

    /// The route that packets take now.
    pub fn current(&self) -> &Route {
        &self.all[self.current]
    }

    /// Whether there is more than one.
    pub const fn change(&self) -> bool {
        self.all.len() > 1
    }

    /// The path that packets take now.
    #[inline]
    pub const fn path(&self) -> u32 {
        self.path
    }

    /// When the next change is due.
    #[inline]
    pub const fn next_change(&self) -> Nanos {
        self.next_change
    }

    /// Take the route that `now` asks for.
    pub fn follow(&mut self, now: Nanos) {
        while self.next_change() <= now {
            self.current += 1;
            self.path = self.current().path;
            self.next_change = self.all.get(self.current + 1).map_or(NEVER, |route| route.from);
        }
    }

    /// Every route with the part of `from..to` in which it is taken.
    pub fn over(&self, from: Nanos, to: Nanos) -> impl Iterator<Item = (&Route, Nanos, Nanos)> {
        let ends = self.all.iter().skip(1).map(|route| route.from).chain([NEVER]);
        let parts = self.all.iter().zip(ends);
        parts
            .map(move |(route, end)| (route, route.from.max(from), end.min(to)))
            .filter(|(_, from, to)| from < to)
    }
}
