use super::*;
use crate::AtSending;

const MS: Nanos = 1_000_000;

fn plan(duration: Nanos) -> Plan {
    Plan { rate: 1_448_000.0, duration, rtt_samples: 0 }
}

fn ack(now: Nanos, rtt: Nanos) -> Ack {
    let newest = Some(AtSending { sent_at: now - rtt, ..AtSending::default() });
    Ack { now, delivered: 1, rtt: Some(rtt), srtt: rtt, newest, ..Ack::default() }
}

/// `count` intervals of 100 ms at a packet per millisecond.
fn intervals(completion: Completion, count: u64) -> MonitorIntervals {
    let mut intervals = MonitorIntervals::new(completion);
    for index in 0..count {
        intervals.begin(index * 100 * MS, plan(100 * MS));
    }
    intervals
}

#[test]
fn packets_count_in_the_interval_that_they_were_sent_in() {
    let mut intervals = intervals(Completion::After(3), 3);
    // Losses are detected late: packets of the first two intervals during the third.
    for sent_at in [10 * MS, 20 * MS, 150 * MS] {
        intervals.on_packet_lost(sent_at);
    }
    let mut complete = Vec::new();
    for sent in (0..205).filter(|sent| ![10, 20, 150].contains(sent)) {
        intervals.on_ack(&ack((sent + 50) * MS, 50 * MS));
        complete.extend(
            intervals.take_complete().map(|interval| (sent, interval.id, interval.packets, interval.lost)),
        );
    }
    // The third packet of the next interval completes an interval.
    assert_eq!(complete, [(102, 0, 100, 2), (202, 1, 100, 1)]);
}

#[test]
fn the_rate_is_that_of_sending_lost_packets_included() {
    let mut intervals = intervals(Completion::After(1), 2);
    for sent in 0..101 {
        if sent % 4 == 2 {
            intervals.on_packet_lost(sent * MS);
        } else {
            intervals.on_ack(&ack((sent + 50) * MS, 50 * MS));
        }
    }
    let measured = intervals.take_complete().expect("it is complete");
    assert!((measured.rate / 1_448_000.0 - 1.0).abs() < 1e-9, "{measured:?}");
    assert_eq!(measured.duration, 100 * MS);
}

#[test]
fn the_gradient_is_that_of_the_rtt_over_the_time_of_sending() {
    // §4.3: "Estimating the RTT gradient via linear regression."
    let mut intervals = intervals(Completion::After(1), 2);
    let mut sent = 0;
    while sent < 101 {
        // Sending 5 % above capacity adds 50 µs of queue per millisecond.
        intervals.on_ack(&ack(sent * MS + 50 * MS + sent * 50_000, 50 * MS + sent * 50_000));
        sent += 1;
    }
    let measured = intervals.take_complete().expect("it is complete");
    assert!((measured.rtt_gradient - 0.05).abs() < 1e-6, "{measured:?}");
    assert!((measured.mean_rtt - 0.052_475).abs() < 1e-6, "{measured:?}");
    assert!(measured.rtt_residual < 1e-6, "{measured:?}");
}

#[test]
fn at_the_edge_ten_packets_early_an_interval_is_complete_too() {
    let mut intervals = intervals(Completion::AtEdge, 2);
    for sent in 0..90 {
        intervals.on_ack(&ack((sent + 50) * MS, 50 * MS + sent * 1_000));
        assert_eq!(intervals.take_complete(), None, "{sent}");
    }
    // Sent at 90 ms, ten packets before the end.
    intervals.on_ack(&ack(140 * MS, 50 * MS));
    let measured = intervals.take_complete().expect("it is complete");
    // Packets after the tenth count.
    assert_eq!(measured.inner_delivered, 81);
    assert!((measured.inner_seconds - 0.081).abs() < 1e-9, "{measured:?}");
}

#[test]
fn where_all_intervals_are_in_flight_the_last_goes_on() {
    let mut intervals = intervals(Completion::After(1), MOST_INTERVALS as u64);
    assert!(!intervals.has_room());
    intervals.on_ack(&ack(50 * MS, 50 * MS));
    assert_eq!(intervals.due(), NEVER);
    intervals.on_ack(&ack(160 * MS, 50 * MS));
    assert!(intervals.take_complete().is_some() && intervals.has_room());
    assert_eq!(intervals.due(), MOST_INTERVALS as u64 * 100 * MS);
}
