//! DualPI2 against RFC 9332.

use super::*;

fn low(id: u64) -> Probe {
    Probe { capable: true, low: true, ..probe(1, id, 1500) }
}

/// Neither the controller nor the step threshold acts.
fn still() -> DualPi2Settings {
    DualPi2Settings { update: 1 << 40, step: 1 << 40, ..DualPi2Settings::default() }
}

/// Keep both queues busy at a fixed probability; return the share of packets that L marked and C marked or dropped.
fn shares(settings: DualPi2Settings, probability: f64, classic: Probe) -> [f64; 2] {
    let mut queue = DualPi2::new(DualPi2Settings { classic_percent: 50, ..settings }, 1);
    let mut tally = Tally::default();
    let mut out = [0_u32; 2];
    let mut marked = [0_u32; 2];
    for round in 0..200_000 {
        queue.probability = probability;
        while queue.packets() < 20 {
            let before = queue.packets();
            put(&mut queue, low(round), 0, &mut tally);
            put(&mut queue, classic, 0, &mut tally);
            assert_eq!(queue.packets(), before + 2);
        }
        let next = queue.dequeue(0, &mut tally).expect("packets wait").packet;
        let index = usize::from(!next.low);
        out[index] += 1;
        marked[index] += u32::from(next.marked);
    }
    let dropped = tally.dropped as f64;
    let l = f64::from(marked[0]) / f64::from(out[0]);
    let c = (f64::from(marked[1]) + dropped) / (f64::from(out[1]) + dropped);
    [l, c]
}

#[test]
fn low_packets_are_marked_by_the_coupling_and_classic_ones_dropped_or_marked_by_the_square() {
    // RFC 9332 §2.1: "p_CL = k * p'" and "p_C = (p')^2".
    for (probability, coupling) in [(0.05, 2), (0.3, 2), (0.2, 4)] {
        let settings = DualPi2Settings { coupling, ..still() };
        for capable in [false, true] {
            let classic = Probe { capable, ..probe(0, 0, 1500) };
            let [l, c] = shares(settings, probability, classic);
            assert!((l / (f64::from(coupling) * probability) - 1.0).abs() < 0.03, "{l} {probability}");
            // Four standard deviations of the rarest event, 1 in 400 of 100,000, are a quarter.
            assert!((c / (probability * probability) - 1.0).abs() < 0.25, "{c} {probability}");
        }
    }
}

#[test]
fn on_overload_both_queues_drop_alike_unless_only_a_full_queue_may() {
    // RFC 9332 Appendix A.2: with p' = 0.7 and k = 2 the L queue would mark 1.4 times all packets.
    let overloaded = |drop_overload| {
        let mut queue = DualPi2::new(DualPi2Settings { drop_overload, classic_percent: 50, ..still() }, 1);
        let mut tally = Tally::default();
        let mut out = [0_u32; 2];
        for round in 0..20_000 {
            queue.probability = 0.7;
            put(&mut queue, low(round), 0, &mut tally);
            put(&mut queue, Probe { capable: true, ..probe(0, round, 1500) }, 0, &mut tally);
            if round < 10 {
                continue;
            }
            while queue.packets() > 20 {
                let next = queue.dequeue(0, &mut tally).expect("packets wait").packet;
                out[usize::from(!next.low)] += 1;
                assert!(!next.low || next.marked, "what L does not drop, it marks");
            }
        }
        out.map(|out| 1.0 - f64::from(out) / 20_000.0)
    };
    let [l, c] = overloaded(true);
    assert!((l - 0.49).abs() < 0.02 && (c - 0.49).abs() < 0.02, "{l} {c}");
    let [l, c] = overloaded(false);
    assert!(l < 0.01 && (c - 0.49).abs() < 0.02, "{l} {c}");
}

#[test]
fn the_step_marks_what_waited_longer_in_l_and_nothing_in_c() {
    // RFC 9332 Appendix A.1: the L queue's own AQM is a step at 1 ms.
    let settings = DualPi2Settings { update: 1 << 40, ..DualPi2Settings::default() };
    let mut queue = DualPi2::new(settings, 1);
    let mut tally = Tally::default();
    for id in 0..3 {
        put(&mut queue, low(id), 0, &mut tally);
    }
    put(&mut queue, Probe { capable: true, ..probe(0, 9, 1500) }, 0, &mut tally);
    let mut marked = |now| queue.dequeue(now, &mut tally).map(|next| (next.packet.id, next.packet.marked));
    assert_eq!(marked(MS), Some((0, false)));
    assert_eq!(marked(MS + 1), Some((1, true)));
    assert_eq!(marked(2 * MS), Some((2, true)));
    assert_eq!(marked(3 * MS), Some((9, false)));
    assert_eq!((tally.marked, tally.dropped), (2, 0));
}

#[test]
fn the_scheduler_gives_c_its_share_of_bytes_and_l_the_first_turn() {
    for percent in [10, 50, 90] {
        let settings = DualPi2Settings { classic_percent: percent, ..still() };
        let mut queue = DualPi2::new(settings, 1);
        let mut tally = Tally::default();
        let mut bytes = [0_u64; 2];
        for id in 0..20 {
            put(&mut queue, low(id), 0, &mut tally);
            put(&mut queue, probe(0, id, 300), 0, &mut tally);
        }
        for id in 0..20_000 {
            let next = queue.dequeue(1, &mut tally).expect("packets wait");
            bytes[usize::from(!next.packet.low)] += u64::from(next.bytes());
            assert!(id > 0 || next.packet.low == (percent <= 50), "{percent}");
            put(&mut queue, next.packet, 1, &mut tally);
        }
        let share = bytes[1] as f64 / (bytes[0] + bytes[1]) as f64;
        assert!((share - f64::from(percent) / 100.0).abs() < 0.005, "{percent}: {share}");
    }
}

#[test]
fn any_ect_sends_all_capable_packets_to_l() {
    for any_ect in [false, true] {
        let mut queue = DualPi2::new(DualPi2Settings { any_ect, ..still() }, 1);
        let mut tally = Tally::default();
        put(&mut queue, probe(0, 0, 1500), 0, &mut tally);
        put(&mut queue, Probe { capable: true, ..probe(0, 1, 1500) }, 0, &mut tally);
        let first = queue.dequeue(1, &mut tally).map(|next| next.packet.id);
        assert_eq!(first, Some(u64::from(any_ect)));
    }
}

#[test]
fn the_probability_follows_the_equation_of_the_rfc_at_each_update() {
    // RFC 9332 Appendix A.1: "p' = p' + alpha * (curq - target) + beta * (curq - prevq)", every 16 ms. A packet that
    // nobody takes gets 16 ms older with each update.
    let settings = DualPi2Settings { step: 1 << 40, ..DualPi2Settings::default() };
    let mut queue = DualPi2::new(settings, 1);
    let mut tally = Tally::default();
    put(&mut queue, probe(0, 0, 1500), 0, &mut tally);
    let (mut expected, mut before) = (0.0_f64, 0.0);
    for update in 1..=20_u32 {
        let delay = f64::from(update) * 0.016;
        let change = 41.0 / 256.0 * (delay - 0.015) + 819.0 / 256.0 * (delay - before);
        expected = (expected + change).clamp(0.0, 1.0);
        before = delay;
        put(&mut queue, probe(0, 1, 1500), Nanos::from(update) * 16 * MS, &mut tally);
        assert!((queue.probability - expected).abs() < 1e-12, "{} {expected}", queue.probability);
    }
    // Both queues empty: it falls to zero.
    while queue.dequeue(321 * MS, &mut tally).is_some() {}
    put(&mut queue, probe(0, 2, 1500), 60_000 * MS, &mut tally);
    assert!(queue.probability == 0.0, "{}", queue.probability);
}

#[test]
fn skipping_idle_intervals_changes_nothing() {
    let run = |gap: Nanos| {
        let mut queue = DualPi2::new(DualPi2Settings::default(), 1);
        let mut tally = Tally::default();
        let mut now = 0;
        let mut outcome = Vec::new();
        for id in 0..3_000 {
            put(&mut queue, low(id), now, &mut tally);
            put(&mut queue, probe(0, id, 1500), now, &mut tally);
            now += MS;
            outcome.extend(queue.dequeue(now, &mut tally).map(|next| (next.packet.id, next.packet.marked)));
        }
        while queue.dequeue(now, &mut tally).is_some() {}
        // An idle stretch of whole intervals, looked at once or at each of them.
        let until = now + 4_000 * 16 * MS;
        while now < until {
            now += gap;
            queue.dequeue(now, &mut tally);
        }
        put(&mut queue, low(0), now, &mut tally);
        (outcome, queue.probability.to_bits(), queue.next_update)
    };
    assert_eq!(run(16 * MS), run(4_000 * 16 * MS));
}
