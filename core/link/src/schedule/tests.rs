//! Compares the packet path's cursor with fresh look-ups.

use proptest::prelude::*;

use super::*;
use crate::{OneWay, Row};

fn trace(parts: &[(Nanos, bool)]) -> Arc<PathTrace> {
    let mut period_ns = 0;
    let mut rows = Vec::new();
    for (&(duration, connected), id) in parts.iter().zip(1..) {
        let up = OneWay { delay_ns: id, rate_bps: id * 1_000_000_000, loss: 0.0, connected };
        rows.push(Row { down: OneWay { rate_bps: id, ..up }, ..Row::alike(period_ns, up) });
        period_ns += duration;
    }
    Arc::new(PathTrace { rows, period_ns, ..PathTrace::default() })
}

fn connected(parts: &[(Nanos, bool)], offset: Nanos, at: Nanos) -> bool {
    let period: Nanos = parts.iter().map(|part| part.0).sum();
    let mut phase = (at + offset) % period;
    for &(duration, connected) in parts {
        if phase < duration {
            return connected;
        }
        phase -= duration;
    }
    unreachable!("the remainder is within the period")
}

proptest! {
    #[test]
    fn the_cursor_finds_what_a_look_up_finds(
        parts in prop::collection::vec((1_u64..50, any::<bool>()), 1..6),
        offset in 0_u64..500,
        steps in prop::collection::vec(0_u64..120, 1..40),
    ) {
        let mut schedule = Schedule::traced(trace(&parts), Direction::Uplink, None, offset);
        let fresh = schedule.clone();
        let mut now = 0;
        for step in steps {
            now += step;
            let span = *schedule.seek(now);
            prop_assert_eq!(span, fresh.at(now));
            prop_assert_eq!(span, schedule.at(now));
            prop_assert_eq!(schedule.at(now / 2), fresh.at(now / 2));
            prop_assert!(span.end > now);
            for inside in now..span.end {
                prop_assert_eq!(schedule.at(inside), span);
            }
            prop_assert_ne!((schedule.at(span.end).end, span.delay), (span.end, span.delay));
            prop_assert_eq!(span.connected, connected(&parts, offset, now));
        }
    }

    #[test]
    fn an_outage_takes_what_is_on_its_way_at_the_instant_at_which_the_link_goes_down(
        parts in prop::collection::vec((1_u64..20, any::<bool>()), 1..6)
            .prop_filter("goes up and down", |parts| parts.iter().any(|part| part.1) && parts.iter().any(|part| !part.1)),
        offset in 0_u64..200,
        steps in prop::collection::vec((0_u64..40, 0_u64..60), 1..40),
    ) {
        let mut schedule = Schedule::traced(trace(&parts), Direction::Uplink, None, offset);
        let mut now = 1;
        for (step, flight) in steps {
            now += step;
            let goes_down = |at: &Nanos| !connected(&parts, offset, *at) && connected(&parts, offset, *at - 1);
            let expected = (now..now + flight).find(goes_down);
            prop_assert_eq!(schedule.disruption(now, now + flight).map(|(at, _)| at), expected);
        }
    }

    #[test]
    fn capacity_is_the_integral_of_the_rate_while_connected(
        parts in prop::collection::vec((1_u64..20, any::<bool>()), 1..6),
        offset in 0_u64..200,
        from in 0_u64..100,
        length in 0_u64..200,
    ) {
        let schedule = Schedule::traced(trace(&parts), Direction::Uplink, None, offset);
        let expected: u64 = (from..from + length)
            .filter(|&at| connected(&parts, offset, at))
            // Rates are whole Gbit/s: 1 Gbit/s is a bit per nanosecond.
            .map(|at| schedule.at(at).rate_bps / 1_000_000_000)
            .sum();
        let bits = schedule.capacity_bits(from, from + length);
        prop_assert!((bits - expected as f64).abs() < 1e-6, "{bits} for {expected}");
        let up = (from..from + length).all(|at| connected(&parts, offset, at));
        prop_assert_eq!(schedule.stays_connected(from, from + length), up);
    }
}

#[test]
fn the_scenarios_rate_replaces_the_traces() {
    let trace = trace(&[(5, true), (5, true)]);
    let rates = |direction, rate| {
        let schedule = Schedule::traced(trace.clone(), direction, rate, 5);
        (schedule.at(0).rate_bps, schedule.at(5).rate_bps)
    };
    assert_eq!(rates(Direction::Uplink, None), (2_000_000_000, 1_000_000_000));
    assert_eq!(rates(Direction::Downlink, None), (2, 1));
    assert_eq!(rates(Direction::Downlink, Some(7)), (7, 7));
    assert_eq!(rates(Direction::Downlink, Some(UNLIMITED)), (UNLIMITED, UNLIMITED));
}

#[test]
fn an_uncongested_link_has_capacity_without_bound() {
    assert_eq!(Schedule::constant(1, UNLIMITED).capacity_bits(0, 10), f64::INFINITY);
}

#[test]
fn a_link_that_sends_in_frames_has_their_mean_rate_and_another_none() {
    const MS: Nanos = 1_000_000;
    let row = |time_ns, mbps: u64, connected| {
        Row::alike(time_ns, OneWay { delay_ns: 0, rate_bps: mbps * 1_000_000, loss: 0.0, connected })
    };
    // A 3 ms frame after 9 ms of silence (in two rows), then a gap of 60 ms, then frames again.
    let rows = vec![
        row(0, 0, true),
        row(4 * MS, 0, true),
        row(9 * MS, 200, true),
        row(12 * MS, 0, true),
        row(50 * MS, 0, true),
        row(72 * MS, 200, true),
        row(75 * MS, 0, true),
        row(84 * MS, 200, true),
    ];
    let trace = Arc::new(PathTrace { rows, period_ns: 87 * MS, ..PathTrace::default() });
    let schedule = Schedule::traced(trace, Direction::Uplink, None, 0);
    let rate = |from, to| schedule.framed_rate_bps(from * MS, to * MS, 20 * MS);
    assert_eq!(rate(0, 12), Some(50_000_000));
    // The gap does not count: 9 ms of frames in 27 ms.
    assert_eq!(rate(0, 87), Some(66_666_666));
    assert_eq!(rate(9, 12), None);
    assert_eq!(Schedule::constant(0, 1_000).framed_rate_bps(0, 1_000 * MS, 20 * MS), None);
}

proptest! {
    #[test]
    fn what_a_schedule_could_carry_is_what_it_carries_instant_by_instant(
        parts in prop::collection::vec((1_u64..50, any::<bool>()), 1..6),
        offset in 0_u64..500,
        from in 0_u64..300,
        length in 0_u64..300,
    ) {
        let schedule = Schedule::traced(trace(&parts), Direction::Uplink, None, offset);
        let carried = (from..from + length).map(|at| schedule.at(at)).filter(|span| span.connected);
        let bits = carried.map(|span| span.rate_bps as f64 * 1e-9).sum::<f64>();
        prop_assert!((schedule.capacity_bits(from, from + length) - bits).abs() < 1e-6);
    }
}
