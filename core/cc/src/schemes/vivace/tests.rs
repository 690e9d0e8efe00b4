use super::*;
use crate::testing::{Path, RTT, ack_of_one};

/// The three variants. The tests' path has 1,000 packets/s (12 Mbit/s), 100 ms and an infinite queue.
fn variants() -> [(&'static str, Vivace); 3] {
    let context = Context { seed: 1, ..Context::default() };
    let mut variants = [
        ("nsdi", Vivace::nsdi_2018(&context)),
        ("proteus", Vivace::proteus(&context)),
        ("kernel", Vivace::kernel(&context)),
    ];
    for (_, vivace) in &mut variants {
        vivace.on_start(0, RTT);
    }
    variants
}

#[test]
fn each_goes_to_the_rate_of_the_path_and_leaves_its_queue_nearly_empty() {
    for (name, mut vivace) in variants() {
        let mut path = Path::new(1_000.0);
        path.run(&mut vivace, 300 * RTT);
        let rates: Vec<f64> = (300..900)
            .map(|round| {
                path.run(&mut vivace, round * RTT);
                vivace.controller.rate() / f64::from(SEGMENT_BYTES)
            })
            .collect();
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        assert!((800.0..1_050.0).contains(&mean), "{name}: {mean} packets/s");
        let srtt = vivace.rtts.smoothed;
        assert!(srtt < RTT * 3 / 2, "{name}: {srtt}");
    }
}

#[test]
fn the_window_is_twice_what_the_rate_has_in_flight() {
    for (_, mut vivace) in variants() {
        let mut path = Path::new(1_000.0);
        path.run(&mut vivace, 100 * RTT);
        let in_flight =
            vivace.controller.rate() / f64::from(SEGMENT_BYTES) * vivace.rtts.smoothed as f64 / 1e9;
        assert!(vivace.window().abs_diff((2.0 * in_flight) as u32) <= 1, "{} {in_flight}", vivace.window());
    }
}

#[test]
fn a_connection_that_hears_nothing_begins_no_intervals() {
    for (name, mut vivace) in variants() {
        assert_eq!(vivace.next_timer(), crate::NEVER, "{name}");
        vivace.on_timer(50 * RTT);
        assert_eq!(vivace.intervals.next_id(), 1, "{name}");
    }
}

#[test]
fn intervals_of_the_user_space_sender_end_in_time_without_an_acknowledgement_at_that_instant() {
    let [(_, mut vivace), ..] = variants();
    let sent = |sent_at| Some(AtSending { sent_at, ..AtSending::default() });
    vivace.on_ack(&Ack { newest: sent(0), ..ack_of_one(RTT) });
    // The first interval is the 13 packets that fit into 100 ms at 1.6 Mbit/s; the first ACK ends it.
    assert_eq!(vivace.intervals.next_id(), 2);
    vivace.on_ack(&Ack { newest: sent(RTT / 2), ..ack_of_one(RTT + RTT / 2) });
    let due = vivace.next_timer();
    assert!(due.abs_diff(2 * RTT) < RTT / 10, "{due}");
    vivace.on_timer(due - 1);
    assert_eq!(vivace.intervals.next_id(), 2);
    vivace.on_timer(due);
    assert_eq!(vivace.intervals.next_id(), 3);
}

#[test]
fn the_kernel_measures_nothing_from_a_timeout_to_the_end_of_repair() {
    let [.., (_, mut vivace)] = variants();
    let mut path = Path::new(1_000.0);
    path.run(&mut vivace, 100 * RTT);
    let rate = vivace.controller.rate();
    vivace.on_congestion(Congestion::Timeout, path.now);
    let begun = vivace.intervals.next_id();
    let ack = |recovery, at| Ack { recovery, ..ack_of_one(at) };
    for step in 1..20 {
        vivace.on_ack(&ack(Recovery::Loss, path.now + step * RTT));
    }
    assert_eq!(vivace.intervals.next_id(), begun);
    assert!((vivace.controller.rate() / rate - 1.0).abs() < 0.11, "{rate}");
    vivace.on_ack(&ack(Recovery::Open, path.now + 20 * RTT));
    assert_eq!(vivace.intervals.next_id(), begun + 1);
}
