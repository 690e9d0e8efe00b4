//! The SYN that opens a connection, repeated until it is answered (RFC 9293 §3.5, RFC 6298 §2.1 and §5).

use crate::rtt::{RTO_INITIAL, RTO_MAX};
use crate::{NEVER, Nanos};

/// Bytes of a SYN or SYN-ACK on the wire: IP, TCP and Linux's options (MSS, SACK, timestamps, window scale).
pub const SYN_BYTES: u32 = 60;

/// The side that opens. Linux gives up after six retransmissions; this one never does.
#[derive(Clone, Debug)]
pub struct Handshake {
    asked: u32,
    deadline: Nanos,
}

impl Handshake {
    /// Create a handshake whose first SYN is due at once.
    pub const fn new() -> Self {
        Self { asked: 0, deadline: 0 }
    }

    /// Return whether a SYN must go out now, and count it.
    pub fn take_syn(&mut self, now: Nanos) -> bool {
        if now < self.deadline {
            return false;
        }
        // RFC 6298 §2.1: before a sample the timeout is one second; §5.5: "RTO <- RTO * 2".
        self.deadline = now + (RTO_INITIAL << self.asked.min(16)).min(RTO_MAX);
        self.asked += 1;
        true
    }

    /// When to call [`Handshake::take_syn`] next.
    pub const fn next_timer(&self) -> Nanos {
        self.deadline
    }

    /// Stop: the SYN is answered.
    pub fn end(&mut self) {
        self.deadline = NEVER;
    }
}

impl Default for Handshake {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unanswered_syn_goes_out_again_after_1_2_4_seconds_and_at_last_every_120() {
        let mut handshake = Handshake::new();
        let mut gaps = Vec::new();
        let mut now = 0;
        for _ in 0..10 {
            assert!(handshake.take_syn(now) && !handshake.take_syn(now));
            gaps.push((handshake.next_timer() - now) / 1_000_000_000);
            now = handshake.next_timer();
        }
        assert_eq!(gaps, [1, 2, 4, 8, 16, 32, 64, 120, 120, 120]);
        handshake.end();
        assert_eq!(handshake.next_timer(), NEVER);
    }
}
