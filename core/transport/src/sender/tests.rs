//! Whether the window limits what is sent, which decides if it may grow (RFC 7661, Linux's tcp_is_cwnd_limited).

use leo_cc::External;

use super::*;
use crate::Receiver;

const MS: Nanos = 1_000_000;

fn external(window: u32, rate: u64) -> Sender {
    let mut external = External::new();
    external.command(window, rate);
    Sender::new(Scheme::External(external), false)
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
    // 1,448 kB/s: a packet a millisecond, in bursts of two.
    let mut sender = external(1_000, 1_448_000);
    let sent: usize = (0..50).map(|ms| send_all(&mut sender, ms * MS)).sum();
    assert!((49..=52).contains(&sent), "{sent}");
    assert!(!sender.is_window_limited());
    // Until the window is what stops it.
    sender.scheme_mut().external_mut().expect("it is external").command(40, 1_448_000);
    assert_eq!(send_all(&mut sender, 60 * MS), 0);
    assert!(sender.is_window_limited());
}

#[test]
fn a_sender_that_gathers_a_burst_is_limited_by_its_window() {
    // Linux: what tcp_tso_should_defer holds back, the window holds back.
    let mut sender = external(417, 0);
    let mut receiver = Receiver::new();
    assert_eq!(send_all(&mut sender, 0), 417);
    for seq in 0..3 {
        let ack = receiver.on_data(25 * MS, seq, 0).expect("the first packets are acknowledged at once");
        sender.on_ack(50 * MS + seq * 100_000, &ack);
        let sent = send_all(&mut sender, 50 * MS + seq * 100_000);
        // The first follows a silence and goes out alone; the others wait for a burst's worth.
        assert_eq!(sent, usize::from(seq == 0), "after acknowledgement {seq}");
        assert!(sender.is_window_limited());
    }
}
