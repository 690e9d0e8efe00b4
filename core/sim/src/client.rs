//! Clients that request data from servers over one or several flows: adaptive video and page loads.

use std::collections::VecDeque;

use leo_link::{NEVER, Nanos};
use leo_transport::SEGMENT_BYTES;
use leo_workload::{Action, Page, Player};

/// A lost request is sent again after the smoothed RTT and this: Linux's smallest retransmission timeout (TCP_RTO_MIN).
const RESEND: Nanos = 200_000_000;

/// A client and its flows.
#[derive(Clone, Debug)]
pub struct Client {
    pub kind: ClientKind,
    /// Index of the flow of its first connection; the others follow.
    pub first_flow: usize,
    pub connections: usize,
    /// When the user started it.
    pub since: Nanos,
}

#[derive(Clone, Debug)]
pub enum ClientKind {
    Video(Player),
    Page(Page),
}

/// A request for data.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// What the response holds, for the client.
    pub object: u32,
    /// Size of the response in packets.
    pub packets: u64,
    /// How long the server works on it.
    pub server: Nanos,
}

/// What a client does.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Open { connection: usize },
    Ask { connection: usize, request: Request },
}

impl Client {
    /// A connection is open.
    pub fn on_open(&mut self, connection: u32, now: Nanos) {
        match &mut self.kind {
            ClientKind::Video(player) => player.start(self.since, now),
            ClientKind::Page(page) => page.on_open(connection, self.since, now),
        }
    }

    /// A response has arrived.
    pub fn on_response(&mut self, connection: u32, object: u32, now: Nanos) {
        match &mut self.kind {
            ClientKind::Video(player) => player.on_chunk(now),
            ClientKind::Page(page) => page.on_object(connection, object, now),
        }
    }

    /// Return what it does now. Call until `None`.
    pub fn poll(&mut self, now: Nanos) -> Option<Step> {
        let packets = |bytes: u64| bytes.div_ceil(u64::from(SEGMENT_BYTES)).max(1);
        match &mut self.kind {
            ClientKind::Video(player) => player.poll(now).map(|bytes| {
                let request = Request { object: 0, packets: packets(bytes), server: 0 };
                Step::Ask { connection: 0, request }
            }),
            ClientKind::Page(page) => page.poll(now).map(|action| match action {
                Action::Open(connection) => Step::Open { connection: connection as usize },
                Action::Request { connection, object } => {
                    let wanted = page.object(object);
                    let request = Request { object, packets: packets(wanted.bytes), server: wanted.server };
                    Step::Ask { connection: connection as usize, request }
                }
            }),
        }
    }

    /// Return when to call [`Client::poll`] next.
    pub fn next_event(&self) -> Nanos {
        match &self.kind {
            ClientKind::Video(player) => player.next_event(),
            ClientKind::Page(page) => page.next_event(),
        }
    }

    /// Whether it needs nothing more.
    pub const fn is_done(&self) -> bool {
        matches!(&self.kind, ClientKind::Page(page) if page.load_time().is_some())
    }
}

/// A client's connection: requests that cross the reverse path, and responses in order.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Index of the client, and of the connection among its own.
    pub client: u32,
    pub place: u32,
    /// The client has not been told that it is open.
    pub is_new: bool,
    /// When the client wants to be called, if this is its first connection.
    pub wakes: Nanos,
    /// Requests that have not reached the server, and the number of all.
    requests: VecDeque<Request>,
    requested: u64,
    resend: Nanos,
    backoff: u32,
    /// Requests that the server works on, with the times of their responses.
    pending: VecDeque<(Nanos, Request)>,
    /// Objects of the responses written, and the packets before their ends.
    responses: VecDeque<(u64, u32)>,
    written: u64,
}

impl Connection {
    /// Create a connection that carries at most `requests` requests at a time.
    pub fn new(client: usize, place: usize, requests: usize) -> Self {
        Self {
            client: client as u32,
            place: place as u32,
            is_new: false,
            wakes: NEVER,
            requests: VecDeque::with_capacity(requests),
            requested: 0,
            resend: NEVER,
            backoff: 0,
            pending: VecDeque::with_capacity(requests),
            responses: VecDeque::with_capacity(requests),
            written: 0,
        }
    }

    pub const fn open(&mut self, now: Nanos) {
        self.is_new = true;
        self.wakes = now;
    }

    pub fn next_event(&self) -> Nanos {
        let response = self.pending.front().map_or(NEVER, |(at, _)| *at);
        self.wakes.min(self.resend).min(response)
    }

    /// Send a request; return its number for the packet.
    pub fn request(&mut self, request: Request, now: Nanos, rtt: Nanos) -> u64 {
        self.requests.push_back(request);
        self.requested += 1;
        self.backoff = 0;
        self.resend = now + rtt + RESEND;
        self.requested
    }

    /// Return the number of the last request if it must be sent again.
    pub fn request_again(&mut self, now: Nanos, rtt: Nanos) -> Option<u64> {
        if now < self.resend {
            return None;
        }
        if self.requests.is_empty() {
            self.resend = NEVER;
            return None;
        }
        // RFC 6298 §5.5: "RTO <- RTO * 2".
        self.backoff = (self.backoff + 1).min(6);
        self.resend = now + ((rtt + RESEND) << self.backoff);
        Some(self.requested)
    }

    /// Requests up to number `last` have reached the server.
    pub fn on_request(&mut self, last: u64, now: Nanos) {
        while self.requested - (self.requests.len() as u64) < last {
            let Some(request) = self.requests.pop_front() else { return };
            let at = now + request.server;
            let place = self.pending.partition_point(|(other, _)| *other <= at);
            self.pending.insert(place, (at, request));
        }
    }

    /// Return the packets of the next response if it is due at `now`.
    pub fn respond(&mut self, now: Nanos) -> Option<u64> {
        let (_, request) = *self.pending.front().filter(|(at, _)| *at <= now)?;
        self.pending.pop_front();
        self.written += request.packets;
        self.responses.push_back((self.written, request.object));
        Some(request.packets)
    }

    /// Return the object of the next response that the first `delivered` packets complete. Call until `None`.
    pub fn take_response(&mut self, delivered: u64) -> Option<u32> {
        let &(end, object) = self.responses.front()?;
        if end > delivered {
            return None;
        }
        self.responses.pop_front();
        Some(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    fn request(object: u32, packets: u64, server: Nanos) -> Request {
        Request { object, packets, server }
    }

    #[test]
    fn responses_leave_when_the_server_is_done_and_complete_in_this_order() {
        let mut connection = Connection::new(0, 0, 3);
        for (number, object) in [(1, request(7, 2, 30 * MS)), (2, request(8, 3, 0)), (3, request(9, 1, 0))] {
            assert_eq!(connection.request(object, 0, 10 * MS), number);
        }
        connection.on_request(2, 5 * MS);
        assert_eq!((connection.respond(5 * MS), connection.respond(5 * MS)), (Some(3), None));
        connection.on_request(3, 35 * MS);
        assert_eq!((connection.respond(35 * MS), connection.respond(35 * MS)), (Some(2), Some(1)));
        let done: Vec<_> =
            [2, 3, 5, 5, 6].map(|delivered| connection.take_response(delivered)).into_iter().collect();
        assert_eq!(done, [None, Some(8), Some(7), None, Some(9)]);
    }

    #[test]
    fn a_request_that_does_not_arrive_is_sent_again_after_twice_the_time_each() {
        let mut connection = Connection::new(0, 0, 1);
        connection.request(request(0, 1, 0), 0, 50 * MS);
        assert_eq!(connection.request_again(249 * MS, 50 * MS), None);
        assert_eq!(connection.request_again(250 * MS, 50 * MS), Some(1));
        assert_eq!(connection.next_event(), 750 * MS);
        connection.on_request(1, 300 * MS);
        connection.on_request(1, 301 * MS);
        assert_eq!(connection.respond(301 * MS), Some(1));
        assert_eq!(connection.request_again(750 * MS, 50 * MS), None);
        assert_eq!(connection.next_event(), NEVER);
    }
}
