//! Random loss, reordering, duplication and marks: what goes in comes out, and no timer is missing or wild.

mod pipe;

use leo_cc::{CongestionControl, Context, External, Scheme};
use leo_transport::{Nanos, SEGMENT_BYTES, Sender};
use pipe::{Fate, MS, Pipe, Sent, fixed_window};
use proptest::prelude::*;
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// What a direction does to packets.
#[derive(Clone, Copy, Debug)]
struct Trouble {
    loss: f64,
    duplication: f64,
    reordering: f64,
    delay: Nanos,
}

struct Chaos {
    trouble: Trouble,
    random: Pcg64Mcg,
    /// From then on packets only take their delay.
    until: Nanos,
}

impl Chaos {
    fn new(trouble: Trouble, seed: u64, until: Nanos) -> Self {
        Self { trouble, random: Pcg64Mcg::seed_from_u64(seed), until }
    }

    fn hits(&mut self, probability: f64) -> bool {
        (self.random.next_u64() as f64) < probability * u64::MAX as f64
    }

    fn fate(&mut self, now: Nanos) -> Fate {
        let Trouble { loss, duplication, reordering, delay } = self.trouble;
        if now >= self.until {
            return vec![delay];
        }
        if self.hits(loss) {
            return vec![];
        }
        let copies = 1 + usize::from(self.hits(duplication));
        (0..copies)
            .map(|_| delay + if self.hits(reordering) { self.random.next_u64() % (2 * delay) } else { 0 })
            .collect()
    }
}

fn trouble() -> impl Strategy<Value = Trouble> {
    let rate = || prop_oneof![Just(0.0), 0.0..0.05, 0.0..0.6];
    (rate(), rate(), rate(), MS..150 * MS).prop_map(|(loss, duplication, reordering, delay)| Trouble {
        loss,
        duplication,
        reordering,
        delay,
    })
}

fn schemes() -> impl Strategy<Value = Scheme> {
    let paced = (4_u32..200, 100_000_u64..20_000_000).prop_map(|(window, rate)| {
        let mut external = External::new();
        external.command(window, rate);
        Scheme::External(external)
    });
    let classic = prop::sample::select(leo_cc::NAMES.to_vec())
        .prop_map(|name| Scheme::by_name(name, &Context::default()).expect("it is a scheme"));
    prop_oneof![2 => classic, 1 => (1_u32..200).prop_map(fixed_window), 1 => paced]
}

const TROUBLE_ENDS: Nanos = 5_000 * MS;
const SERIALISATION: Nanos = MS / 2;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn every_packet_is_delivered_in_order_once_the_path_allows_it(
        scheme in schemes(),
        there in trouble(),
        back in trouble(),
        marking in prop_oneof![Just(0), Just(u64::MAX / 100), Just(u64::MAX / 2)],
        seed in any::<u64>(),
    ) {
        let mut data = Chaos::new(there, seed, TROUBLE_ENDS);
        let mut acks = Chaos::new(back, !seed, TROUBLE_ENDS);
        let mut pipe = Pipe::new(scheme, move |sent: Sent| data.fate(sent.at), move |at| acks.fate(at));
        pipe.serialisation = SERIALISATION;
        let mut marks = Pcg64Mcg::seed_from_u64(seed ^ 1);
        pipe.marks = Box::new(move |_| marks.next_u64() < marking);
        // Pipe::run checks timers, order and counts at each event.
        pipe.run(TROUBLE_ENDS);
        let outstanding = pipe.next();
        // The worst that may be waited for: the timeout's backoff, as far as it has come, then a queue's worth.
        let patience = pipe.sender.next_timer().saturating_sub(pipe.now);
        let round_trip = there.delay + back.delay + SERIALISATION * Nanos::from(pipe.sender.packets_out() + 200);
        pipe.run(TROUBLE_ENDS + patience + 40 * round_trip + 5_000 * MS);
        prop_assert!(pipe.una() >= outstanding, "{} of {outstanding} are acknowledged: {:?}", pipe.una(), pipe.sender.stats());
        let stats = pipe.sender.stats();
        prop_assert!(stats.retransmitted <= stats.lost + stats.timeouts + pipe.sent.len() as u64 / 10 + 10);
        prop_assert!(pipe.rtts.iter().all(|&rtt| rtt >= there.delay + back.delay), "an RTT shorter than the path");
        let interval = pipe.sender.take_interval();
        prop_assert_eq!(interval.sent_packets, stats.sent);
        prop_assert_eq!(interval.lost_packets, stats.lost);
        prop_assert_eq!(interval.delivered_packets, pipe.sender.delivered());
        prop_assert_eq!(interval.rtt_samples as usize, pipe.rtts.len());
        if let Some(rate) = interval.mean_rate() {
            // No sample exceeds the bottleneck by more than bursts of duplicated delivery can explain.
            prop_assert!(rate > 0 && rate / u64::from(SEGMENT_BYTES) < 20 * 1_000 * MS / SERIALISATION);
        }
        prop_assert!(pipe.sender.scheme().window() >= 1);
        pipe.sender.close();
        prop_assert_eq!(pipe.sender.transmit(pipe.now), None);
        prop_assert_eq!(pipe.sender.next_timer(), leo_transport::NEVER);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn every_transfer_completes(
        scheme in schemes(),
        there in trouble(),
        back in trouble(),
        marking in prop_oneof![Just(0), Just(u64::MAX / 100), Just(u64::MAX / 2)],
        bytes in prop_oneof![1_u64..20_000, 1_u64..2_000_000],
        seed in any::<u64>(),
    ) {
        let mut data = Chaos::new(there, seed, TROUBLE_ENDS);
        let mut acks = Chaos::new(back, !seed, TROUBLE_ENDS);
        let sender = Sender::new(scheme, false).with_transfer(bytes);
        let mut pipe = Pipe::of(sender, move |sent: Sent| data.fate(sent.at), move |at| acks.fate(at));
        pipe.serialisation = SERIALISATION;
        let mut marks = Pcg64Mcg::seed_from_u64(seed ^ 1);
        pipe.marks = Box::new(move |_| marks.next_u64() < marking);
        pipe.run(TROUBLE_ENDS);
        // Pipe::run checks that a timer ends every silence; 1,400 packets of half a millisecond, or paced at 100 kB/s.
        pipe.run(300_000 * MS);
        prop_assert!(pipe.sender.is_finished(), "{:?}", pipe.sender.stats());
        prop_assert_eq!(pipe.receiver.delivered(), bytes.div_ceil(u64::from(SEGMENT_BYTES)));
        prop_assert_eq!((pipe.sender.in_flight(), pipe.sender.packets_out()), (0, 0));
        prop_assert_eq!(pipe.sender.transmit(pipe.now), None);
        // Nothing is out and nothing left: only the scheme may still want to be called.
        let packets: u64 = pipe.receiver.delivered();
        let payload: u64 = (0..packets).map(|seq| u64::from(pipe.sender.payload_bytes(seq))).sum();
        prop_assert_eq!(payload, bytes);
    }
}
