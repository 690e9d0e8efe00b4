//! Spurious reductions are undone: delay jumps, as on LEO paths, look like loss.

use crate::pipe::{MS, Pipe, Sent};
use leo_cc::{CongestionControl, Context, Scheme};
use leo_transport::Nanos;

const ONE_WAY: Nanos = 25 * MS;

fn cubic() -> Scheme {
    Scheme::by_name("cubic", &Context::default()).expect("it is a scheme")
}

/// The forward delay grows by `jump` at 2 s.
fn jumping(jump: Nanos) -> Pipe {
    let data = move |sent: Sent| vec![if sent.at < 2_000 * MS { ONE_WAY } else { ONE_WAY + jump }];
    let mut pipe = Pipe::new(cubic(), data, |_| vec![ONE_WAY]);
    pipe.serialisation = 2 * MS;
    pipe
}

#[test]
fn a_timeout_by_a_delay_that_jumped_is_taken_back_by_the_echo_of_the_original() {
    // RFC 3522 §3.2, RFC 4015 §3.2: the first ACK after the timeout echoes the original's timestamp.
    let mut pipe = jumping(3_000 * MS);
    pipe.run(1_990 * MS);
    let before = pipe.sender.scheme().window();
    pipe.run(7_000 * MS);
    let stats = pipe.sender.stats();
    assert!(stats.timeouts >= 1, "{stats:?}");
    assert!(stats.undone >= 1, "{stats:?}");
    // The window is restored; the loss probe was new data, which costs nothing.
    assert!(pipe.sender.scheme().window() >= before, "{} of {before}", pipe.sender.scheme().window());
    assert!(stats.retransmitted <= 8, "without the undo everything in flight goes out again: {stats:?}");
}

#[test]
fn a_timeout_by_real_loss_is_not_taken_back() {
    let lost = |sent: Sent| (2_000 * MS..3_500 * MS).contains(&sent.at);
    let data = move |sent: Sent| if lost(sent) { vec![] } else { vec![ONE_WAY] };
    let mut pipe = Pipe::new(cubic(), data, |_| vec![ONE_WAY]);
    pipe.serialisation = 2 * MS;
    pipe.run(1_990 * MS);
    let before = pipe.sender.scheme().window();
    pipe.run(4_000 * MS);
    let stats = pipe.sender.stats();
    assert!(stats.timeouts >= 1, "{stats:?}");
    assert_eq!(stats.undone, 0, "{stats:?}");
    assert!(pipe.sender.scheme().window() < before * 8 / 10, "{}", pipe.sender.scheme().window());
}

#[test]
fn a_recovery_by_reordering_is_taken_back_by_duplicate_reports() {
    // RFC 3708: every retransmission is reported as a duplicate. One packet is 60 ms late; RACK waits less.
    let data = |sent: Sent| vec![if sent.seq == 900 { ONE_WAY + 60 * MS } else { ONE_WAY }];
    let mut pipe = Pipe::new(cubic(), data, |_| vec![ONE_WAY]);
    pipe.serialisation = MS;
    pipe.run(800 * MS);
    let before = pipe.sender.scheme().window();
    pipe.run(1_400 * MS);
    let stats = pipe.sender.stats();
    assert_eq!((stats.retransmitted, stats.undone), (1, 1), "{stats:?}");
    assert!(pipe.sender.scheme().window() >= before, "{} of {before}", pipe.sender.scheme().window());
}
