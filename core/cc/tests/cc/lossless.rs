//! Windows grow for half a day on a path without losses, and nothing overflows.

use leo_cc::{Ack, AtSending, Congestion, CongestionControl, Context, NAMES, Nanos, RateSample, Scheme};

const MS: Nanos = 1_000_000;
const RTT: Nanos = 50 * MS;
const ROUND_TRIPS: u64 = 1_000_000;
/// Packets that the path carries per round trip: 250 Gbit/s for 50 ms.
const CARRIED: u32 = 1 << 20;

/// Return the window of a window-limited sender after a million round trips, each with one ACK. Overflow panics in tests.
fn endure(name: &str, first_a_loss: bool) -> u32 {
    let mut scheme = Scheme::by_name(name, &Context::default()).expect("it is a scheme");
    scheme.on_start(0, RTT);
    let mut una = 0_u64;
    for round in 1..=ROUND_TRIPS {
        let now = round * RTT;
        while scheme.next_timer() <= now {
            let due = scheme.next_timer();
            scheme.on_timer(due);
            assert!(scheme.next_timer() > due, "{name}: a timer that stands still");
        }
        if first_a_loss && round == 3 {
            scheme.on_congestion(Congestion::Loss, now);
            scheme.on_recovered(now);
        }
        let window = scheme.window();
        let acked = window.min(CARRIED);
        let newest =
            AtSending { delivered: una, in_flight: acked, sent_at: now - RTT, ..AtSending::default() };
        una += u64::from(acked);
        scheme.on_ack(&Ack {
            now,
            acked,
            delivered: acked,
            una,
            next: una,
            rtt: Some(RTT),
            echo: now - RTT,
            left_ms: ((now - RTT / 2) / 1_000_000) as u32,
            min_rtt: RTT,
            srtt: RTT,
            prior_in_flight: acked,
            total_delivered: una,
            total_sent: una,
            rate: Some(RateSample { delivered: u64::from(acked), interval: RTT, app_limited: false }),
            newest: Some(newest),
            window_limited: true,
            may_grow: true,
            ..Ack::default()
        });
        assert!(scheme.window() >= 1, "{name}, round trip {round}");
        assert!(scheme.pacing_rate().is_none_or(|rate| rate > 0), "{name}, round trip {round}");
    }
    scheme.window()
}

#[test]
fn no_scheme_overflows_in_a_million_round_trips_of_a_slow_start_that_no_loss_ends() {
    for name in NAMES {
        endure(name, false);
    }
}

#[test]
fn no_scheme_overflows_in_a_million_round_trips_without_another_loss() {
    for name in NAMES {
        endure(name, true);
    }
}

#[test]
fn reno_gains_a_packet_a_round_trip_for_a_million_round_trips() {
    // RFC 5681 §3.1: "During congestion avoidance, cwnd is incremented by roughly 1 full-sized segment per round-trip time".
    // A loss in the third round trip halves the 40 packets of slow start; growth starts with that round trip's ACK.
    assert_eq!(endure("reno", true), 20 + ROUND_TRIPS as u32 - 2);
}
