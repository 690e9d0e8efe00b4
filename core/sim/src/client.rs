//! Clients of the flows that carry their requests, and their connections.

use leo_link::{NEVER, Nanos};
use leo_transport::SEGMENT_BYTES;
use leo_workload::{Exchange, Request};

/// A lost request is sent again after the smoothed RTT and this: Linux's smallest retransmission timeout (TCP_RTO_MIN).
const RESEND: Nanos = 200_000_000;

/// A client and its flows.
#[derive(Clone, Debug)]
pub struct Client {
    pub kind: leo_workload::Client,
    /// Index of the flow of its first connection; the others follow.
    pub first_flow: usize,
    pub connections: usize,
    /// When the user started it.
    pub since: Nanos,
}

/// A client's connection: requests that cross the reverse path, and responses in order, each of whole packets.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Index of the client, and of the connection among its own.
    pub client: u32,
    pub place: u32,
    /// The client has not been told that it is open.
    pub is_new: bool,
    /// When the client wants to be called, if this is its first connection.
    pub wakes: Nanos,
    exchange: Exchange,
    resend: Nanos,
    backoff: u32,
}

impl Connection {
    /// Create a connection that carries at most `requests` requests at a time.
    pub fn new(client: usize, place: usize, requests: usize) -> Self {
        Self {
            client: client as u32,
            place: place as u32,
            is_new: false,
            wakes: NEVER,
            exchange: Exchange::new(requests),
            resend: NEVER,
            backoff: 0,
        }
    }

    pub const fn open(&mut self, now: Nanos) {
        self.is_new = true;
        self.wakes = now;
    }

    pub fn next_event(&self) -> Nanos {
        self.wakes.min(self.resend).min(self.exchange.next_response().unwrap_or(NEVER))
    }

    /// Send a request; return its number for the packet.
    pub fn request(&mut self, request: Request, now: Nanos, rtt: Nanos) -> u64 {
        self.backoff = 0;
        self.resend = now + rtt + RESEND;
        let segment = u64::from(SEGMENT_BYTES);
        let bytes = request.bytes.div_ceil(segment).max(1) * segment;
        self.exchange.request(Request { bytes, ..request })
    }

    /// Return the number of the last request if it must be sent again.
    pub fn request_again(&mut self, now: Nanos, rtt: Nanos) -> Option<u64> {
        if now < self.resend {
            return None;
        }
        if !self.exchange.has_requests() {
            self.resend = NEVER;
            return None;
        }
        // RFC 6298 §5.5: "RTO <- RTO * 2".
        self.backoff = (self.backoff + 1).min(6);
        self.resend = now + ((rtt + RESEND) << self.backoff);
        Some(self.exchange.requested())
    }

    /// Requests up to number `last` have reached the server.
    pub fn on_request(&mut self, last: u64, now: Nanos) {
        self.exchange.on_request(last, now);
    }

    /// Return the packets of the next response if it is due at `now`.
    pub fn respond(&mut self, now: Nanos) -> Option<u64> {
        self.exchange.respond(now).map(|bytes| bytes / u64::from(SEGMENT_BYTES))
    }

    /// Return the object of the next response that the first `delivered` packets complete. Call until `None`.
    pub fn take_response(&mut self, delivered: u64) -> Option<u32> {
        self.exchange.take_response(delivered * u64::from(SEGMENT_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    #[test]
    fn a_request_that_does_not_arrive_is_sent_again_after_twice_the_time_each() {
        let mut connection = Connection::new(0, 0, 1);
        connection.request(Request { object: 0, bytes: 1, server: 0 }, 0, 50 * MS);
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
