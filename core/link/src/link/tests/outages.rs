//! Effects of outages, path changes and loss on single packets.

use super::*;

/// At 12 Mbit/s a packet of 1,500 bytes takes 1 ms.
fn at_12_mbps(parts: &[Part], offset: Nanos) -> Link<Probe> {
    let schedule = Schedule::traced(trace(parts, 0.0), Direction::Uplink, None, offset);
    Link::new(schedule, DropTail::INFINITE, Loss::new(0.0, 0), Jitter::none())
}

const MS: Nanos = 1_000_000;
const RATE: u64 = 12_000_000;

#[test]
fn an_outage_drops_what_flies_and_what_is_half_out_but_keeps_the_queue() {
    // Departures are at 1, 2, … ms, propagation takes 2 ms, and the outage lasts from 4.5 to 6.5 ms.
    let parts =
        [(4_500_000, 2 * MS, RATE, true), (2 * MS, 2 * MS, RATE, false), (100 * MS, 2 * MS, RATE, true)];
    let mut link = at_12_mbps(&parts, 0);
    let out = drive(&mut link, &[(0, 1500); 7]);
    // 0 and 1 arrive at 3 and 4 ms; 2 and 3 are in flight, 4 is half sent; 5 and 6 wait.
    let arrivals: Vec<_> = out.iter().map(|&(arrival, packet)| (packet.id, arrival)).collect();
    assert_eq!(arrivals, [(0, 3 * MS), (1, 4 * MS), (5, 9_500_000), (6, 10_500_000)]);
    assert_eq!(link.stats(NEVER).lost, 3);
}

#[test]
fn an_outage_that_discards_takes_the_queue_and_what_comes_until_it_ends() {
    // Valentine and Parisis, section IV-D: "During these interruptions, all in-flight packets and any queued packets are
    // discarded." The outage lasts from 4.5 to 6.5 ms; 7 is offered during it, 8 as it ends.
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
    // Five packets before the outage, the last only half sent, and the one after it.
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
    // Replay begins at 7 ms, so the outage lasts from 1 to 5 ms.
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
