//! Head drop behind a constant overload.

use super::*;

const MS: Nanos = 1_000_000;

/// Delays of what a full queue of 50 packets lets through of one packet each half millisecond, at one each millisecond.
fn delays(link: Link<Probe>) -> Vec<Nanos> {
    let mut link = link;
    let out = drive(&mut link, &[(MS / 2, 1500); 1_000]);
    assert_fifo(&out);
    let full = out.into_iter().filter(|(_, packet)| (200..800).contains(&packet.id));
    full.map(|(arrival, packet)| arrival - packet.offered_at).collect()
}

#[test]
fn a_packet_that_gets_through_a_full_queue_leaves_when_as_many_have_come_behind_it_as_fit() {
    let limit = DropTail::of_packets(50);
    let link = || Link::new(Schedule::constant(0, 12_000_000), limit, Loss::new(0.0, 0), Jitter::none());
    let drop_tail = delays(link());
    assert!(drop_tail.len().abs_diff(300) <= 1, "half of them: {}", drop_tail.len());
    assert!(drop_tail.iter().all(|delay| (49 * MS..=50 * MS).contains(delay)), "{drop_tail:?}");
    // At twice the capacity, arrivals take half of the time that departures take.
    let head_drop = delays(link().managed_by(Managed::HeadDrop(HeadDrop::new(limit))));
    assert!(head_drop.len().abs_diff(300) <= 1, "half of them: {}", head_drop.len());
    assert!(head_drop.iter().all(|delay| (24 * MS..=26 * MS).contains(delay)), "{head_drop:?}");
}
