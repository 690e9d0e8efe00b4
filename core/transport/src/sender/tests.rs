//! Limits by the window (RFC 7661, Linux's tcp_is_cwnd_limited), and pausing applications.

use leo_cc::{Congestion, Context, External};

use super::*;
use crate::{AckToSend, Receiver, SEGMENT_BYTES, SackBlocks};

const MS: Nanos = 1_000_000;

fn external(window: u32, rate: u64) -> Sender {
    let mut external = External::new();
    external.command(window, rate);
    Sender::new(Scheme::external(external), false)
}

fn send_all(sender: &mut Sender, now: Nanos) -> usize {
    std::iter::from_fn(|| sender.transmit(now)).count()
}

#[test]
fn a_sender_that_fills_its_window_is_limited_by_it() {
    let mut sender = external(20, 0);
    assert_eq!(send_all(&mut sender, 0), 20);
    assert!(sender.is_window_limited());
}

#[test]
fn a_sender_that_its_pacing_holds_back_is_not() {
    // 1,448 kB/s is a packet per ms, in bursts of two. Linux leaves the first eight packets unpaced.
    let mut sender = external(1_000, 1_448_000);
    assert_eq!(send_all(&mut sender, 0), 10);
    let sent: usize = (1..50).map(|ms| send_all(&mut sender, ms * MS)).sum();
    assert!((47..=50).contains(&sent), "{sent}");
    assert!(!sender.is_window_limited());
    // Now the window limits it.
    sender.scheme_mut().change_external(|external| external.command(40, 1_448_000));
    assert_eq!(send_all(&mut sender, 60 * MS), 0);
    assert!(sender.is_window_limited());
}

#[test]
fn a_sender_that_gathers_a_burst_is_limited_by_its_window() {
    // Linux: the window limits a sender that tcp_tso_should_defer holds back.
    let mut sender = external(417, 0);
    let mut receiver = Receiver::new();
    assert_eq!(send_all(&mut sender, 0), 417);
    for seq in 0..3 {
        let ack = receiver.on_data(25 * MS, seq, 0, 0).expect("the first packets are acknowledged at once");
        sender.on_ack(50 * MS + seq * 100_000, &ack);
        let sent = send_all(&mut sender, 50 * MS + seq * 100_000);
        // The first packet follows a silence and leaves alone; the others wait for a full burst.
        assert_eq!(sent, usize::from(seq == 0), "after acknowledgement {seq}");
        assert!(sender.is_window_limited());
    }
}

#[test]
fn a_paced_sender_that_its_window_limits_gathers_bursts_too() {
    // 12.5 MB/s gives bursts of eight.
    let mut sender = external(40, 12_500_000);
    let mut receiver = Receiver::new();
    let sent: usize = (0..10).map(|ms| send_all(&mut sender, ms * MS)).sum();
    assert_eq!(sent, 40);
    for seq in 0..3 {
        let now = 50 * MS + seq * 200_000;
        let ack = receiver.on_data(25 * MS, seq, 0, 0).expect("the first packets are acknowledged at once");
        sender.on_ack(now, &ack);
        // The first packet follows a silence and leaves alone.
        assert_eq!(send_all(&mut sender, now), usize::from(seq == 0), "after acknowledgement {seq}");
    }
}

#[test]
fn no_burst_is_more_than_half_the_window() {
    // Linux's tcp_cwnd_test. At 125 MB/s a burst would be 45 packets; the next 20 wait for 232 us.
    let mut sender = external(40, 125_000_000);
    assert_eq!(send_all(&mut sender, 0), 20);
    assert_eq!(send_all(&mut sender, 231_000), 0);
    assert_eq!(send_all(&mut sender, 232_000), 20);
}

/// Deliver everything in flight in order, 50 ms after `sent_at`, and return that time.
fn acknowledge_all(sender: &mut Sender, receiver: &mut Receiver, sent_at: Nanos) -> Nanos {
    for seq in sender.board.una()..sender.board.next() {
        if let Some(ack) = receiver.on_data(sent_at, seq, sent_at, 0) {
            sender.on_ack(sent_at + 50 * MS, &ack);
        }
    }
    if let Some(ack) = receiver.on_timer(NEVER) {
        sender.on_ack(sent_at + 50 * MS, &ack);
    }
    sent_at + 50 * MS
}

#[test]
fn a_scheme_hears_of_silence_that_the_application_brings_about() {
    // RFC 9438 §5.8, Linux's CA_EVENT_TX_START: CUBIC's epoch shifts by the silence.
    let cubic = Scheme::by_name("cubic", &Context::default()).expect("it is a scheme");
    let mut sender = Sender::new(cubic, false).with_application();
    let mut receiver = Receiver::new();
    sender.start(0);
    let mut now = 0;
    for round in 0..2 {
        sender.write(now, [200, 1_000][round]);
        send_all(&mut sender, now);
        if round == 1 {
            // An epoch runs from here on.
            sender.scheme.on_congestion(Congestion::Loss, now);
        }
        while sender.board.next() < sender.supply.written() {
            now = acknowledge_all(&mut sender, &mut receiver, now);
            send_all(&mut sender, now);
        }
        now = acknowledge_all(&mut sender, &mut receiver, now);
        assert_eq!(send_all(&mut sender, now), 0);
    }
    let (before, window) = (format!("{:?}", sender.scheme), sender.window());
    // 100 ms are less than the timeout, so the window stays.
    sender.write(now + 100 * MS, 1);
    assert_eq!((format!("{:?}", sender.scheme), sender.window()), (before.clone(), window));
    assert_eq!(send_all(&mut sender, now + 100 * MS), 1);
    assert_ne!(format!("{:?}", sender.scheme), before);
    // Packets in flight mean that there is no silence.
    let before = format!("{:?}", sender.scheme);
    sender.write(now + 100 * MS, 1);
    assert_eq!(send_all(&mut sender, now + 120 * MS), 1);
    assert_eq!(format!("{:?}", sender.scheme), before);
}

#[test]
fn a_window_of_which_an_application_uses_little_stays_while_acknowledgements_come() {
    // Seen on Linux 6.1 and 6.18: an application that writes a packet every few ms keeps a large window.
    let reno = Scheme::by_name("reno", &Context::default()).expect("it is a scheme");
    let mut sender = Sender::new(reno, false).with_application();
    let mut receiver = Receiver::new();
    sender.start(0);
    let mut now = 0;
    sender.write(now, 300);
    while sender.board.una() < 300 {
        send_all(&mut sender, now);
        now = acknowledge_all(&mut sender, &mut receiver, now);
    }
    let window = sender.window();
    assert!(window > 100, "{window}");
    for _ in 0..40 {
        sender.write(now, 1);
        assert_eq!(send_all(&mut sender, now), 1);
        now = acknowledge_all(&mut sender, &mut receiver, now);
    }
    assert!(now > 5 * sender.timeout());
    assert_eq!(sender.window(), window);
}

#[test]
fn packets_sent_around_a_pause_of_the_application_give_marked_samples() {
    // draft-cheng-iccrg-delivery-rate-estimation §3.4: marks end one packet after the packets in flight.
    let mut sender = external(20, 0).with_application();
    let mut receiver = Receiver::new();
    let mut marks = |sender: &mut Sender, now: Nanos, packets: u64| {
        sender.write(now, packets);
        send_all(sender, now);
        let board = &sender.board;
        let marks: Vec<bool> =
            (board.una()..board.next()).map(|seq| board.get(seq).state.app_limited).collect();
        acknowledge_all(sender, &mut receiver, now);
        send_all(sender, now + 50 * MS);
        marks
    };
    // The first packets leave before the sender runs dry.
    assert_eq!(marks(&mut sender, 0, 3), [false; 3]);
    assert_eq!(marks(&mut sender, 100 * MS, 3), [true; 3]);
    // 20 packets fill the window: the sender does not run dry, and packets after the bubble are unmarked.
    assert_eq!(marks(&mut sender, 200 * MS, 60), [true; 20]);
    let late_marks = marks(&mut sender, 250 * MS, 0);
    assert!(!late_marks.is_empty() && late_marks.iter().all(|mark| !mark), "{late_marks:?}");
}

/// Run Reno with ten packets, the first of which is lost once. Packets sent at 0 arrive after 25 ms, the
/// repair later. Returns the sender after the ACK that ends recovery, and that ACK's RTT.
fn repaired(repair_takes: Nanos) -> (Sender, Option<Nanos>) {
    let mut sender = Sender::new(Scheme::by_name("reno", &Context::default()).expect("it is known"), false);
    let mut receiver = Receiver::new();
    sender.start(0);
    assert_eq!(send_all(&mut sender, 0), 10);
    let acks: Vec<_> = (1..10).filter_map(|seq| receiver.on_data(25 * MS, seq, 0, 0)).collect();
    for ack in acks.iter().chain(receiver.on_timer(NEVER).iter()) {
        sender.on_ack(50 * MS, ack);
    }
    let repair = std::iter::from_fn(|| sender.transmit(50 * MS)).find(|sent| sent.retransmission);
    assert_eq!(repair.expect("the first is repaired").seq, 0);
    let end = 50 * MS + repair_takes;
    let ack =
        receiver.on_data(end - 25 * MS, 0, 50 * MS, 0).expect("what fills a hole is acknowledged at once");
    assert_eq!(ack.cumulative, 10);
    let rtt = sender.on_ack(end, &ack);
    (sender, rtt)
}

#[test]
fn packets_sacked_before_a_repair_do_not_grow_the_window_at_its_ack() {
    // Linux's tcp_newly_delivered: nine of the ten packets were SACKed before.
    let (sender, _) = repaired(50 * MS);
    assert!(matches!(sender.state, State::Open));
    assert_eq!(sender.scheme().window(), 5);
}

#[test]
fn a_packet_sent_twice_gives_the_rtt_of_the_echo_in_whole_milliseconds() {
    // RFC 7323 §4.1; Linux's timestamp clock ticks in milliseconds.
    let (sender, rtt) = repaired(43 * MS + 900_000);
    assert_eq!(sender.rtt.min(), 43 * MS);
    assert_eq!(rtt, Some(43 * MS + 900_000));
}

#[test]
fn rates_of_what_a_scheme_holds_back_are_marked() {
    // draft-ietf-ccwg-bbr §5.3.4.5: ProbeRTT calls MarkConnectionAppLimited. RTTs: 50 ms, then 51 or more.
    let mut sender = Sender::new(Scheme::by_name("bbr", &Context::default()).expect("it is known"), false);
    let mut receiver = Receiver::new();
    sender.start(0);
    let mut now = 0;
    while !sender.scheme().holds_back() {
        send_all(&mut sender, now);
        assert!(!sender.delivery.is_app_limited(), "{now}");
        now = acknowledge_all(&mut sender, &mut receiver, now) + MS;
        assert!(now < 20_000 * MS, "ten seconds without a smaller RTT are enough");
    }
    assert!(sender.delivery.is_app_limited());
}

#[test]
fn an_acknowledgement_of_several_packets_tells_the_rtt_of_the_first_and_schemes_that_of_the_last() {
    // Linux's seq_rtt_us and ca_rtt_us.
    let mut sender = external(20, 0);
    for at in [0, 3 * MS] {
        assert!(sender.transmit(at).is_some());
    }
    let ack = AckToSend { cumulative: 2, sacks: SackBlocks::default(), echo: 0, left_ms: 0, marked: false };
    assert_eq!(sender.on_ack(53 * MS, &ack), Some(53 * MS));
    assert_eq!((sender.rtt().smoothed(), sender.rtt().min()), (53 * MS, 50 * MS));
}

#[test]
fn the_last_packet_of_a_burst_of_several_pushes_and_the_last_that_is_written() {
    // Linux's __tcp_transmit_skb and tcp_push. A packet per ms leaves in bursts of two.
    let pushes = |sender: &mut Sender, now| -> Vec<bool> {
        std::iter::from_fn(|| sender.transmit(now)).map(|sent| sent.pushes).collect()
    };
    let mut paced = external(1_000, 1_448_000);
    send_all(&mut paced, 0);
    let later: Vec<bool> = (1..10).flat_map(|ms| pushes(&mut paced, ms * MS)).collect();
    assert!(later.chunks_exact(2).all(|pair| pair == [false, true]), "{later:?}");
    // No burst exceeds half the window: each packet leaves alone.
    assert_eq!(pushes(&mut external(2, 0), 0), [false, false]);
    let mut transfer = external(2, 0).with_transfer(2 * u64::from(SEGMENT_BYTES));
    assert_eq!(pushes(&mut transfer, 0), [false, true]);
}
