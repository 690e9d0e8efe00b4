//! Accurate ECN feedback (RFC 9768) beside a reference that sees the receiver's true counters.

use crate::pipe::{Fate, MS, Pipe, Sent, fixed_window};
use leo_cc::{CongestionControl, Context, Scheme};
use leo_transport::{Counters, Nanos, SEGMENT_BYTES};
use proptest::prelude::*;
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

const ONE_WAY: Nanos = 10 * MS;
const CE: u8 = 0b11;

/// Return what hits with `probability` each time it is asked.
fn hits(seed: u64, probability: f64) -> impl FnMut() -> bool {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    move || (random.next_u64() as f64) < probability * u64::MAX as f64
}

/// How the path treats ACKs, and how many data packets it marks.
#[derive(Clone, Copy, Debug)]
struct Path {
    seed: u64,
    marks: f64,
    loss: f64,
    late: f64,
    delay: Nanos,
    copies: f64,
    /// A stretch in which no ACK arrives.
    silence: (Nanos, Nanos),
}

fn paths() -> impl Strategy<Value = Path> {
    let probability = || prop_oneof![Just(0.0), Just(0.1), Just(0.5), Just(0.9), Just(1.0)];
    let silence = (0_u64..300, 0_u64..80).prop_map(|(from, length)| (from * MS, (from + length) * MS));
    (any::<u64>(), probability(), 0.0_f64..0.9, 0.0_f64..0.5, 0_u64..30, 0.0_f64..0.2, silence).prop_map(
        |(seed, marks, loss, late, delay, copies, silence)| Path {
            seed,
            marks,
            loss,
            late,
            delay: delay * MS,
            copies,
            silence,
        },
    )
}

impl Path {
    /// A pipe whose data arrives in order, one packet a millisecond, and whose ACKs fare as the path says.
    fn pipe(self) -> Pipe {
        let (mut lost, mut late) = (hits(self.seed, self.loss), hits(!self.seed, self.late));
        let (mut copied, mut marked) = (hits(self.seed ^ 7, self.copies), hits(self.seed ^ 9, self.marks));
        let back = move |now: Nanos| -> Fate {
            let silent = (self.silence.0..self.silence.1).contains(&now);
            let at = |late: bool| ONE_WAY + if late { self.delay } else { 0 };
            match (lost() || silent, copied()) {
                (true, _) => vec![],
                (false, false) => vec![at(late())],
                (false, true) => vec![at(late()), at(late())],
            }
        };
        let mut pipe = Pipe::new(fixed_window(40), |_| vec![ONE_WAY], back);
        pipe.serialisation = MS;
        pipe.marks = Box::new(move |_| marked());
        pipe.use_accurate_ecn();
        pipe
    }
}

fn reported(pipe: &Pipe) -> &Counters {
    pipe.sender.ecn_counters().expect("accurate ECN is in use")
}

/// Return the true counters, packets and bytes with CE, when the newest ACK that has arrived left.
fn reference(pipe: &Pipe) -> [u64; 2] {
    pipe.arrived.iter().max().map_or([0, 0], |newest| pipe.feedback[*newest].1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn with_options_the_sender_knows_what_the_newest_acknowledgement_knew_whichever_were_lost_or_late(path in paths()) {
        // RFC 9768 §3.2.2.5 and §3.2.3; Appendix A.2.2.
        let mut pipe = path.pipe();
        for until in (MS..500 * MS).step_by(MS as usize) {
            pipe.run(until);
            let reported = reported(&pipe);
            prop_assert_eq!([reported.marked_packets(), reported.payload_bytes(CE)], reference(&pipe), "at {} ms", until / MS);
        }
        prop_assert!(path.marks < 0.5 || pipe.feedback.iter().any(|(_, truth)| truth[0] > 0));
    }

    #[test]
    fn without_options_the_sender_never_knows_of_fewer_marks_than_there_were(path in paths()) {
        // RFC 9768 §3.2.2.5.2: "the safest likely case". The ACE field stays right modulo 8.
        let mut pipe = path.pipe();
        pipe.strips_options = true;
        let mut before = 0;
        for until in (MS..500 * MS).step_by(MS as usize) {
            pipe.run(until);
            let counted = reported(&pipe).marked_packets();
            let [truth, _] = reference(&pipe);
            prop_assert!(counted >= truth && counted >= before, "{} of {} at {} ms", counted, truth, until / MS);
            prop_assert_eq!(counted % 8, truth % 8);
            prop_assert!(counted <= pipe.receiver.delivered() + pipe.receiver.duplicates());
            before = counted;
        }
    }

    #[test]
    fn lost_and_late_data_disturb_no_counter_for_good(
        seed in any::<u64>(), loss in 0.0_f64..0.2, late in 0.0_f64..0.2, marks in 0.0_f64..1.0, back in 0.0_f64..0.5,
    ) {
        // Three SACK blocks leave no room for the option, and repairs count as marked packets, too.
        let (mut lost, mut delayed) = (hits(seed, loss), hits(!seed, late));
        let (mut marked, mut gone) = (hits(seed ^ 9, marks), hits(seed ^ 5, back));
        const TROUBLE: Nanos = 400 * MS;
        let data = move |sent: Sent| match (sent.at < TROUBLE && lost(), delayed()) {
            (true, _) => vec![],
            (false, slow) => vec![ONE_WAY + if slow { 5 * MS } else { 0 }],
        };
        let acks = move |now| if now < TROUBLE && gone() { vec![] } else { vec![ONE_WAY] };
        let mut pipe = Pipe::new(fixed_window(40), data, acks);
        pipe.serialisation = MS;
        pipe.marks = Box::new(move |sent| sent.at < TROUBLE && marked());
        pipe.use_accurate_ecn();
        pipe.run(5_000 * MS);
        let [packets, bytes] = reference(&pipe);
        prop_assert_eq!(bytes, packets * u64::from(SEGMENT_BYTES));
        prop_assert_eq!(reported(&pipe).payload_bytes(CE), bytes);
        prop_assert!(reported(&pipe).marked_packets() >= packets);
        prop_assert_eq!(reported(&pipe).marked_packets() % 8, packets % 8);
    }
}

#[test]
fn a_lost_run_of_acknowledgements_hides_a_cycle_that_the_option_reveals() {
    // RFC 9768 §3.2.2.5: "the 3-bit counter in the ACE field might have cycled between two ACKs". Of 40 packets whose ACKs
    // are lost, every second is marked.
    let path = Path {
        seed: 1,
        marks: 0.0,
        loss: 0.0,
        late: 0.0,
        delay: 0,
        copies: 0.0,
        silence: (100 * MS, 140 * MS),
    };
    let error = |strips_options| {
        let mut pipe = path.pipe();
        pipe.marks = Box::new(|sent| sent.seq % 2 == 0);
        pipe.strips_options = strips_options;
        pipe.run(300 * MS);
        reported(&pipe).marked_packets() as i64 - reference(&pipe)[0] as i64
    };
    assert_eq!(error(false), 0);
    assert!(error(true) > 0 && error(true) % 8 == 0, "{}", error(true));
}

#[test]
fn each_mark_is_reported_once_and_reduces_the_window_once_a_round_trip() {
    // RFC 9768 §3.1.5: the response is that of RFC 3168 §6.1, and the sender "MUST NOT set CWR".
    let scheme = Scheme::by_name("reno", &Context::default()).expect("it is a scheme");
    let mut pipe = Pipe::new(scheme, |_| vec![25 * MS], |_| vec![25 * MS]);
    pipe.serialisation = MS;
    pipe.marks = Box::new(|sent| (300..320).contains(&sent.seq));
    pipe.use_accurate_ecn();
    let before = pipe.run_to_reduction();
    let threshold = pipe.sender.scheme().slow_start_threshold();
    assert_eq!(threshold, before / 2);
    pipe.run(pipe.now + 2_000 * MS);
    assert_eq!(pipe.sender.scheme().slow_start_threshold(), threshold);
    assert_eq!((reported(&pipe).marked_packets(), pipe.reported.len()), (20, 0));
}
