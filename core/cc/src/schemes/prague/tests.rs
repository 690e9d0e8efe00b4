use super::*;
use crate::testing::{RTT, ack_of_one};

/// A scheme in congestion avoidance at `window`, with an RTT of `rtt`.
fn avoiding(window: f64, alpha: f64, rtt: Nanos) -> Prague {
    let mut prague = Prague::new();
    prague.on_start(0, rtt);
    (prague.window, prague.threshold, prague.alpha) = (window, window, alpha);
    prague
}

/// Feed an ACK at `now` that reports a mark and covers a packet sent after the last reduction, but ends no round.
fn mark(prague: &mut Prague, now: Nanos) {
    let una = prague.reduced.map_or(1, |last| last.until + 1);
    prague.round.first = u64::MAX;
    prague.on_congestion(Congestion::Ecn, now);
    prague.on_ack(&Ack { marked: 1, una, next: una + 100, srtt: prague.srtt, ..ack_of_one(now) });
}

/// Feed ACKs of one packet each for a round trip of `rtt`, of which the first `marked` report a mark.
fn round(prague: &mut Prague, now: Nanos, rtt: Nanos, marked: u32) -> Nanos {
    let window = prague.window();
    let begin = prague.round.first;
    for packet in 1..=window {
        let una = begin + u64::from(packet);
        prague.on_ack(&Ack {
            srtt: rtt,
            marked: u32::from(packet <= marked),
            una,
            next: begin + u64::from(window) + u64::from(packet),
            ..ack_of_one(now + rtt * u64::from(packet) / u64::from(window))
        });
    }
    now + rtt
}

#[test]
fn alpha_moves_a_sixteenth_of_the_way_to_the_share_of_marks_each_round() {
    // §2.3.2: "alpha += g * (frac - alpha)", "the fraction, frac, of ACKed bytes that carried ECN feedback over the previous round
    // trip", "g … default 1/16".
    let mut prague = avoiding(100.0, 0.5, RTT);
    let mut now = round(&mut prague, 0, RTT, 0);
    assert!((prague.alpha - 0.5).abs() < 1e-9, "it has seen no mark");
    // A round ends with the first ACK of a packet that was sent in it.
    now = round(&mut prague, now, RTT, 25);
    now = round(&mut prague, now, RTT, 0);
    let first = prague.alpha;
    // The first of the 25 marks belongs to the round before: a share of 1 % of 100, then of 24 %.
    let expected = [0.01, 0.24].into_iter().fold(0.5, |alpha, share| alpha + (share - alpha) / 16.0);
    assert!((first - expected).abs() < 1e-3, "{first}, {expected}");
    let mut rounds = 0;
    while prague.alpha > 0.05 {
        now = round(&mut prague, now, RTT, 0);
        rounds += 1;
    }
    // ln(first / 0.05) / -ln(15/16) round trips without marks.
    let expected = (first / 0.05).ln() / (16.0_f64 / 15.0).ln();
    assert!((f64::from(rounds) - expected).abs() < 3.0, "{rounds} rounds, {expected} expected");
}

#[test]
fn a_steady_share_of_marks_is_where_alpha_settles() {
    let mut prague = avoiding(200.0, 1.0, RTT);
    let mut now = 0;
    for _ in 0..150 {
        prague.window = 200.0;
        now = round(&mut prague, now, RTT, 20);
    }
    assert!((prague.alpha - 0.1).abs() < 0.005, "{}", prague.alpha);
}

#[test]
fn a_mark_takes_half_of_alpha_and_the_fraction_of_a_packet_stays() {
    // §2.4.2: "ssthresh = (1 - alpha/2) * cwnd"; "tracking a fractional value alongside the integer window".
    let mut prague = avoiding(100.0, 0.1, RTT);
    mark(&mut prague, RTT);
    assert!((prague.window - 95.0).abs() < 1e-9);
    let mut prague = avoiding(100.0, 0.005, RTT);
    mark(&mut prague, RTT);
    assert!((prague.window - 99.75).abs() < 1e-9);
    assert_eq!(prague.window(), 100);
    mark(&mut prague, 3 * RTT);
    assert!((prague.window - 99.75 * 0.9975).abs() < 1e-9);
}

#[test]
fn further_marks_of_a_round_trip_take_nothing() {
    // §2.4.2: "Then it suppresses any further decreases for one round trip, even if it receives further ECN feedback".
    let mut prague = avoiding(100.0, 0.1, RTT);
    prague.round.first = u64::MAX;
    let mut marked = |una: u64| {
        let next = una + 100;
        prague.on_ack(&Ack { marked: 1, una, next, srtt: RTT, ..ack_of_one(una * MILLISECOND) });
        prague.window
    };
    let windows = [1, 2, 100, 101, 102, 103].map(&mut marked);
    assert!(windows[0] < 95.1 && windows[3] == windows[0], "{windows:?}");
    assert!((windows[4] / windows[3] - 0.95).abs() < 1e-9, "the first packet sent after it: {windows:?}");
    assert!(windows[5] == windows[4], "{windows:?}");
}

#[test]
fn the_window_grows_for_unmarked_packets_whether_or_not_it_has_just_been_reduced() {
    // §2.4.3: "cwnd += (acked_sacked - ece_delta) * ai_per_rtt / cwnd", "irrespective of its CWR state".
    for recovery in [Recovery::Open, Recovery::Cwr] {
        let mut prague = avoiding(100.0, 0.1, RTT);
        prague.reduced = Some(Reduced { at: 0, until: u64::MAX, before: 110.0 });
        prague.on_ack(&Ack { delivered: 10, marked: 4, recovery, srtt: RTT, ..ack_of_one(RTT) });
        assert!((prague.window - 100.06).abs() < 1e-9, "{recovery:?}: {}", prague.window);
    }
    let mut prague = avoiding(100.0, 0.1, RTT);
    prague.reduced = Some(Reduced { at: 0, until: u64::MAX, before: 110.0 });
    prague.on_ack(&Ack { delivered: 10, marked: 10, srtt: RTT, ..ack_of_one(RTT) });
    assert!((prague.window - 100.0).abs() < 1e-9);
    // More marks than packets: those of duplicates.
    prague.on_ack(&Ack { delivered: 1, marked: 3, srtt: RTT, ..ack_of_one(RTT) });
    assert!((prague.window - 100.0).abs() < 1e-9);
}

#[test]
fn slow_start_doubles_until_the_first_mark() {
    // §2.4.5: "Slow start is exited once a single mark is detected"; alpha begins at 1, as in DCTCP.
    let mut prague = Prague::new();
    let mut now = 0;
    for _ in 0..3 {
        now = round(&mut prague, now, RTT, 0);
    }
    assert_eq!(prague.window(), 80);
    let first = prague.round.first;
    mark(&mut prague, now);
    prague.round.first = first;
    assert_eq!((prague.window(), prague.slow_start_threshold()), (40, 40));
    round(&mut prague, now, RTT, 0);
    assert!((40.9..41.1).contains(&prague.window), "{}", prague.window);
}

#[test]
fn a_short_rtt_grows_and_backs_off_as_one_of_25_ms_would_after_500_rounds() {
    // §2.4.4: M = RTT_ref / RTT = 5, so that "only 1/M^2 segments over an actual round trip" are added; the decrease is
    // suppressed for RTT_ref.
    const SHORT: Nanos = 5 * MILLISECOND;
    let mut prague = avoiding(100.0, 0.1, SHORT);
    let now = round(&mut prague, 0, SHORT, 0);
    assert!((prague.window - 101.0).abs() < 0.02, "RTT-dependent at first: {}", prague.window);
    prague.rounds = ROUNDS_UNTIL_FAIR;
    prague.window = 100.0;
    prague.threshold = 100.0;
    let now = round(&mut prague, now, SHORT, 0);
    assert!((prague.window - 100.04).abs() < 0.001, "{}", prague.window);
    mark(&mut prague, now);
    let reduced = prague.window;
    mark(&mut prague, now + 24 * MILLISECOND);
    assert!((prague.window - reduced).abs() < 1e-9);
    mark(&mut prague, now + 25 * MILLISECOND);
    assert!(prague.window < 0.96 * reduced);
    // From 25 ms on nothing changes.
    let mut prague = avoiding(100.0, 0.1, RTT);
    prague.rounds = ROUNDS_UNTIL_FAIR;
    round(&mut prague, 0, RTT, 0);
    assert!((prague.window - 101.0).abs() < 0.02);
}

#[test]
fn alpha_is_renewed_every_25_ms_on_a_short_path() {
    const SHORT: Nanos = 5 * MILLISECOND;
    let renewals = |rounds| {
        let mut prague = avoiding(100.0, 0.1, SHORT);
        (prague.rounds, prague.has_seen_mark) = (rounds, true);
        let (mut now, mut alpha, mut changes) = (0, prague.alpha, 0);
        for _ in 0..50 {
            now = round(&mut prague, now, SHORT, 0);
            changes += u32::from(prague.alpha < alpha);
            alpha = prague.alpha;
        }
        changes
    };
    assert!(renewals(0) > 40, "once a round trip: {}", renewals(0));
    assert!((8..=10).contains(&renewals(ROUNDS_UNTIL_FAIR)), "{}", renewals(ROUNDS_UNTIL_FAIR));
}

#[test]
fn a_loss_halves_the_window_and_with_a_mark_before_it_no_more_than_that() {
    // §2.4.1.
    let mut prague = avoiding(100.0, 0.4, RTT);
    prague.on_congestion(Congestion::Loss, RTT);
    assert_eq!((prague.window(), prague.slow_start_threshold()), (50, 50));
    let mut prague = avoiding(100.0, 0.4, RTT);
    mark(&mut prague, RTT);
    assert!((prague.window - 80.0).abs() < 1e-9);
    // The transport tells of a loss during a reduction by its state alone.
    prague.on_ack(&Ack {
        delivered: 1,
        srtt: RTT,
        recovery: Recovery::Recovery,
        ..ack_of_one(RTT + RTT / 2)
    });
    assert!((prague.window - 50.0).abs() < 1e-9, "{}", prague.window);
    prague.on_ack(&Ack {
        delivered: 1,
        srtt: RTT,
        recovery: Recovery::Recovery,
        ..ack_of_one(RTT + RTT / 2)
    });
    assert!((prague.window - 50.0).abs() < 1e-9, "once: {}", prague.window);
    // A round trip later the two are separate.
    let mut prague = avoiding(100.0, 0.4, RTT);
    mark(&mut prague, RTT);
    prague.on_congestion(Congestion::Loss, 3 * RTT);
    assert!((prague.window - 40.0).abs() < 1e-9, "{}", prague.window);
}

#[test]
fn a_timeout_begins_slow_start_and_a_spurious_loss_is_taken_back() {
    let mut prague = avoiding(100.0, 0.4, RTT);
    prague.on_congestion(Congestion::Timeout, RTT);
    assert_eq!((prague.window(), prague.slow_start_threshold()), (1, 50));
    let mut prague = avoiding(100.0, 0.4, RTT);
    prague.on_congestion(Congestion::Loss, RTT);
    prague.on_undo(2 * RTT);
    assert_eq!(prague.window(), 100);
}

#[test]
fn it_paces_at_a_window_per_round_trip_and_twice_that_in_slow_start() {
    // §2.5.1: "During congestion avoidance, the Linux TCP Prague implementation does not factor up pacing_rate at all".
    let window_a_second = |packets: u64| packets * u64::from(SEGMENT_BYTES) * 1_000 * MILLISECOND / RTT;
    assert_eq!(avoiding(100.0, 0.1, RTT).pacing_rate(), Some(window_a_second(100)));
    let mut starting = Prague::new();
    assert_eq!(starting.pacing_rate(), None, "before the first sample");
    starting.on_start(0, RTT);
    assert_eq!(starting.pacing_rate(), Some(window_a_second(20)));
}

#[test]
fn without_accurate_feedback_it_is_reno() {
    // §2.3.1.1: "the sender MUST fall back to a Reno-friendly CC behaviour for the rest of the connection", without ECT(1).
    for mode in [EcnMode::Off, EcnMode::Classic] {
        let mut prague = avoiding(100.0, 0.1, RTT);
        assert!(prague.is_scalable());
        prague.on_ecn_mode(mode);
        assert!(!prague.is_scalable() && prague.wants_rate_reduction() && prague.pacing_rate().is_none());
        round(&mut prague, 0, RTT, 0);
        assert!((prague.window - 101.0).abs() < 0.02, "{}", prague.window);
        prague.window = 100.0;
        prague.on_congestion(Congestion::Ecn, 2 * RTT);
        assert_eq!(prague.window(), 50);
    }
}
