//! Random loss, reordering, duplicates, marks, delay jumps, outages: all data arrives and timers are sane.

use crate::pipe::{Fate, MS, Pipe, Sent, fixed_window};
use leo_cc::{CongestionControl, Context, External, Scheme};
use leo_transport::{NEVER, Nanos, ReceiveWindow, SEGMENT_BYTES, SendBuffer, Sender};
use proptest::prelude::*;
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(100)
}

/// Impairments of one direction.
#[derive(Clone, Copy, Debug)]
struct Trouble {
    loss: f64,
    duplication: f64,
    reordering: f64,
    delay: Nanos,
    /// Time of a permanent delay change, as at a handover, and the new delay.
    jump: (Nanos, Nanos),
    /// Start and length of an outage.
    outage: (Nanos, Nanos),
}

impl Trouble {
    fn delay_at(&self, now: Nanos) -> Nanos {
        let (at, delay) = self.jump;
        if now < at { self.delay } else { delay }
    }

    fn smallest_delay(&self) -> Nanos {
        self.delay.min(self.jump.1)
    }

    fn largest_delay(&self) -> Nanos {
        self.delay.max(self.jump.1)
    }
}

struct Chaos {
    trouble: Trouble,
    random: Pcg64Mcg,
    /// Impairments end here.
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
        let Trouble { loss, duplication, reordering, outage: (from, length), .. } = self.trouble;
        let delay = self.trouble.delay_at(now);
        if now >= self.until {
            return vec![delay];
        }
        if self.hits(loss) || (from..from + length).contains(&now) {
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
    let delay = || MS..150 * MS;
    let jump = prop_oneof![
        1 => Just((NEVER, 150 * MS)),
        2 => (0..TROUBLE_ENDS, prop_oneof![delay(), MS..900 * MS]),
    ];
    let outage = prop_oneof![2 => Just((0, 0)), 1 => (0..TROUBLE_ENDS, 0..2_000 * MS)];
    (rate(), rate(), rate(), delay(), jump, outage).prop_map(
        |(loss, duplication, reordering, delay, jump, outage)| Trouble {
            loss,
            duplication,
            reordering,
            delay,
            jump,
            outage,
        },
    )
}

fn schemes() -> impl Strategy<Value = Scheme> {
    let paced = (4_u32..200, 100_000_u64..20_000_000).prop_map(|(window, rate)| {
        let mut external = External::new();
        external.command(window, rate);
        Scheme::external(external)
    });
    let classic = prop::sample::select(leo_cc::NAMES.to_vec())
        .prop_map(|name| Scheme::by_name(name, &Context::default()).expect("it is a scheme"));
    prop_oneof![2 => classic, 1 => (1_u32..200).prop_map(fixed_window), 1 => paced]
}

/// Minimum, default and maximum of a socket buffer, from a few packets up.
fn buffer() -> impl Strategy<Value = Option<[u64; 3]>> {
    let sizes =
        (4_096_u64..200_000, 0_u64..1_000_000).prop_map(|(default, more)| [4_096, default, default + more]);
    prop::option::of(sizes)
}

/// Return how long `packets` may take on a path that works again: the longest timeout and an RTT each.
fn patience(there: Trouble, back: Trouble, packets: u32) -> Nanos {
    let delayed_acknowledgement_and_queue = 140 * MS;
    let round_trip = there.largest_delay() + back.largest_delay() + delayed_acknowledgement_and_queue;
    120_000 * MS + Nanos::from(packets) * round_trip
}

const TROUBLE_ENDS: Nanos = 5_000 * MS;
const SERIALISATION: Nanos = MS / 2;

/// A pipe with trouble in both directions, whose packets are marked with the chance `marking` / 2^64.
fn troubled(sender: Sender, [there, back]: [Trouble; 2], marking: u64, seed: u64, pushes: bool) -> Pipe {
    let mut data = Chaos::new(there, seed, TROUBLE_ENDS);
    let mut acks = Chaos::new(back, !seed, TROUBLE_ENDS);
    let mut pipe = Pipe::of(sender, move |sent: Sent| data.fate(sent.at), move |at| acks.fate(at));
    pipe.serialisation = SERIALISATION;
    pipe.pushes = pushes;
    let mut marks = Pcg64Mcg::seed_from_u64(seed ^ 1);
    pipe.marks = Box::new(move |_| marks.next_u64() < marking);
    pipe
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]
    #[test]
    fn every_packet_is_delivered_in_order_once_the_path_allows_it(
        scheme in schemes(),
        there in trouble(),
        back in trouble(),
        marking in prop_oneof![Just(0), Just(u64::MAX / 100), Just(u64::MAX / 2)],
        (seed, pushes) in any::<(u64, bool)>(),
    ) {
        let mut pipe = troubled(Sender::new(scheme, true), [there, back], marking, seed, pushes);
        // Pipe::run checks timers, order and counts at each event.
        pipe.run(TROUBLE_ENDS);
        let outstanding = pipe.next();
        let patience = TROUBLE_ENDS + patience(there, back, pipe.sender.packets_out());
        pipe.run_while(1_000 * MS, |pipe| pipe.una() < outstanding && pipe.now < patience);
        prop_assert!(pipe.una() >= outstanding, "{} of {outstanding} are acknowledged: {:?}", pipe.una(), pipe.sender.stats());
        let stats = pipe.sender.stats();
        prop_assert!(stats.retransmitted <= stats.lost + stats.timeouts + pipe.sent.len() as u64 / 10 + 10);
        prop_assert!(pipe.rtts.iter().all(|&rtt| rtt >= there.smallest_delay() + back.smallest_delay()), "an RTT shorter than the path");
        let interval = pipe.sender.take_interval();
        prop_assert_eq!(interval.sent_packets, stats.sent);
        prop_assert_eq!(interval.lost_packets, stats.lost);
        prop_assert_eq!(interval.delivered_packets, pipe.sender.delivered());
        // Echoes give no interval samples.
        prop_assert!(interval.rtt_samples as usize <= pipe.rtts.len());
        if let Some(rate) = interval.mean_rate() {
            // Bursts of duplicated deliveries may exceed the bottleneck's rate, but not by more than this.
            prop_assert!(rate > 0 && rate / u64::from(SEGMENT_BYTES) < 20 * 1_000 * MS / SERIALISATION);
        }
        prop_assert!(pipe.sender.scheme().window() >= 1);
        pipe.sender.close();
        prop_assert_eq!(pipe.sender.transmit(pipe.now), None);
        prop_assert_eq!(pipe.sender.next_timer(), leo_transport::NEVER);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]
    #[test]
    fn every_transfer_completes(
        scheme in schemes(),
        there in trouble(),
        back in trouble(),
        marking in prop_oneof![Just(0), Just(u64::MAX / 100), Just(u64::MAX / 2)],
        bytes in prop_oneof![1_u64..20_000, 1_u64..2_000_000],
        rmem in buffer(),
        wmem in buffer(),
        (seed, pushes) in any::<(u64, bool)>(),
    ) {
        let mut sender = Sender::new(scheme, false).with_transfer(bytes);
        if wmem.is_some() {
            sender = sender.with_buffer();
        }
        let mut pipe = troubled(sender, [there, back], marking, seed, pushes);
        if let Some(rmem) = rmem {
            pipe.limit(ReceiveWindow::new(rmem));
        }
        pipe.send_buffer = wmem.map(SendBuffer::new);
        pipe.run(TROUBLE_ENDS);
        // Pipe::run checks that a timer ends every silence.
        let packets = bytes.div_ceil(u64::from(SEGMENT_BYTES));
        let patience = TROUBLE_ENDS + patience(there, back, packets as u32);
        pipe.run_while(1_000 * MS, |pipe| !pipe.sender.is_finished() && pipe.now < patience);
        prop_assert!(pipe.sender.is_finished(), "{:?}", pipe.sender.stats());
        prop_assert_eq!(pipe.receiver.delivered(), bytes.div_ceil(u64::from(SEGMENT_BYTES)));
        prop_assert_eq!((pipe.sender.in_flight(), pipe.sender.packets_out()), (0, 0));
        prop_assert_eq!(pipe.sender.transmit(pipe.now), None);
        // The transfer is complete: only the scheme may still need a timer.
        let packets: u64 = pipe.receiver.delivered();
        let payload: u64 = (0..packets).map(|seq| u64::from(pipe.sender.payload_bytes(seq))).sum();
        prop_assert_eq!(payload, bytes);
    }
}
