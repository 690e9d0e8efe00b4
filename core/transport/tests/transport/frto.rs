//! Timeouts that may be spurious: F-RTO tells late packets from lost ones (RFC 5682, with SACK as in Linux).

use crate::pipe::{MS, Pipe, Sent};
use leo_cc::{CongestionControl, Context, Scheme};
use leo_transport::{Nanos, SEGMENT_BYTES, Sender};

const ONE_WAY: Nanos = 25 * MS;
const RTT: Nanos = 2 * ONE_WAY;
/// The path is bad from this packet on: longer than until a tail loss probe, shorter than a timeout.
const FIRST: u64 = 40;
const BAD: Nanos = 200 * MS;

/// Reno over 50 ms; `arrival` gives the arrival times of packets on the bad path, `None` for a loss.
fn troubled(bytes: u64, arrival: impl Fn(u64) -> Option<Nanos> + 'static) -> Pipe {
    let reno = Scheme::by_name("reno", &Context::default()).expect("reno is a scheme");
    let sender = Sender::new(reno, true).with_transfer(bytes);
    let mut began = None;
    let data = move |sent: Sent| {
        if sent.seq >= FIRST && sent.at < *began.get_or_insert(sent.at) + BAD {
            return arrival(sent.seq).map(|at| at - sent.at).into_iter().collect();
        }
        vec![ONE_WAY]
    };
    Pipe::of(sender, data, |_| vec![ONE_WAY])
}

/// Run to the timeout, which retransmits the first packet; return its time.
fn to_timeout(pipe: &mut Pipe) -> Nanos {
    while pipe.sender.stats().timeouts == 0 {
        let until = pipe.now + MS;
        assert!(until < 2_000 * MS, "no timeout: {:?}", pipe.sender.stats());
        pipe.run(until);
    }
    assert_eq!(pipe.una(), FIRST);
    let last = pipe.sent.last().expect("the timeout sends");
    assert_eq!((last.seq, last.transmission), (FIRST, 2));
    last.at
}

/// Group the packets sent after the timeout by time; each is a number and whether it is a retransmission.
fn sent_after(pipe: &Pipe, from: Nanos) -> Vec<(Nanos, Vec<(u64, bool)>)> {
    let sent: Vec<Sent> = pipe.sent.iter().copied().filter(|sent| sent.at > from).collect();
    sent.chunk_by(|a, b| a.at == b.at)
        .map(|chunk| {
            (chunk[0].at - from, chunk.iter().map(|sent| (sent.seq, sent.transmission > 1)).collect())
        })
        .collect()
}

const ENDLESS: u64 = 1 << 40;

/// The receiver acknowledges the repair at once, though it fills no hole, because its window still grows.
const ANSWER: Nanos = RTT;

#[test]
fn after_a_timeout_two_new_packets_go_out_before_the_second_repair() {
    let mut pipe = troubled(ENDLESS, |_| None);
    let timeout = to_timeout(&mut pipe);
    let (next, threshold) = (pipe.next(), pipe.sender.scheme().slow_start_threshold());
    pipe.run(timeout + ANSWER + RTT);
    let sent = sent_after(&pipe, timeout);
    // RFC 5682 §3.1 (2) b: "transmit up to two new (previously unsent) segments".
    assert_eq!(sent[0], (ANSWER, vec![(next, false), (next + 1, false)]));
    // Linux's commit e33099f96d99: "if the next ACK selectively acknowledges the new data, then the timeout
    // was genuine and the loss recovery continues".
    assert_eq!(sent[1].0, ANSWER + RTT);
    let repairs: Vec<(u64, bool)> = (FIRST + 1..).map(|seq| (seq, true)).take(sent[1].1.len()).collect();
    assert_eq!(sent[1].1, repairs);
    pipe.run(timeout + 10 * RTT);
    let stats = pipe.sender.stats();
    assert_eq!((stats.timeouts, stats.undone), (1, 0));
    assert!(pipe.una() > next + 2, "all is repaired");
    assert_eq!(pipe.sender.scheme().slow_start_threshold(), threshold);
}

#[test]
fn packets_that_were_only_late_take_the_timeout_back_before_any_other_is_repaired() {
    // Linux's commit e33099f96d99: "If the next ACK acknowledges some never-retransmitted data, then the
    // timeout was spurious". The first packet is lost, so no timestamp helps; the others arrive after it.
    let timeout = to_timeout(&mut troubled(ENDLESS, |_| None));
    let late = timeout + 70 * MS;
    let mut pipe = troubled(ENDLESS, move |seq| (seq > FIRST).then_some(late));
    assert_eq!(to_timeout(&mut pipe), timeout);
    let window = pipe.next() - FIRST;
    pipe.run(late + ONE_WAY - 1);
    let stats = pipe.sender.stats();
    assert_eq!((stats.retransmitted, stats.undone, pipe.una()), (1, 0, FIRST + 1));
    assert_eq!(pipe.next(), FIRST + window + 2, "new data");
    assert_eq!(pipe.sender.scheme().slow_start_threshold(), (window / 2) as u32);
    pipe.run(late + ONE_WAY);
    assert!(pipe.sender.stats().undone >= 1);
    assert!(pipe.sender.scheme().slow_start_threshold() > window as u32, "the threshold is back");
    assert!(pipe.sender.scheme().window() >= window as u32);
}

#[test]
fn without_new_data_repairs_go_on_at_once() {
    // RFC 5682 §3.1 (2) b asks for new data; without any, Linux repairs.
    let mut pipe = troubled(60 * u64::from(SEGMENT_BYTES), |_| None);
    let timeout = to_timeout(&mut pipe);
    pipe.run(timeout + ANSWER);
    assert_eq!(sent_after(&pipe, timeout), [(ANSWER, vec![(FIRST + 1, true), (FIRST + 2, true)])]);
    pipe.run(timeout + 20 * RTT);
    assert!(pipe.sender.is_finished());
}

#[test]
fn a_timeout_after_progress_reduces_the_threshold_again_and_one_without_does_not() {
    // RFC 5681 §3.1: "when the given segment has already been retransmitted by way of the retransmission
    // timer at least once, the value of ssthresh is held constant".
    let threshold_after_three = |first_is_repaired: bool| {
        let reno = Scheme::by_name("reno", &Context::default()).expect("reno is a scheme");
        let lost = move |sent: Sent| match sent.transmission {
            1 => sent.seq >= FIRST,
            2 => sent.seq != FIRST || !first_is_repaired,
            _ => true,
        };
        let data = move |sent| if lost(sent) { vec![] } else { vec![ONE_WAY] };
        let mut pipe = Pipe::new(reno, data, |_| vec![ONE_WAY]);
        to_timeout(&mut pipe);
        let first = pipe.sender.scheme().slow_start_threshold();
        pipe.run(3_000 * MS);
        assert!(pipe.sender.stats().timeouts >= 3 && pipe.una() == FIRST + u64::from(first_is_repaired));
        (first, pipe.sender.scheme().slow_start_threshold())
    };
    assert_eq!(threshold_after_three(false), (25, 25));
    assert_eq!(threshold_after_three(true), (25, 2));
}
