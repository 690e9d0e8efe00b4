//! ECN marks instead of losses (RFC 3168), answered as in Linux.

use crate::pipe::{MS, Pipe, Sent};
use leo_cc::{CongestionControl, Context, Scheme};
use leo_transport::{Nanos, Receiver, Sender};
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

const ONE_WAY: Nanos = 25 * MS;
const RTT: Nanos = 2 * ONE_WAY;

fn scheme(name: &str) -> Scheme {
    Scheme::by_name(name, &Context::default()).expect("it is a scheme")
}

fn marking(name: &str, marks: impl FnMut(Sent) -> bool + 'static) -> Pipe {
    let mut pipe = Pipe::new(scheme(name), |_| vec![ONE_WAY], |_| vec![ONE_WAY]);
    pipe.serialisation = MS;
    pipe.marks = Box::new(marks);
    pipe
}

#[test]
fn all_marks_of_a_window_bring_one_reduction_and_one_report_of_it() {
    // RFC 3168 §6.1.2: "TCP should not react to congestion indications more than once every window of data".
    let mut pipe = marking("reno", |sent| (300..320).contains(&sent.seq));
    let before = pipe.run_to_reduction();
    assert_eq!(pipe.sender.scheme().window(), before / 2);
    pipe.run(pipe.now + 2_000 * MS);
    assert_eq!(pipe.reported.len(), 1, "{:?}", pipe.reported);
    let stats = pipe.sender.stats();
    assert_eq!((stats.lost, stats.retransmitted, stats.timeouts), (0, 0, 0));
}

#[test]
fn marks_that_follow_the_report_bring_another_reduction() {
    let mut pipe = marking("reno", |sent| sent.seq >= 300);
    pipe.run(10_000 * MS);
    // Windows take a second or more while the first window's queue drains, then a round trip of 50 ms each.
    assert!(pipe.reported.len() > 20, "{}", pipe.reported.len());
    assert!(pipe.reported.windows(2).all(|pair| pair[1].at - pair[0].at >= RTT));
    assert!(pipe.sender.window() <= 3, "{}", pipe.sender.window());
}

#[test]
fn the_reduction_spreads_over_a_round_trip_as_with_loss() {
    // Linux uses PRR in CA_CWR: every second delivery lets a packet out.
    let mut pipe = marking("reno", |sent| sent.seq == 300);
    pipe.run_while(MS, |pipe| pipe.reported.is_empty());
    let (begin, window) = (pipe.now, pipe.sender.packets_out());
    let round = MS * Nanos::from(window);
    pipe.run(begin + round);
    let half = |from: Nanos, to: Nanos| {
        pipe.sent.iter().filter(|sent| (begin + from..begin + to).contains(&sent.at)).count() as f64
    };
    let (first, second) = (half(0, round / 2), half(round / 2, round));
    let expected = f64::from(window) / 4.0;
    assert!(
        (first / expected - 1.0).abs() < 0.15 && (second / expected - 1.0).abs() < 0.15,
        "{first}, {second}"
    );
}

#[test]
fn renos_window_follows_the_square_root_of_the_marks() {
    // RFC 3168 §6.1.2: the response "MUST be essentially the same as … to a *single* dropped packet"; RFC
    // 3155 and Mathis' law: W = sqrt(3 / 2p), 38.7 packets at 1/1000.
    let mut random = Pcg64Mcg::seed_from_u64(3);
    let mut pipe = Pipe::new(scheme("reno"), |_| vec![ONE_WAY], |_| vec![ONE_WAY]);
    pipe.marks = Box::new(move |_| random.next_u64() < u64::MAX / 1_000);
    pipe.run(600_000 * MS);
    let window = pipe.sent.len() as f64 * RTT as f64 / pipe.now as f64;
    assert!((window / 38.7 - 1.0).abs() < 0.15, "{window}");
    assert_eq!(pipe.sender.stats().lost, 0);
}

#[test]
fn what_a_mark_took_is_not_given_back() {
    // Linux: a mark forbids undoing. One packet is marked; another is so late that it is sent again.
    let late = |sent: Sent| vec![if sent.seq == 905 { ONE_WAY + 60 * MS } else { ONE_WAY }];
    let outcome = |mark: bool| {
        let mut pipe = Pipe::new(scheme("reno"), late, |_| vec![ONE_WAY]);
        pipe.serialisation = MS;
        pipe.marks = Box::new(move |sent| mark && sent.seq == 900);
        pipe.run_while(MS, |pipe| pipe.sender.stats().lost == 0);
        let before = pipe.now;
        pipe.run(before + 300 * MS);
        (pipe.sender.scheme().slow_start_threshold(), pipe.sender.stats().undone)
    };
    assert_eq!(outcome(false), (u32::MAX, 1));
    let (threshold, undone) = outcome(true);
    assert!(threshold < 1_000 && undone == 0, "{threshold}, {undone}");
}

#[test]
fn the_receiver_repeats_a_mark_until_the_sender_says_that_it_has_answered() {
    let mut receiver = Receiver::new();
    let mut marked = |seq, answered, marked| {
        if answered || marked {
            receiver.on_ecn(answered, marked);
        }
        receiver.on_data(0, seq, 0, 0).map(|ack| ack.marked)
    };
    for seq in 0..16 {
        assert_eq!(marked(seq, false, false), Some(false));
    }
    // RFC 3168 §6.1.3. Linux does not delay the next two ACKs.
    assert_eq!(marked(16, false, true), Some(true));
    assert_eq!(marked(17, false, false), Some(true));
    assert_eq!(marked(18, false, false), None);
    assert_eq!(marked(19, false, false), Some(true));
    assert_eq!(marked(20, true, false), Some(false));
    assert_eq!(marked(21, false, false), None);
    assert_eq!(marked(22, true, true), Some(true), "a packet that answers may itself be marked");
}

#[test]
fn a_loss_while_a_mark_is_answered_is_repaired_without_a_second_reduction() {
    let lost = |sent: Sent| if sent.seq == 310 && sent.transmission == 1 { vec![] } else { vec![ONE_WAY] };
    let mut pipe = Pipe::new(scheme("reno"), lost, |_| vec![ONE_WAY]);
    pipe.serialisation = MS;
    pipe.marks = Box::new(|sent| sent.seq == 300);
    pipe.run_while(MS, |pipe| pipe.reported.is_empty());
    let threshold = pipe.sender.scheme().slow_start_threshold();
    pipe.run(pipe.now + 1_500 * MS);
    let stats = pipe.sender.stats();
    assert_eq!((stats.lost, stats.retransmitted, stats.timeouts), (1, 1, 0));
    assert_eq!(pipe.sender.scheme().slow_start_threshold(), threshold);
}

#[test]
fn a_sender_is_not_confused_by_marks_of_what_it_has_not_sent() {
    let mut sender = Sender::new(scheme("cubic"), false);
    let mut receiver = Receiver::new();
    while sender.transmit(0).is_some() {}
    receiver.on_ecn(false, true);
    let ack = receiver.on_data(ONE_WAY, 0, 0, 0).expect("the first packet is acknowledged at once");
    sender.on_ack(RTT, &ack);
    let window = sender.scheme().window();
    // The same ACK again.
    sender.on_ack(RTT, &ack);
    assert_eq!(sender.scheme().window(), window);
}
