use super::*;
use crate::testing::{self, CongestionControl, RTT, Windowed, round_at};

fn avoiding_at(window: u32, seed: u64) -> Windowed<Cdg> {
    let mut cdg = testing::avoiding_at(window, Cdg::new(&Context { seed, ..Context::default() }));
    cdg.scheme.shadow = window;
    cdg
}

#[test]
fn the_probability_of_a_backoff_follows_the_gradient() {
    // §III-B: P = 1 - exp(-g/G). A sum of 10 ms over the 8 rounds gives 1 - exp(-0.42) = 0.34.
    let backoffs = (0..2_000).filter(|&seed| avoiding_at(100, seed).scheme.backs_off(10_000)).count();
    assert!(backoffs.abs_diff(686) < 70, "{backoffs}");
}

#[test]
fn after_five_backoffs_without_effect_it_takes_others_for_the_cause() {
    // §III-C. A gradient of seconds makes each backoff almost certain.
    let mut cdg = avoiding_at(100, 1);
    let backoffs: Vec<bool> = (0..8).map(|_| cdg.scheme.backs_off(10_000_000)).collect();
    assert_eq!(backoffs, [true, true, true, true, true, false, false, false]);
    // Falling delay shows that the backoffs had an effect.
    cdg.scheme.rtt = Range { min: 100_000, max: 100_000 };
    cdg.scheme.previous = Range { min: 101_000, max: 101_000 };
    cdg.scheme.gradient();
    assert!(cdg.scheme.backs_off(10_000_000));
}

#[test]
fn growing_delay_brings_it_down_and_steady_delay_does_not() {
    let windows = |step: Nanos| {
        let mut cdg = avoiding_at(100, 1);
        let mut now = RTT;
        let mut lowest = u32::MAX;
        for round in 0..20 {
            now = round_at(&mut cdg, now, RTT + step * round);
            lowest = lowest.min(cdg.window());
        }
        lowest
    };
    assert!(windows(0) >= 100);
    assert!(windows(5_000_000) < 80);
}

#[test]
fn a_backoff_takes_a_round_trip_and_sends_seven_packets_for_ten_delivered() {
    // RFC 6937 §3: sndcnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out
    let mut backing_off = BackingOff { until: 100, from: 100, sent: 1_000, delivered: 0 };
    let mut ack = Ack { delivered: 1, acked: 1, in_flight: 100, total_sent: 1_000, ..Ack::default() };
    for delivered in 1..=100_u64 {
        ack.in_flight -= 1;
        let window = backing_off.window(&ack, 70);
        let sends = window - ack.in_flight;
        ack.total_sent += u64::from(sends);
        ack.in_flight += sends;
        let sent = ack.total_sent - 1_000;
        assert!(sent.abs_diff(delivered * 7 / 10) <= 1, "{sent} sent for {delivered}");
    }
    assert_eq!(ack.in_flight, 70);
}

#[test]
fn a_loss_during_a_backoff_asks_for_nothing_more() {
    let mut cdg = avoiding_at(100, 1);
    cdg.window.reduce(70, Congestion::Ecn);
    cdg.scheme.backing_off = Some(BackingOff { until: 100, from: 100, sent: 0, delivered: 0 });
    cdg.on_congestion(Congestion::Loss, 0);
    assert_eq!((cdg.window(), cdg.slow_start_threshold()), (70, 70));
}

#[test]
fn after_a_backoff_a_loss_costs_less_than_half() {
    let mut cdg = avoiding_at(100, 1);
    cdg.scheme.shadow = 160;
    cdg.on_congestion(Congestion::Loss, 0);
    assert_eq!(cdg.window(), 80);
}
