//! Acknowledgements for the tests of schemes.

use crate::{Ack, CongestionControl, Nanos};

/// The round trip of [`round_of_acks`].
pub const RTT: Nanos = 100_000_000;

/// An acknowledgement of one packet on a path without queueing, to a sender that its window limits.
pub fn ack_of_one(now: Nanos) -> Ack {
    Ack {
        now,
        acked: 1,
        delivered: 1,
        rtt: Some(RTT),
        min_rtt: RTT,
        srtt: RTT,
        window_limited: true,
        may_grow: true,
        ..Ack::default()
    }
}

/// Feed one window of acknowledgements over [`RTT`], without queueing; returns the time after it.
pub fn round_of_acks(scheme: &mut impl CongestionControl, now: Nanos) -> Nanos {
    round_at(scheme, now, RTT)
}

/// Feed one window of acknowledgements whose RTT is `rtt` on a path of [`RTT`]; returns the time after it.
pub fn round_at(scheme: &mut impl CongestionControl, now: Nanos, rtt: Nanos) -> Nanos {
    let window = scheme.window();
    let begin = now / RTT * 1_000_000;
    for packet in 1..=window {
        let at = now + rtt * Nanos::from(packet) / Nanos::from(window);
        let una = begin + u64::from(packet);
        scheme.on_ack(&Ack {
            rtt: Some(rtt),
            srtt: rtt,
            una,
            next: una + u64::from(window),
            prior_in_flight: window,
            in_flight: window - 1,
            ..ack_of_one(at)
        });
    }
    now + rtt
}
