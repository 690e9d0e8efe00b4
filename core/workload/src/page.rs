//! A page load: a browser fetches objects that depend on each other, over one or several connections.
//!
//! Dependencies follow WProf (Wang et al., "Demystifying Page Load Performance with WProf", NSDI 2013): an object is requested
//! once the objects that it waits for have arrived, and the browser has worked on them for a while.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::{NEVER, Nanos};

/// An object of a page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Object {
    /// Size of the response.
    pub bytes: u64,
    /// Indices of earlier objects that must have arrived before the browser asks for this one.
    pub after: Box<[u32]>,
    /// Time that the browser works between the arrival of the last of these and its request.
    pub client: Nanos,
    /// Time that the server works before it responds.
    pub server: Nanos,
}

/// A page and the browser's connections.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PageSpec {
    /// At least one, each after those that it waits for.
    pub objects: Box<[Object]>,
    /// The most connections that the browser opens.
    pub connections: u32,
    /// Whether a connection carries many requests at a time (HTTP/2), or one (HTTP/1.1).
    pub multiplexes: bool,
}

/// What the browser does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Open this connection.
    Open(u32),
    /// Request the object over the connection.
    Request {
        /// Index of an open connection.
        connection: u32,
        /// Index of the object.
        object: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Connection {
    Closed,
    Opening,
    Idle,
    Busy,
}

/// The browser.
#[derive(Clone, Debug)]
pub struct Page {
    spec: PageSpec,
    started: Nanos,
    /// Number of objects that each object still waits for.
    missing: Box<[u32]>,
    /// Objects that the browser will request, by time and index.
    due: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// Objects that wait for a connection.
    waiting: VecDeque<u32>,
    connections: Box<[Connection]>,
    left: usize,
    loaded: Option<Nanos>,
}

impl Page {
    /// Create a browser that has requested nothing and has one connection to open, number 0.
    pub fn new(spec: PageSpec) -> Self {
        let objects = spec.objects.len();
        let mut connections = vec![Connection::Closed; spec.connections as usize];
        connections[0] = Connection::Opening;
        Self {
            started: 0,
            missing: spec.objects.iter().map(|object| object.after.len() as u32).collect(),
            due: BinaryHeap::with_capacity(objects),
            waiting: VecDeque::with_capacity(objects),
            connections: connections.into(),
            left: objects,
            loaded: None,
            spec,
        }
    }

    /// The object `index`.
    pub fn object(&self, index: u32) -> &Object {
        &self.spec.objects[index as usize]
    }

    /// A connection is open. The first one starts the load; the user waits since `since`.
    pub fn on_open(&mut self, connection: u32, since: Nanos, now: Nanos) {
        self.connections[connection as usize] = Connection::Idle;
        if connection > 0 {
            return;
        }
        self.started = since;
        for (index, object) in (0..).zip(&self.spec.objects) {
            if object.after.is_empty() {
                self.due.push(Reverse((now + object.client, index)));
            }
        }
    }

    /// An object has arrived over the connection.
    pub fn on_object(&mut self, connection: u32, object: u32, now: Nanos) {
        self.connections[connection as usize] = Connection::Idle;
        self.left -= 1;
        if self.left == 0 {
            self.loaded = Some(now - self.started);
        }
        for (index, later) in (0_u32..).zip(&self.spec.objects).skip(object as usize + 1) {
            if later.after.contains(&object) {
                self.missing[index as usize] -= 1;
                if self.missing[index as usize] == 0 {
                    self.due.push(Reverse((now + later.client, index)));
                }
            }
        }
    }

    /// When to call [`Page::poll`] next.
    pub fn next_event(&self) -> Nanos {
        self.due.peek().map_or(NEVER, |Reverse((at, _))| *at)
    }

    /// Return what the browser does now. Call until `None`.
    pub fn poll(&mut self, now: Nanos) -> Option<Action> {
        while let Some(&Reverse((_, object))) = self.due.peek().filter(|due| due.0.0 <= now) {
            self.due.pop();
            self.waiting.push_back(object);
        }
        let &object = self.waiting.front()?;
        if let Some(connection) = self.free_connection() {
            self.waiting.pop_front();
            self.connections[connection as usize] = Connection::Busy;
            return Some(Action::Request { connection, object });
        }
        // A browser opens a connection per request that waits, up to its limit.
        let opening =
            self.connections.iter().filter(|&&connection| connection == Connection::Opening).count();
        let closed = self.connections.iter().position(|&connection| connection == Connection::Closed);
        let closed = closed.filter(|_| opening < self.waiting.len())?;
        self.connections[closed] = Connection::Opening;
        Some(Action::Open(closed as u32))
    }

    /// Return the time from the start to the arrival of the last object; `None` before.
    pub const fn load_time(&self) -> Option<Nanos> {
        self.loaded
    }

    fn free_connection(&self) -> Option<u32> {
        let free = |&connection: &Connection| {
            connection == Connection::Idle || (self.spec.multiplexes && connection == Connection::Busy)
        };
        self.connections.iter().position(free).map(|index| index as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    /// A document, and `images` that wait for it; the last image takes the browser 5 ms.
    fn page(images: u32, connections: u32, multiplexes: bool) -> Page {
        let object = |index: u32| Object {
            bytes: 1_000,
            after: if index == 0 { Box::default() } else { [0].into() },
            client: if index == images { 5 * MS } else { 0 },
            server: 0,
        };
        Page::new(PageSpec { objects: (0..=images).map(object).collect(), connections, multiplexes })
    }

    fn actions(page: &mut Page, now: Nanos) -> Vec<Action> {
        std::iter::from_fn(|| page.poll(now)).collect()
    }

    fn request(connection: u32, object: u32) -> Action {
        Action::Request { connection, object }
    }

    #[test]
    fn http_1_opens_connections_for_requests_that_wait_and_sends_one_at_a_time_on_each() {
        let mut page = page(3, 2, false);
        assert_eq!(actions(&mut page, 0), []);
        page.on_open(0, 0, 10 * MS);
        assert_eq!(actions(&mut page, 10 * MS), [request(0, 0)]);
        page.on_object(0, 0, 20 * MS);
        assert_eq!(actions(&mut page, 20 * MS), [request(0, 1), Action::Open(1)]);
        page.on_open(1, 0, 30 * MS);
        assert_eq!(actions(&mut page, 30 * MS), [request(1, 2)]);
        // The last image was due at 25 ms, but the connections are busy.
        page.on_object(1, 2, 40 * MS);
        assert_eq!(actions(&mut page, 40 * MS), [request(1, 3)]);
        page.on_object(0, 1, 50 * MS);
        assert_eq!(page.load_time(), None);
        page.on_object(1, 3, 60 * MS);
        assert_eq!((page.load_time(), page.next_event()), (Some(60 * MS), NEVER));
    }

    #[test]
    fn http_2_requests_all_at_once_on_its_connection() {
        let mut page = page(3, 1, true);
        page.on_open(0, 3 * MS, 10 * MS);
        assert_eq!(actions(&mut page, 10 * MS), [request(0, 0)]);
        page.on_object(0, 0, 20 * MS);
        assert_eq!(actions(&mut page, 20 * MS), [request(0, 1), request(0, 2)]);
        assert_eq!(page.next_event(), 25 * MS);
        assert_eq!(actions(&mut page, 25 * MS), [request(0, 3)]);
        for object in [2, 1, 3] {
            page.on_object(0, object, 30 * MS);
        }
        assert_eq!(page.load_time(), Some(27 * MS), "the user waits since 3 ms");
    }
}
