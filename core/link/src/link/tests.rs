//! Properties of the link over random schedules and offers, and a model that steps through time, a microsecond at once.
//!
//! They hold what the project promises of its physics: "delivered + dropped + queued + in flight = offered, at every
//! instant", FIFO propagation, outages that drop what is in flight.

use std::collections::VecDeque;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::queue::{
    Cake, CakeSettings, Codel, CodelSettings, FqCodel, FqCodelSettings, FqPie, FqPieSettings, Pie,
    PieSettings, Sfq, SfqSettings,
};
use crate::schedule::{Direction, UNLIMITED};
use crate::{Event, PathTrace, Row};

const US: Nanos = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Probe {
    id: usize,
    bytes: u32,
    offered_at: Nanos,
    propagation: Nanos,
    trips: u32,
}

impl Probe {
    fn new(id: usize, bytes: u32, offered_at: Nanos) -> Self {
        Self { id, bytes, offered_at, propagation: 0, trips: 0 }
    }
}

/// In the place of an id that is kept apart.
const APART: usize = usize::MAX;

impl Packet for Probe {
    type Compact = Self;
    type Extra = usize;

    // Every third one's id is kept apart: a queue that got out of step would give ids to the wrong packets.
    fn pack(self, extras: &mut VecDeque<usize>) -> Self {
        if !self.id.is_multiple_of(3) {
            return self;
        }
        extras.push_back(self.id);
        Self { id: APART, ..self }
    }

    fn unpack(compact: Self, extras: &mut VecDeque<usize>) -> Self {
        if compact.id != APART {
            return compact;
        }
        Self { id: extras.pop_front().expect("it was put there"), ..compact }
    }

    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn travels(&mut self, propagation: Nanos) {
        self.propagation = propagation;
        self.trips += 1;
    }

    fn flow(&self) -> u32 {
        (self.id % FLOWS) as u32
    }
}

/// Probes belong to so many flows in turn.
const FLOWS: usize = 3;

fn managed(kind: usize) -> Managed<Probe> {
    let (codel, pie) = (CodelSettings::default(), PieSettings::default());
    let cake = CakeSettings {
        bandwidth_bps: Some(20_000_000),
        memory_limit: Some(30_000),
        ..CakeSettings::default()
    };
    match kind {
        0 => Managed::Codel(Codel::new(30, codel)),
        1 => Managed::FqCodel(FqCodel::new(FqCodelSettings { limit: 30, ..FqCodelSettings::default() }, 1)),
        2 => Managed::Pie(Pie::new(30, pie, 1)),
        3 => Managed::FqPie(FqPie::new(FqPieSettings { limit: 30, ..FqPieSettings::default() }, 1)),
        4 => Managed::Sfq(Sfq::new(SfqSettings { limit: 30, ..SfqSettings::default() }, 1)),
        _ => Managed::Cake(Cake::new(cake, 1)),
    }
}

/// A row of a trace: how long it holds, delay, rate, connected.
type Part = (Nanos, Nanos, u64, bool);

fn trace(parts: &[Part], loss: f64) -> Arc<PathTrace> {
    let mut period_ns = 0;
    let mut rows = Vec::new();
    for &(duration, delay_ns, rate, connected) in parts {
        rows.push(Row {
            time_ns: period_ns,
            delay_ns,
            uplink_bps: rate,
            downlink_bps: rate,
            loss,
            path_id: 0,
            connected,
            event: Event::None,
        });
        period_ns += duration;
    }
    Arc::new(PathTrace { metadata: String::new(), rows, period_ns })
}

/// The part that holds at `at`, by adding up durations: nothing shared with the schedule's cursor.
fn part_at(parts: &[Part], offset: Nanos, at: Nanos) -> Part {
    let period: Nanos = parts.iter().map(|part| part.0).sum();
    let mut left = (at + offset) % period;
    for &part in parts {
        if left < part.0 {
            return part;
        }
        left -= part.0;
    }
    unreachable!("the remainder is within the period")
}

/// Instants in `from..to` at which an outage begins.
fn outage_begins(parts: &[Part], offset: Nanos, from: Nanos, to: Nanos) -> Vec<Nanos> {
    let mut begins = Vec::new();
    let period: Nanos = parts.iter().map(|part| part.0).sum();
    let mut at = 0;
    let mut connected = parts[parts.len() - 1].3;
    while at < to + offset + period {
        for part in parts {
            if connected && !part.3 && at >= offset && (from..to).contains(&(at - offset)) {
                begins.push(at - offset);
            }
            connected = part.3;
            at += part.0;
        }
    }
    begins
}

fn assert_conserved(link: &mut Link<Probe>, now: Nanos) {
    let (queued, in_flight, stats) = (link.queued_packets(now), link.in_flight_packets(now), link.stats(now));
    assert_eq!(
        stats.offered,
        stats.delivered + stats.dropped + stats.lost + queued + in_flight,
        "{stats:?}, {queued} queued, {in_flight} in flight at {now}"
    );
    assert!(
        queued <= link.limit.packets && link.queued_bytes <= link.limit.bytes,
        "{queued} queued at {now}"
    );
}

/// Offer all, taking out what arrives meanwhile at the very instants the link names, then drain the link.
fn drive(link: &mut Link<Probe>, offers: &[(Nanos, u32)]) -> Vec<(Nanos, Probe)> {
    let mut out = Vec::new();
    let mut now = 0;
    for (id, &(gap, bytes)) in offers.iter().enumerate() {
        now += gap;
        take_until(link, now, &mut out);
        link.offer(Probe::new(id, bytes, now), now);
        assert_conserved(link, now);
    }
    take_until(link, NEVER - 1, &mut out);
    let stats = link.stats(NEVER);
    assert_eq!(stats.offered, stats.delivered + stats.dropped + stats.lost, "a drained link holds nothing");
    assert_eq!(stats.delivered_bytes, out.iter().map(|(_, packet)| u64::from(packet.bytes)).sum::<u64>());
    out
}

fn take_until(link: &mut Link<Probe>, until: Nanos, out: &mut Vec<(Nanos, Probe)>) {
    let mut last = 0;
    while link.next_event() <= until {
        let now = link.next_event();
        assert!(now >= last, "time runs backwards");
        last = now;
        if now > 0 {
            assert!(link.poll(now - 1).is_none(), "nothing comes before its time");
        }
        while let Some(packet) = link.poll(now) {
            out.push((now, packet));
            assert_conserved(link, now);
        }
        assert!(link.next_event() > now, "an instant that was polled empty is over");
        assert_conserved(link, now);
    }
}

fn assert_fifo(out: &[(Nanos, Probe)]) {
    assert!(out.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1.id < pair[1].1.id), "{out:?}");
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let rate = prop_oneof![1 => Just(0), 4 => 1_000_u64..1_000_000_000, 1 => 1_u64..1_000];
    let part = (1_u64..20_000_000, 1_u64..30_000_000, rate, prop::bool::weighted(0.7));
    prop::collection::vec(part, 1..8).prop_filter("the link must carry something", |parts| {
        parts.iter().any(|part| part.3 && part.2 >= 100_000)
    })
}

fn offers() -> impl Strategy<Value = Vec<(Nanos, u32)>> {
    let gap = prop_oneof![2 => Just(0), 4 => 0_u64..300_000, 1 => 0_u64..40_000_000];
    prop::collection::vec((gap, 40_u32..=1500), 1..120)
}

fn limits() -> impl Strategy<Value = DropTail> {
    prop_oneof![
        (1_u64..40).prop_map(DropTail::of_packets),
        (1500_u64..40_000).prop_map(DropTail::of_bytes),
        Just(DropTail::INFINITE)
    ]
}

proptest! {
    #[test]
    fn every_packet_is_accounted_for_at_every_instant_and_none_overtakes(
        parts in parts(),
        offset in 0_u64..100_000_000,
        uncongested in any::<bool>(),
        offers in offers(),
        limit in limits(),
        loss in prop_oneof![Just(0.0), Just(1.0), 0.0..0.5],
        jitter in prop_oneof![Just(0), 0_u64..500_000],
    ) {
        let rate = uncongested.then_some(UNLIMITED);
        let schedule = Schedule::traced(trace(&parts, 0.0), Direction::Uplink, rate, offset);
        let mut link = Link::new(schedule, limit, Loss::new(loss, 3), Jitter::new(jitter, 4));
        let out = drive(&mut link, &offers);
        assert_fifo(&out);
        for &(arrival, packet) in &out {
            prop_assert_eq!(packet.trips, 1, "a packet that comes out was told its propagation once");
            prop_assert!(arrival >= packet.offered_at + packet.propagation, "faster than light");
            let lit = arrival - packet.propagation;
            prop_assert!(part_at(&parts, offset, lit.saturating_sub(1)).3 || part_at(&parts, offset, lit).3);
            let begins = outage_begins(&parts, offset, lit, arrival);
            prop_assert!(begins.is_empty(), "{packet:?} was in flight at {begins:?} and arrived at {arrival}");
        }
    }

    #[test]
    fn behind_every_discipline_packets_are_accounted_for_and_none_overtakes_another_of_its_flow(
        parts in parts(),
        offset in 0_u64..100_000_000,
        offers in offers(),
        kind in 0_usize..6,
        jitter in prop_oneof![Just(0), 0_u64..500_000],
    ) {
        // Controllers that compute every 15 ms have much to do while a packet takes hours.
        let parts: Vec<Part> =
            parts.iter().map(|&part| (part.0, part.1, if part.2 < 100_000 { 0 } else { part.2 }, part.3)).collect();
        let schedule = Schedule::traced(trace(&parts, 0.0), Direction::Uplink, None, offset);
        let mut link = Link::new(schedule, DropTail::INFINITE, Loss::new(0.1, 3), Jitter::new(jitter, 4))
            .managed_by(managed(kind));
        let out = drive(&mut link, &offers);
        prop_assert!(out.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        for flow in 0..FLOWS {
            let mine: Vec<_> = out.iter().copied().filter(|(_, packet)| packet.id % FLOWS == flow).collect();
            assert_fifo(&mine);
        }
        for &(arrival, packet) in &out {
            prop_assert_eq!(packet.trips, 1);
            prop_assert!(arrival >= packet.offered_at + packet.propagation, "faster than light");
            let lit = arrival - packet.propagation;
            prop_assert!(outage_begins(&parts, offset, lit, arrival).is_empty(), "{packet:?} outlived an outage");
        }
    }

    #[test]
    fn telemetry_tells_what_waited_when_a_packet_left_and_what_had_been_sent(
        parts in parts(),
        offers in offers(),
        limit in limits(),
        loss in prop_oneof![Just(0.0), 0.0..0.5],
    ) {
        let schedule = Schedule::traced(trace(&parts, 0.0), Direction::Uplink, None, 0);
        let mut link = Link::new(schedule, limit, Loss::new(loss, 3), Jitter::none()).observed();
        let mut accepted = Vec::new();
        let mut out = Vec::new();
        let mut now = 0;
        for (id, &(gap, bytes)) in offers.iter().enumerate() {
            now += gap;
            while link.next_event() <= now {
                let at = link.next_event();
                out.extend(std::iter::from_fn(|| link.poll(at).map(|packet| (packet, link.last_departure()))));
            }
            let probe = Probe::new(id, bytes, now);
            if link.offer(probe, now) == Offer::Accepted {
                accepted.push(probe);
            }
        }
        while link.next_event() < NEVER {
            let at = link.next_event();
            out.extend(std::iter::from_fn(|| link.poll(at).map(|packet| (packet, link.last_departure()))));
        }
        for (packet, departure) in out {
            let bytes = |probe: &Probe| u64::from(probe.bytes);
            let sent: u64 = accepted.iter().take_while(|other| other.id <= packet.id).map(bytes).sum();
            prop_assert_eq!(departure.sent_bytes, sent);
            let behind = accepted.iter().skip_while(|other| other.id <= packet.id);
            let waited: u64 = behind.filter(|other| other.offered_at < departure.at).map(bytes).sum();
            prop_assert_eq!(departure.queued_bytes, waited, "{:?} left at {}", packet, departure.at);
        }
    }

    #[test]
    fn the_link_never_carries_more_than_its_capacity(
        parts in parts(),
        offset in 0_u64..100_000_000,
        offers in offers(),
    ) {
        // With one delay for all rows, arrivals are departures moved.
        let parts: Vec<Part> = parts.iter().map(|&part| (part.0, 5_000_000, part.2, part.3)).collect();
        let schedule = Schedule::traced(trace(&parts, 0.0), Direction::Uplink, None, offset);
        let mut link = Link::new(schedule, DropTail::INFINITE, Loss::new(0.0, 0), Jitter::none());
        let out = drive(&mut link, &offers);
        for first in 0..out.len() {
            let mut bits = 0.0;
            let from = out[first].0 - 5_000_000;
            for &(arrival, packet) in &out[first + 1..] {
                bits += f64::from(packet.bytes) * 8.0;
                let capacity = capacity_bits(&parts, offset, from, arrival - 5_000_000);
                // Times are whole nanoseconds: at each end up to one's worth of bits, at most 1 at 1 Gbit/s.
                prop_assert!(bits <= capacity + 2.0, "{bits} bits in {from}..{arrival}, capacity {capacity}");
            }
        }
    }

    #[test]
    fn a_traced_link_does_what_a_model_of_single_microseconds_does(
        parts in prop::collection::vec((1_u64..3_000, 1_u64..2_000, 0_u64..200, prop::bool::weighted(0.75)), 1..6)
            .prop_filter("carries", |parts| parts.iter().any(|part| part.3 && part.2 > 20)),
        offset in 0_u64..10_000,
        offers in prop::collection::vec((prop_oneof![Just(0), 0_u64..400, 0_u64..3_000], 40_u32..=1500), 1..60),
        limit in limits(),
        discards in any::<bool>(),
    ) {
        let expected = Model { discards, ..Model::new(&parts, offset, limit) }.run(&offers);
        let scaled: Vec<Part> =
            parts.iter().map(|&(time, delay, rate, connected)| (time * US, delay * US, rate * 1_000_000, connected)).collect();
        let schedule = Schedule::traced(trace(&scaled, 0.0), Direction::Downlink, None, offset * US);
        let mut link = Link::new(schedule, limit, Loss::new(0.0, 0), Jitter::none());
        if discards {
            link = link.discarding_in_outages();
        }
        let scaled_offers: Vec<_> = offers.iter().map(|&(gap, bytes)| (gap * US, bytes)).collect();
        let out = drive(&mut link, &scaled_offers);
        let arrivals: Vec<_> = out.iter().map(|&(arrival, packet)| (packet.id, arrival.div_ceil(US))).collect();
        prop_assert_eq!(arrivals, expected.arrivals);
        prop_assert_eq!((link.stats(NEVER).dropped, link.stats(NEVER).lost), (expected.dropped, expected.lost));
    }

    #[test]
    fn a_constant_link_does_what_a_model_of_single_microseconds_does(
        rate in 1_u64..400,
        delay in 0_u64..2_000,
        offers in prop::collection::vec((prop_oneof![Just(0), 0_u64..400], 40_u32..=1500), 1..80),
        limit in limits(),
    ) {
        let expected = Model::new(&[(1_000, delay, rate, true)], 0, limit).run(&offers);
        let schedule = Schedule::constant(delay * US, rate * 1_000_000);
        let mut link = Link::new(schedule, limit, Loss::new(0.0, 0), Jitter::none());
        let scaled_offers: Vec<_> = offers.iter().map(|&(gap, bytes)| (gap * US, bytes)).collect();
        let out = drive(&mut link, &scaled_offers);
        let arrivals: Vec<_> = out.iter().map(|&(arrival, packet)| (packet.id, arrival.div_ceil(US))).collect();
        prop_assert_eq!(arrivals, expected.arrivals);
        prop_assert_eq!((link.stats(NEVER).dropped, link.stats(NEVER).lost), (expected.dropped, 0));
    }

    #[test]
    fn an_uncongested_link_only_delays(delay in 0_u64..1_000_000_000, offers in offers()) {
        let schedule = Schedule::constant(delay, UNLIMITED);
        let mut link = Link::new(schedule, DropTail::INFINITE, Loss::new(0.0, 0), Jitter::none());
        let out = drive(&mut link, &offers);
        prop_assert_eq!(out.len(), offers.len());
        prop_assert!(out.iter().all(|&(arrival, packet)| arrival == packet.offered_at + delay));
    }

    #[test]
    fn a_link_that_only_delays_does_what_one_with_a_queue_without_end_does(
        delay in 0_u64..100_000, jitter in 0_u64..50_000, seed: u64, offers in offers(),
    ) {
        let link = |limit| {
            let schedule = Schedule::constant(delay, UNLIMITED);
            Link::new(schedule, limit, Loss::new(0.0, 0), Jitter::new(jitter, seed))
        };
        // The limit of one counts packets, never that many, so that it is asked for each.
        let (mut only_delays, mut queues) = (link(DropTail::INFINITE), link(DropTail::of_packets(1 << 40)));
        prop_assert!(only_delays.only_delays() && !queues.only_delays());
        let out = drive(&mut only_delays, &offers);
        prop_assert_eq!(&out, &drive(&mut queues, &offers));
        prop_assert_eq!(only_delays.stats(NEVER), queues.stats(NEVER));
        let mut crossed = link(DropTail::INFINITE);
        for (end, packet) in out {
            let mut packet = Probe { propagation: 0, trips: 0, ..packet };
            let offered_at = packet.offered_at;
            prop_assert_eq!(crossed.cross(&mut packet, offered_at), end);
            prop_assert_eq!((packet.propagation, packet.trips), (delay, 1));
        }
    }
}

fn capacity_bits(parts: &[Part], offset: Nanos, from: Nanos, to: Nanos) -> f64 {
    let period: Nanos = parts.iter().map(|part| part.0).sum();
    let (from, to) = (from + offset, to + offset);
    let mut bits = 0.0;
    let mut start = from - from % period;
    while start < to {
        for part in parts {
            let overlap = (start + part.0).min(to).saturating_sub(start.max(from));
            if part.3 {
                bits += overlap as f64 * 1e-9 * part.2 as f64;
            }
            start += part.0;
        }
    }
    bits
}

/// The link as one would first write it: each microsecond, some bits leave. Rates in bits a microsecond.
struct Model<'a> {
    parts: &'a [Part],
    offset: u64,
    limit: DropTail,
    /// Outages take the queue and what comes meanwhile.
    discards: bool,
    now: u64,
    /// Number, size and bits yet to leave.
    queue: VecDeque<(usize, u32, u64)>,
    /// Number and end of its journey.
    flying: VecDeque<(usize, u64)>,
    last_end: u64,
    result: Outcome,
}

#[derive(Debug, Default)]
struct Outcome {
    arrivals: Vec<(usize, u64)>,
    dropped: u64,
    lost: u64,
}

impl<'a> Model<'a> {
    fn new(parts: &'a [Part], offset: u64, limit: DropTail) -> Self {
        Self {
            parts,
            offset,
            limit,
            discards: false,
            now: 0,
            queue: VecDeque::new(),
            flying: VecDeque::new(),
            last_end: 0,
            result: Outcome::default(),
        }
    }

    fn run(mut self, offers: &[(u64, u32)]) -> Outcome {
        let mut at = 0;
        for (id, &(gap, bytes)) in offers.iter().enumerate() {
            at += gap;
            while self.now < at {
                self.tick();
            }
            self.discard();
            if self.discards && !part_at(self.parts, self.offset, self.now).3 {
                self.result.lost += 1;
                continue;
            }
            let bytes_queued: u64 = self.queue.iter().map(|packet| u64::from(packet.1)).sum();
            let fits = (self.queue.len() as u64) < self.limit.packets
                && bytes_queued + u64::from(bytes) <= self.limit.bytes;
            if fits {
                self.queue.push_back((id, bytes, u64::from(bytes) * 8));
            } else {
                self.result.dropped += 1;
            }
        }
        while !(self.queue.is_empty() && self.flying.is_empty()) {
            self.tick();
        }
        self.result
    }

    fn discard(&mut self) {
        if self.discards && !part_at(self.parts, self.offset, self.now).3 {
            self.result.lost += self.queue.len() as u64;
            self.queue.clear();
        }
    }

    /// From `now` to the next microsecond.
    fn tick(&mut self) {
        let (_, delay, mut bits, connected) = part_at(self.parts, self.offset, self.now);
        self.land();
        self.discard();
        if !connected {
            self.result.lost += self.flying.len() as u64;
            self.flying.clear();
            self.last_end = self.now;
            if self.queue.front().is_some_and(|packet| packet.2 < u64::from(packet.1) * 8) {
                self.queue.pop_front();
                self.result.lost += 1;
            }
            bits = 0;
        }
        self.now += 1;
        while bits > 0 {
            let Some((id, _, left)) = self.queue.front_mut() else { break };
            let leaving = bits.min(*left);
            bits -= leaving;
            *left -= leaving;
            if *left == 0 {
                self.last_end = (self.now + delay).max(self.last_end);
                self.flying.push_back((*id, self.last_end));
                self.queue.pop_front();
            }
        }
        self.land();
    }

    fn land(&mut self) {
        while self.flying.front().is_some_and(|packet| packet.1 <= self.now) {
            self.result.arrivals.extend(self.flying.pop_front());
        }
    }
}

/// 12 Mbit/s: a packet of 1,500 bytes a millisecond.
fn at_12_mbps(parts: &[Part], offset: Nanos) -> Link<Probe> {
    let schedule = Schedule::traced(trace(parts, 0.0), Direction::Uplink, None, offset);
    Link::new(schedule, DropTail::INFINITE, Loss::new(0.0, 0), Jitter::none())
}

const MS: Nanos = 1_000_000;
const RATE: u64 = 12_000_000;

#[test]
fn an_outage_drops_what_flies_and_what_is_half_out_but_keeps_the_queue() {
    // Departures at 1, 2, … ms; 10 ms of flight; the outage begins at 4.5 ms and ends at 6.5 ms.
    let parts =
        [(4_500_000, 2 * MS, RATE, true), (2 * MS, 2 * MS, RATE, false), (100 * MS, 2 * MS, RATE, true)];
    let mut link = at_12_mbps(&parts, 0);
    let out = drive(&mut link, &[(0, 1500); 7]);
    // 0 and 1 arrive at 3 and 4 ms; 2 and 3 fly, 4 is half out; 5 and 6 wait.
    let arrivals: Vec<_> = out.iter().map(|&(arrival, packet)| (packet.id, arrival)).collect();
    assert_eq!(arrivals, [(0, 3 * MS), (1, 4 * MS), (5, 9_500_000), (6, 10_500_000)]);
    assert_eq!(link.stats(NEVER).lost, 3);
}

#[test]
fn an_outage_that_discards_takes_the_queue_and_what_comes_until_it_ends() {
    // Valentine and Parisis, section IV-D: "During these interruptions, all in-flight packets and any queued packets are
    // discarded." The outage lasts from 4.5 to 6.5 ms; 7 comes during it, 8 as it ends.
    let parts =
        [(4_500_000, 2 * MS, RATE, true), (2 * MS, 2 * MS, RATE, false), (100 * MS, 2 * MS, RATE, true)];
    let offers = [&[(0, 1500); 7][..], &[(5 * MS, 1500), (1_500_000, 1500)]].concat();
    let mut link = at_12_mbps(&parts, 0).discarding_in_outages();
    let arrivals: Vec<_> =
        drive(&mut link, &offers).iter().map(|&(arrival, packet)| (packet.id, arrival)).collect();
    assert_eq!(arrivals, [(0, 3 * MS), (1, 4 * MS), (8, 9_500_000)]);
    assert_eq!(link.stats(NEVER), LinkStats { offered: 9, delivered: 3, lost: 6, ..link.stats(NEVER) });
}

#[test]
fn what_an_outage_discards_was_never_sent() {
    let parts =
        [(4_500_000, 2 * MS, RATE, true), (2 * MS, 2 * MS, RATE, false), (100 * MS, 2 * MS, RATE, true)];
    let mut link = at_12_mbps(&parts, 0).discarding_in_outages().observed();
    drive(&mut link, &[&[(0, 1500); 7][..], &[(7 * MS, 1500)]].concat());
    // Five before the outage, the last of them half, and the one after it.
    assert_eq!(link.last_departure().sent_bytes, 6 * 1500);
}

#[test]
fn an_outage_that_discards_empties_every_discipline_but_a_shaper() {
    let parts = [(4_500_000, MS, RATE, true), (2 * MS, MS, RATE, false), (100 * MS, MS, RATE, true)];
    for kind in 0..5 {
        let mut link = at_12_mbps(&parts, 0).discarding_in_outages().managed_by(managed(kind));
        let arrivals: Vec<_> =
            drive(&mut link, &[(0, 1500); 9]).iter().map(|&(arrival, _)| arrival).collect();
        assert_eq!(arrivals, [2 * MS, 3 * MS, 4 * MS], "discipline {kind}");
    }
}

#[test]
fn an_outage_across_the_end_of_the_period_is_one_outage() {
    let parts = [(2 * MS, MS, RATE, false), (6 * MS, MS, RATE, true), (2 * MS, MS, RATE, false)];
    let mut link = at_12_mbps(&parts, 7 * MS);
    // Replay begins at 7 ms: the outage lasts from 1 to 5 ms.
    let out = drive(&mut link, &[(2 * MS, 1500), (0, 1500)]);
    let arrivals: Vec<_> = out.iter().map(|&(arrival, _)| arrival).collect();
    assert_eq!((arrivals, link.stats(NEVER).lost), (vec![7 * MS, 8 * MS], 0));
}

#[test]
fn a_replay_that_begins_inside_an_outage_waits_for_its_end() {
    let parts = [(MS, MS, RATE, true), (5 * MS, MS, RATE, false), (20 * MS, MS, RATE, true)];
    let out = drive(&mut at_12_mbps(&parts, 3 * MS), &[(0, 1500)]);
    assert_eq!(out[0].0, 3 * MS + MS + MS);
}

#[test]
fn a_packet_that_arrives_as_the_outage_begins_has_arrived() {
    let parts = [(3 * MS, 2 * MS, RATE, true), (MS, 2 * MS, RATE, false)];
    let out = drive(&mut at_12_mbps(&parts, 0), &[(0, 1500)]);
    assert_eq!(out[0].0, 3 * MS);
}

#[test]
fn a_path_that_gets_shorter_does_not_reorder() {
    let parts = [(MS, 20 * MS, RATE, true), (200 * MS, 5 * MS, RATE, true)];
    let mut link = at_12_mbps(&parts, 0);
    let out = drive(&mut link, &[(0, 1500), (0, 1500)]);
    assert_eq!((out[0].0, out[1].0), (21 * MS, 21 * MS), "the second waits for the first");
    assert_eq!((out[0].1.propagation, out[1].1.propagation), (20 * MS, 5 * MS));
}

#[test]
fn capacity_that_falls_to_zero_holds_packets_without_losing_them() {
    let parts = [(500_000, MS, RATE, true), (9 * MS, MS, 0, true), (100 * MS, MS, RATE, true)];
    let mut link = at_12_mbps(&parts, 0);
    let out = drive(&mut link, &[(0, 1500)]);
    assert_eq!((out[0].0, link.stats(NEVER).lost), (11 * MS, 0));
}

#[test]
#[should_panic(expected = "a link needs capacity at some time")]
fn a_link_that_never_carries_anything_is_refused() {
    at_12_mbps(&[(MS, MS, 0, true), (MS, MS, RATE, false)], 0);
}

#[test]
fn the_loss_of_the_trace_is_applied_per_packet() {
    let schedule = Schedule::traced(trace(&[(MS, MS, 0, true)], 0.25), Direction::Uplink, Some(RATE), 0);
    let mut link = Link::new(schedule, DropTail::INFINITE, Loss::new(0.0, 11), Jitter::none());
    drive(&mut link, &[(MS, 1500); 20_000]);
    // Four standard deviations of 20,000 draws at 1/4 are 245.
    assert!(link.stats(NEVER).lost.abs_diff(5_000) < 245, "{}", link.stats(NEVER).lost);
}
