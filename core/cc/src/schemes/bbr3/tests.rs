use super::*;
use crate::SECOND;
use crate::testing::{Path, RTT};

/// A path of 1,000 packets/s and 100 ms, a BDP of 100 packets.
fn started() -> (Path, Bbr3) {
    let mut bbr = Bbr3::new(&Context::default());
    bbr.on_start(0, RTT);
    (Path::new(1_000.0), bbr)
}

/// Like [`started`], but run until BBR enters `state`.
fn in_state(state: State) -> (Path, Bbr3) {
    let (mut path, mut bbr) = started();
    while bbr.state != state {
        path.run(&mut bbr, path.now + MILLISECOND);
        assert!(path.now < 20 * SECOND, "it never is in {state:?}");
    }
    (path, bbr)
}

/// End a round with an ACK; `in_flight` packets are in flight now and were when the acknowledged packet was sent.
fn round(bbr: &mut Bbr3, now: Nanos, in_flight: u32, recovery: Recovery) {
    let delivered = bbr.next_round.max(bbr.total_delivered);
    bbr.on_ack(&Ack {
        now,
        in_flight,
        recovery,
        total_delivered: delivered + 50,
        total_lost: bbr.total_lost,
        newest: Some(AtSending { delivered, lost: bbr.total_lost, in_flight, ..AtSending::default() }),
        ..crate::testing::ack_of_one(now)
    });
}

/// Lose the first `count` of 100 packets in flight.
fn lose(bbr: &mut Bbr3, now: Nanos, count: u32) {
    let packet = AtSending { lost: bbr.total_lost, in_flight: 100, ..AtSending::default() };
    for _ in 0..count {
        bbr.on_packet_lost(now, &packet);
    }
}

#[test]
fn three_quanta_are_the_least_in_flight_and_do_not_add_to_it() {
    // QuantizationBudget: "inflight_cap = max(inflight_cap, BBR.offload_budget)"; 12.5 MB/s carry 8 packets in 2^-10 s.
    let mut bbr = Bbr3::new(&Context::default());
    bbr.pacing_rate = 12.5e6;
    assert_eq!([10, 24, 400].map(|window| bbr.with_budget(window)), [24, 24, 400]);
    bbr.state = State::Up;
    assert_eq!(bbr.with_budget(400), 402);
    // SetSendQuantum: a quantum is at least two packets and at most 64 KB.
    bbr.state = State::Cruise;
    for (rate, budget) in [(1e10, 135), (1e5, 6)] {
        bbr.pacing_rate = rate;
        assert_eq!(bbr.with_budget(1), budget);
    }
}

#[test]
fn drain_ends_after_three_rounds_whatever_is_in_flight() {
    // CheckDrainDone: "BBR.round_count > BBR.drain_start_round + 3"
    let (path, mut bbr) = in_state(State::Drain);
    let states: Vec<State> = (1..=4)
        .map(|number| {
            round(&mut bbr, path.now + number * RTT, 1_000, Recovery::Open);
            bbr.state
        })
        .collect();
    assert_eq!(states, [State::Drain, State::Drain, State::Drain, State::Down]);
}

#[test]
fn losses_that_end_startup_bound_the_flight_by_what_was_delivered_and_not_by_what_is_left() {
    // CheckStartupHighLoss: "it sets BBR.inflight_longterm to … max(BBR.bdp, BBR.inflight_latest)"
    let (mut path, mut bbr) = in_state(State::Startup);
    path.run(&mut bbr, 2 * RTT);
    bbr.max_bandwidth = WindowedMax::above(300.0);
    bbr.bounds.delivered_latest = 0;
    let before = bbr.total_delivered;
    for number in 1..=8 {
        let now = path.now + number * RTT / 10;
        lose(&mut bbr, now, 1);
        // The last ACK ends the round, which delivered 45 packets; the BDP is 30.
        let (sent_after, total_delivered) =
            if number == 8 { (before, before + 45) } else { (before - 1, before) };
        bbr.on_ack(&Ack {
            now,
            lost: 1,
            in_flight: 1_000,
            recovery: Recovery::Recovery,
            total_delivered,
            newest: Some(AtSending { delivered: sent_after, ..AtSending::default() }),
            ..crate::testing::ack_of_one(now)
        });
    }
    assert_ne!(bbr.state, State::Startup);
    assert_eq!(bbr.bounds.long_term, 45);
    // The losses were spurious.
    bbr.on_undo(path.now + RTT);
    assert_eq!((bbr.state, bbr.full.reached, bbr.bounds.long_term), (State::Startup, false, INFINITE));
}

#[test]
fn a_timeout_leaves_what_is_in_flight_and_one_packet() {
    // OnEnterRTO: "C.cwnd = C.inflight + 1"
    let (path, mut bbr) = in_state(State::Cruise);
    let before = bbr.window();
    bbr.on_congestion(Congestion::Timeout, path.now);
    bbr.on_timeout(1);
    assert_eq!(bbr.window(), 2);
    // RestoreCwnd: the end of recovery restores the window.
    round(&mut bbr, path.now + RTT, 1, Recovery::Loss);
    round(&mut bbr, path.now + 2 * RTT, 1, Recovery::Open);
    assert!(bbr.window() >= before.min(bbr.bounds.with_headroom()) - 1, "{} of {before}", bbr.window());
}

#[test]
fn losses_end_a_probe_which_begins_again_where_they_were_none() {
    // HandleInflightTooHigh and HandleSpuriousLossDetection.
    let (path, mut bbr) = in_state(State::Up);
    bbr.bounds.long_term = 500;
    lose(&mut bbr, path.now, 5);
    bbr.on_congestion(Congestion::Loss, path.now);
    assert_eq!(bbr.state, State::Down);
    let lowered = bbr.bounds.long_term;
    assert!(lowered <= 150, "{lowered}");
    let mut recovered = bbr.clone();
    bbr.on_undo(path.now + MILLISECOND);
    assert_eq!((bbr.state, bbr.bounds.long_term), (State::Refill, 500));
    // Losses that later ACKs reveal belong to the same recovery.
    let mut longer = recovered.clone();
    round(&mut longer, path.now + MILLISECOND, 95, Recovery::Recovery);
    lose(&mut longer, path.now + 2 * MILLISECOND, 5);
    longer.on_undo(path.now + 3 * MILLISECOND);
    assert_eq!((longer.state, longer.bounds.long_term), (State::Refill, 500));
    // Recovery that ends without an undo keeps the lower bound.
    round(&mut recovered, path.now + RTT, 50, Recovery::Recovery);
    round(&mut recovered, path.now + 2 * RTT, 50, Recovery::Open);
    assert_eq!(recovered.bounds.long_term, lowered);
}

#[test]
fn a_spurious_loss_while_cruising_gives_the_short_term_model_back() {
    let (path, mut bbr) = in_state(State::Cruise);
    lose(&mut bbr, path.now, 1);
    bbr.on_congestion(Congestion::Loss, path.now);
    let bandwidth = bbr.max_bandwidth.get();
    for number in 1..=2 {
        round(&mut bbr, path.now + number * RTT, 50, Recovery::Recovery);
    }
    assert!(bbr.bandwidth() < 0.75 * bandwidth, "{} of {bandwidth}", bbr.bandwidth());
    bbr.on_undo(path.now + 3 * RTT);
    assert!(bbr.bandwidth() >= bandwidth && bbr.bounds.short_term == INFINITE, "{}", bbr.bandwidth());
}

#[test]
fn a_probe_after_one_that_went_too_high_stops_where_that_did_and_goes_on_a_round_later() {
    // "Precautionary Bandwidth Probing"
    let (path, mut bbr) = in_state(State::Up);
    bbr.probe_too_high = true;
    bbr.bounds.long_term = 120;
    round(&mut bbr, path.now + MILLISECOND, 120, Recovery::Open);
    assert_eq!((bbr.state, bbr.probe_too_high), (State::Down, false));
    round(&mut bbr, path.now + RTT, 110, Recovery::Open);
    assert_eq!(bbr.state, State::Refill);
}

#[test]
fn a_mark_is_answered_in_every_phase() {
    // Section ECN: "the congestion controller response MUST treat any CE marks as congestion".
    let marked = |state: State| {
        let (path, mut bbr) = in_state(state);
        bbr.on_congestion(Congestion::Ecn, path.now);
        (path, bbr)
    };
    let (path, mut bbr) = marked(State::Startup);
    round(&mut bbr, path.now + RTT, 10_000, Recovery::Cwr);
    assert_eq!(bbr.state, State::Drain);
    let (_, bbr) = marked(State::Up);
    assert_eq!(bbr.state, State::Down);
    assert_ne!(bbr.bounds.long_term, INFINITE);
    let (path, mut bbr) = marked(State::Cruise);
    let bandwidth = bbr.max_bandwidth.get();
    for number in 1..=2 {
        round(&mut bbr, path.now + number * RTT, 50, Recovery::Cwr);
    }
    assert!(bbr.bandwidth() < 0.75 * bandwidth, "{} of {bandwidth}", bbr.bandwidth());
}
