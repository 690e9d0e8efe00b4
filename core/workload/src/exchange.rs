//! The requests and responses of one connection, in order.

use std::collections::VecDeque;

use crate::Nanos;

/// A request for data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What the response holds, for the client.
    pub object: u32,
    /// Size of the response.
    pub bytes: u64,
    /// How long the server works on it.
    pub server: Nanos,
}

/// Requests that cross the connection, and responses that return in the order in which the server is done.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Requests that have not reached the server, and the number of all.
    requests: VecDeque<Request>,
    requested: u64,
    /// Requests that the server works on, with the times of their responses.
    pending: VecDeque<(Nanos, Request)>,
    /// Objects of the responses written, and the bytes before their ends.
    responses: VecDeque<(u64, u32)>,
    written: u64,
}

impl Exchange {
    /// Create an exchange of at most `requests` requests at a time.
    pub fn new(requests: usize) -> Self {
        Self {
            requests: VecDeque::with_capacity(requests),
            requested: 0,
            pending: VecDeque::with_capacity(requests),
            responses: VecDeque::with_capacity(requests),
            written: 0,
        }
    }

    /// Send a request; return its number, from 1.
    pub fn request(&mut self, request: Request) -> u64 {
        self.requests.push_back(request);
        self.requested += 1;
        self.requested
    }

    /// Number of requests sent.
    pub const fn requested(&self) -> u64 {
        self.requested
    }

    /// Whether requests have not reached the server.
    pub fn has_requests(&self) -> bool {
        !self.requests.is_empty()
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

    /// When the next response is due, if the server works on one.
    pub fn next_response(&self) -> Option<Nanos> {
        self.pending.front().map(|(at, _)| *at)
    }

    /// Return the size in bytes of the next response if it is due at `now`. Call until `None`.
    pub fn respond(&mut self, now: Nanos) -> Option<u64> {
        let (_, request) = *self.pending.front().filter(|(at, _)| *at <= now)?;
        self.pending.pop_front();
        self.written += request.bytes;
        self.responses.push_back((self.written, request.object));
        Some(request.bytes)
    }

    /// Return the object of the next response that the first `delivered` bytes complete. Call until `None`.
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

    #[test]
    fn responses_leave_when_the_server_is_done_and_complete_in_this_order() {
        let mut exchange = Exchange::new(3);
        for (number, object, bytes, server) in [(1, 7, 2, 30 * MS), (2, 8, 3, 0), (3, 9, 1, 0)] {
            assert_eq!(exchange.request(Request { object, bytes, server }), number);
        }
        exchange.on_request(2, 5 * MS);
        assert_eq!((exchange.respond(5 * MS), exchange.respond(5 * MS)), (Some(3), None));
        assert_eq!((exchange.next_response(), exchange.has_requests()), (Some(35 * MS), true));
        exchange.on_request(3, 35 * MS);
        assert_eq!((exchange.respond(35 * MS), exchange.respond(35 * MS)), (Some(2), Some(1)));
        let done: Vec<_> =
            [2, 3, 5, 5, 6].map(|delivered| exchange.take_response(delivered)).into_iter().collect();
        assert_eq!(done, [None, Some(8), Some(7), None, Some(9)]);
    }
}
