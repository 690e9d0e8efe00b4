//! Tests of each discipline against its specification, and properties of all of them.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;
use crate::Codepoint;

mod dualpi2;

const MS: Nanos = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Probe {
    pub(super) flow: u32,
    pub(super) id: u64,
    bytes: u32,
    pub(super) capable: bool,
    pub(super) low: bool,
    pub(super) marked: bool,
}

impl Queued for Probe {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn codepoint(&self) -> Codepoint {
        match (self.capable, self.low) {
            (false, _) => Codepoint::NotEct,
            (true, true) => Codepoint::Ect1,
            (true, false) => Codepoint::Ect0,
        }
    }

    fn mark_congestion(&mut self) -> bool {
        self.marked |= self.capable;
        self.capable
    }
}

pub(super) fn probe(flow: u32, id: u64, bytes: u32) -> Probe {
    Probe { flow, id, bytes, capable: false, low: false, marked: false }
}

pub(super) fn put(queue: &mut impl Discipline<Probe>, packet: Probe, now: Nanos, tally: &mut Tally) {
    queue.enqueue(Waiting { packet, since: now }, now, tally);
}

fn all_kinds() -> Vec<Managed<Probe>> {
    let cake = CakeSettings { memory_limit: Some(40_000), ..CakeSettings::default() };
    vec![
        Managed::Cake(Cake::new(cake, 1)),
        Managed::Codel(Codel::new(40, CodelSettings::default())),
        Managed::DualPi2(DualPi2::new(DualPi2Settings { limit: 40, ..DualPi2Settings::default() }, 1)),
        Managed::FqCodel(FqCodel::new(FqCodelSettings { limit: 40, ..FqCodelSettings::default() }, 1)),
        Managed::FqPie(FqPie::new(FqPieSettings { limit: 40, ..FqPieSettings::default() }, 1)),
        Managed::HeadDrop(HeadDrop::new(DropTail::of_packets(40))),
        Managed::Pie(Pie::new(40, PieSettings::default(), 1)),
        Managed::Sfq(Sfq::new(SfqSettings { limit: 40, ..SfqSettings::default() }, 1)),
    ]
}

proptest! {
    #[test]
    fn no_discipline_invents_or_reorders_a_flows_packets_and_each_counts_what_it_drops(
        steps in prop::collection::vec((0_u32..5, 40_u32..1500, 0_u64..8, any::<bool>()), 1..300),
    ) {
        for mut queue in all_kinds() {
            let (mut now, mut tally, mut offered, mut out) = (0, Tally::default(), 0_u64, 0);
            let mut last = [0; 5];
            for &(flow, bytes, wait_ms, comes) in &steps {
                now += wait_ms * MS;
                if comes {
                    offered += 1;
                    put(&mut queue, probe(flow, offered, bytes), now, &mut tally);
                } else if let Some(waiting) = queue.dequeue(now, &mut tally) {
                    out += 1;
                    prop_assert!(waiting.packet.id > last[waiting.packet.flow as usize]);
                    last[waiting.packet.flow as usize] = waiting.packet.id;
                }
                prop_assert_eq!(offered, out + tally.dropped + queue.packets());
                prop_assert_eq!(queue.packets() == 0, queue.bytes() == 0);
            }
            // Work conserving: every waiting packet comes out or is dropped.
            while queue.dequeue(now, &mut tally).is_some() {
                out += 1;
            }
            prop_assert_eq!((queue.packets(), offered), (0, out + tally.dropped));
        }
    }
}

/// Serve `queue` every `service` while packets arrive every `offered`; return the times of drops.
fn overload(queue: &mut impl Discipline<Probe>, service: Nanos, offered: Nanos, length: Nanos) -> Vec<Nanos> {
    let mut tally = Tally::default();
    let mut drops = Vec::new();
    let (mut arrival, mut departure) = (0, service);
    let mut id = 0;
    while arrival.min(departure) < length {
        let now = arrival.min(departure);
        let before = tally.dropped;
        if arrival <= departure {
            id += 1;
            put(queue, probe(0, id, 1500), now, &mut tally);
            arrival += offered;
        } else {
            queue.dequeue(now, &mut tally);
            departure += service;
        }
        drops.extend((before..tally.dropped).map(|_| now));
    }
    drops
}

#[test]
fn codel_drops_first_after_an_interval_above_target_and_then_ever_faster() {
    // RFC 8289 §4.3: the next drop comes interval / √count after the last one. Linux approximates the root
    // with one Newton step per drop: Linux 6.1 shows gaps of 100, 50, 56, 49, 44 and 40 ms.
    let mut codel = Codel::new(100_000, CodelSettings::default());
    let drops = overload(&mut codel, MS, MS - 50_000, 2_000 * MS);
    // A packet waits 1 ms plus 1/20 of the time so far: 5 ms after 80 ms. An interval later comes a drop.
    assert!((175..190).contains(&(drops[0] / MS)), "{}", drops[0] / MS);
    for (count, pair) in drops.windows(2).take(8).enumerate() {
        let expected = [100.0, 50.0, 56.2, 48.8, 44.1, 40.6, 37.7, 35.3][count];
        let gap = (pair[1] - pair[0]) as f64 / MS as f64;
        assert!((gap - expected).abs() < 2.5, "{gap} ms after drop {count}, not {expected}");
    }
}

#[test]
fn codel_marks_instead_where_the_flow_can() {
    let settings = CodelSettings { ecn: true, ..CodelSettings::default() };
    let mut codel = Codel::new(100_000, settings);
    let mut tally = Tally::default();
    for id in 0..400 {
        put(&mut codel, Probe { capable: true, ..probe(0, id, 1500) }, 0, &mut tally);
    }
    let marked =
        (0..400).filter_map(|ms| codel.dequeue(ms * MS, &mut tally)).filter(|next| next.packet.marked);
    assert!(marked.count() >= 2);
    assert_eq!(tally.dropped, 0);
}

#[test]
fn pie_lets_a_burst_of_150_ms_pass_and_then_drops_more_the_longer_the_delay_lasts() {
    // RFC 8033 §4.1: MAX_BURST; §4.2: the probability integrates the deviation.
    let mut pie = Pie::new(100_000, PieSettings::default(), 1);
    let drops = overload(&mut pie, MS, MS * 2 / 3, 3_000 * MS);
    assert!(drops[0] >= 150 * MS, "{}", drops[0]);
    let within = |from: Nanos, to: Nanos| drops.iter().filter(|&&at| (from..to).contains(&(at / MS))).count();
    assert!(within(0, 500) < within(500, 1_000), "{} {}", within(0, 500), within(500, 1_000));
}

proptest! {
    #[test]
    fn head_drop_drops_the_oldest_and_as_few_as_make_room(
        steps in prop::collection::vec((40_u32..1500, prop::bool::weighted(0.8)), 1..200),
        limit in prop_oneof![(1_u64..20).prop_map(DropTail::of_packets), (1_500_u64..9_000).prop_map(DropTail::of_bytes)],
    ) {
        let mut queue: HeadDrop<Probe> = HeadDrop::new(limit);
        let mut tally = Tally::default();
        let mut waiting: VecDeque<(u64, u32)> = VecDeque::new();
        for (id, &(bytes, comes)) in (0..).zip(&steps) {
            if !comes {
                let next = queue.dequeue(0, &mut tally).map(|next| next.packet.id);
                prop_assert_eq!(next, waiting.pop_front().map(|(id, _)| id));
                continue;
            }
            put(&mut queue, probe(0, id, bytes), 0, &mut tally);
            waiting.push_back((id, bytes));
            // Without the newest packet, there was room only after the last of these drops.
            let too_many = |waiting: &VecDeque<(u64, u32)>| {
                waiting.len() as u64 > limit.packets
                    || waiting.iter().map(|&(_, bytes)| u64::from(bytes)).sum::<u64>() > limit.bytes
            };
            while too_many(&waiting) {
                waiting.pop_front();
            }
            prop_assert_eq!(queue.packets(), waiting.len() as u64);
        }
    }
}

#[test]
fn head_drop_keeps_what_is_on_the_transmitter_and_refuses_what_does_not_fit_beside_it() {
    let mut queue = HeadDrop::new(DropTail::of_packets(2));
    let mut tally = Tally::default();
    let mut held = |queue: &mut HeadDrop<Probe>, id| {
        put(queue, probe(0, id, 1500), 0, &mut tally);
        (queue.packets(), tally.dropped)
    };
    queue.beside(1, 1500);
    assert_eq!(held(&mut queue, 0), (1, 0));
    assert_eq!(held(&mut queue, 1), (1, 1));
    queue.beside(2, 3000);
    assert_eq!(held(&mut queue, 2), (1, 2));
    assert_eq!(queue.dequeue(0, &mut Tally::default()).map(|next| next.packet.id), Some(1));
}

#[test]
fn flow_queues_share_bytes_whatever_the_size_of_packets() {
    // RFC 8290 §4.2: deficit round robin counts bytes.
    for mut queue in all_kinds() {
        if matches!(queue, Managed::Codel(_) | Managed::DualPi2(_) | Managed::HeadDrop(_) | Managed::Pie(_)) {
            continue;
        }
        let mut tally = Tally::default();
        let mut sent = [0_u64; 2];
        for round in 0..4_000 {
            if queue.packets() < 30 {
                put(&mut queue, probe(0, round, 1500), 0, &mut tally);
                for part in 0..5 {
                    put(&mut queue, probe(1, round * 5 + part, 300), 0, &mut tally);
                }
            }
            if let Some(waiting) = queue.dequeue(0, &mut tally) {
                sent[waiting.packet.flow as usize] += u64::from(waiting.bytes());
            }
        }
        let ratio = sent[0] as f64 / sent[1] as f64;
        assert!((0.9..1.1).contains(&ratio), "{sent:?}");
    }
}

#[test]
fn a_sparse_flow_does_not_wait_behind_a_bulk_flow() {
    // RFC 8290 §1: "flows that build a queue" and "flows that don't".
    let mut queue = FqCodel::new(FqCodelSettings::default(), 1);
    let mut tally = Tally::default();
    for id in 0..50 {
        put(&mut queue, probe(0, id, 1500), 0, &mut tally);
    }
    queue.dequeue(0, &mut tally);
    put(&mut queue, probe(1, 0, 100), 0, &mut tally);
    let next = queue.dequeue(0, &mut tally).expect("packets wait");
    assert_eq!(next.packet.flow, 1);
}

#[test]
fn cakes_shaper_spaces_packets_at_its_bandwidth() {
    let settings = CakeSettings { bandwidth_bps: Some(12_000_000), ..CakeSettings::default() };
    let mut cake = Cake::new(settings, 1);
    let mut tally = Tally::default();
    for id in 0..11 {
        put(&mut cake, probe(0, id, 1500), 0, &mut tally);
    }
    let mut now = 0;
    for _ in 0..10 {
        assert!(cake.dequeue(now, &mut tally).is_some());
        now = cake.ready_at(now);
    }
    assert_eq!(now, 10 * MS);
}
