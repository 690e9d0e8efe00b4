//! Clients that request data from servers over one or several connections: adaptive video and page loads.

use crate::exchange::Request;
use crate::{Action, Nanos, Page, Player};

/// A client.
#[derive(Clone, Debug)]
pub enum Client {
    /// Adaptive video, over one connection.
    Video(Player),
    /// A page load.
    Page(Page),
}

/// What a client does.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Open a connection.
    Open {
        /// Its index.
        connection: usize,
    },
    /// Send a request.
    Ask {
        /// Index of an open connection.
        connection: usize,
        /// The request.
        request: Request,
    },
}

impl Client {
    /// A connection is open. The first one, number 0, is open before the client asks; the user waits since `since`.
    pub fn on_open(&mut self, connection: u32, since: Nanos, now: Nanos) {
        match self {
            Self::Video(player) => player.start(since, now),
            Self::Page(page) => page.on_open(connection, since, now),
        }
    }

    /// A response has arrived.
    pub fn on_response(&mut self, connection: u32, object: u32, now: Nanos) {
        match self {
            Self::Video(player) => player.on_chunk(now),
            Self::Page(page) => page.on_object(connection, object, now),
        }
    }

    /// Return what it does now. Call until `None`.
    pub fn poll(&mut self, now: Nanos) -> Option<Step> {
        match self {
            Self::Video(player) => player
                .poll(now)
                .map(|bytes| Step::Ask { connection: 0, request: Request { object: 0, bytes, server: 0 } }),
            Self::Page(page) => page.poll(now).map(|action| match action {
                Action::Open(connection) => Step::Open { connection: connection as usize },
                Action::Request { connection, object } => {
                    let wanted = page.object(object);
                    let request = Request { object, bytes: wanted.bytes, server: wanted.server };
                    Step::Ask { connection: connection as usize, request }
                }
            }),
        }
    }

    /// Return when to call [`Client::poll`] next.
    pub fn next_event(&self) -> Nanos {
        match self {
            Self::Video(player) => player.next_event(),
            Self::Page(page) => page.next_event(),
        }
    }

    /// Whether it needs nothing more.
    pub const fn is_done(&self) -> bool {
        matches!(self, Self::Page(page) if page.load_time().is_some())
    }
}
