use super::*;
use crate::packet::{Head, Kind, Packet};

const MS: Nanos = 1_000_000;

fn packet(flow: u32, seq: u64, timestamp: Nanos) -> Packet {
    Head { seq, timestamp, ..Head::new(Kind::Data, 1500, flow as usize, 0) }.into()
}

fn pass(
    headers: &mut Headers,
    packet: &Head,
    port: &mut Port,
    (link, rate_bps): (u32, u64),
    departure: Departure,
    queued_bytes: Option<u64>,
) {
    headers.leave(packet, port, link, rate_bps, departure);
    headers.go_on(packet, queued_bytes);
}

fn departure(at: Nanos) -> Departure {
    Departure { at, queued_bytes: 3_000, sent_bytes: at }
}

#[test]
fn a_packet_collects_a_hop_at_each_link_and_an_acknowledgement_finds_them() {
    let mut headers = Headers::new(2, Size::default());
    let mut ports = [Port::new(1), Port::new(1)];
    let header = Header { base_rtt: 20 * MS, window: 10 };
    headers.begin(7, 1, 100, header, 4_500);
    pass(&mut headers, &packet(0, 7, 100), &mut ports[0], (3, 80_000_000), departure(MS), Some(1_500));
    assert!(headers.collected(7).is_none(), "it is on its way");
    pass(&mut headers, &packet(0, 7, 100), &mut ports[1], (5, 8_000_000), departure(2 * MS), None);
    let hops = headers.collected(7).expect("it has arrived");
    let telemetry: Vec<_> = hops
        .iter()
        .map(|hop| (hop.link, hop.queue_found, hop.queue_left, hop.departed_at, hop.rate))
        .collect();
    assert_eq!(telemetry, [(3, 4_500, 3_000, MS, 10_000_000), (5, 1_500, 3_000, 2 * MS, 1_000_000)]);
    assert!(headers.collected(7 + 64).is_none());
}

#[test]
fn the_bytes_of_header_and_records_are_known_on_the_way_and_echoed() {
    let mut headers = Headers::new(2, Size { header: 12, hop: 28 });
    let mut port = Port::new(1);
    assert_eq!(headers.header_bytes(), 12);
    headers.begin(7, 1, 100, Header::default(), 0);
    let sent = packet(0, 7, 100);
    assert_eq!(headers.added_bytes(&sent), 12);
    assert_eq!(headers.leave(&sent, &mut port, 3, 8, departure(MS)), 28);
    assert_eq!(headers.leave(&sent, &mut port, 4, 8, departure(2 * MS)), 28);
    headers.go_on(&sent, None);
    assert_eq!(headers.added_bytes(&sent), 68);
    assert_eq!(headers.answer(&Head { seq: 8, ..Head::new(Kind::Ack, 52, 0, 0) }, SackBlocks::default()), 68);
    // Another transmission has its own header.
    assert_eq!(headers.added_bytes(&packet(0, 7, 900)), 0);
}

#[test]
fn a_packet_sent_again_does_not_mix_with_its_first_transmission() {
    let mut headers = Headers::new(1, Size::default());
    let mut port = Port::new(1);
    headers.begin(7, 1, 100, Header::default(), 0);
    headers.begin(7, 1, 900, Header::default(), 0);
    pass(&mut headers, &packet(0, 7, 100), &mut port, (3, 8), departure(MS), None);
    assert!(headers.collected(7).is_none());
    pass(&mut headers, &packet(0, 7, 900), &mut port, (3, 8), departure(2 * MS), None);
    assert_eq!(headers.collected(7).map(<[Hop]>::len), Some(1));
}

#[test]
fn a_flow_with_more_packets_out_gets_more_room_and_keeps_what_is_collected() {
    let mut headers = Headers::new(1, Size::default());
    let mut port = Port::new(1);
    for seq in 0..1_000 {
        headers.begin(seq, seq as u32 + 1, seq, Header::default(), 0);
        pass(&mut headers, &packet(0, seq, seq), &mut port, (3, 8), departure(seq), None);
    }
    for seq in 0..1_000 {
        let hops = headers.collected(seq).expect("it is kept");
        assert_eq!((hops.len(), hops[0].departed_at), (1, Nanos::from(seq)));
    }
}

#[test]
fn a_route_with_more_hops_gets_more_room_and_keeps_what_is_collected() {
    let mut headers = Headers::new(2, Size { header: 0, hop: 1 });
    let mut port = Port::new(1);
    for seq in 0..3 {
        headers.begin(seq, 3, seq, Header::default(), 0);
    }
    for link in 0..300 {
        for seq in 0..3 {
            let grows = headers.leave(&packet(0, seq, seq), &mut port, link, 8, departure(u64::from(link)));
            assert_eq!(grows, u16::from((link as usize) < MAX_HOPS));
        }
    }
    for seq in 0..3 {
        headers.go_on(&packet(0, seq, seq), None);
        let links = headers.collected(seq).expect("it has arrived").iter().map(|hop| hop.link);
        assert!(links.eq(0..MAX_HOPS as u32));
    }
}

#[test]
fn a_port_averages_over_flows_not_over_packets_and_counts_them() {
    // Section III-B: three flows of 20, 50 and 80 ms that send 500, 40 and 100 packets per second.
    let mut port = Port::new(4);
    let flows = [(20 * MS, 10, 2 * MS), (50 * MS, 2, 25 * MS), (80 * MS, 8, 10 * MS)];
    let mut measured = (0, 0);
    for now in (1..1_000).map(|ms| ms * MS) {
        for (flow, &(base_rtt, window, gap)) in flows.iter().enumerate() {
            if now % gap == 0 {
                measured = port.observe(now, flow as u32, Header { base_rtt, window });
            }
        }
    }
    assert_eq!(measured.0, 3);
    assert!((48 * MS..52 * MS).contains(&measured.1), "{}", measured.1);
    // The second flow ends and is forgotten an interval later.
    for now in (1_000..1_200).map(|ms| ms * MS) {
        for (flow, &(base_rtt, window, gap)) in flows.iter().enumerate() {
            if flow != 1 && now % gap == 0 {
                measured = port.observe(now, flow as u32, Header { base_rtt, window });
            }
        }
    }
    assert_eq!(measured.0, 2);
}

#[test]
fn a_packet_that_knows_no_rtt_is_counted_but_not_averaged() {
    let mut port = Port::new(2);
    for now in (1..200).map(|ms| ms * MS) {
        port.observe(now, 0, Header { base_rtt: 30 * MS, window: 10 });
        port.observe(now, 1, Header { base_rtt: 0, window: 10 });
    }
    assert_eq!(port.observe(200 * MS, 0, Header::default()), (2, 30 * MS));
}

#[test]
fn an_acknowledgement_tells_of_the_packet_that_came_last_and_lost_ones_are_skipped() {
    let mut headers = Headers::new(1, Size::default());
    let mut port = Port::new(1);
    let ack = |cumulative: u64| Packet::from(Head { kind: Kind::Ack, ..packet(0, cumulative, 55).head });
    for seq in 0..4 {
        headers.begin(seq, 4, seq, Header::default(), 0);
    }
    for seq in 0..4 {
        pass(&mut headers, &packet(0, seq, seq), &mut port, (3, 8), departure(seq), None);
        if seq % 2 == 1 {
            headers.answer(&ack(seq + 1), SackBlocks::default());
        }
    }
    // The first ACK is lost.
    let came = Packet::from(Head { propagation: 7, ..ack(4).head });
    assert_eq!(headers.acknowledged(&came, &came.sacks).map(|hops| hops[0].departed_at), Some(3));
    assert!(headers.answers.is_empty());
    assert!(headers.acknowledged(&ack(2), &ack(2).sacks).is_none(), "an older one that comes later");
}

#[test]
fn duplicate_acknowledgements_are_told_apart_by_what_they_selectively_acknowledge() {
    let mut headers = Headers::new(1, Size::default());
    let mut port = Port::new(1);
    let duplicate = |end: u64| {
        let mut ack = Packet::from(Head { kind: Kind::Ack, ..packet(0, 1, 55).head });
        if end > 2 {
            ack.sacks.push(1, 2, end);
        }
        ack
    };
    for seq in 0..4 {
        headers.begin(seq, 4, seq, Header::default(), 0);
    }
    // Packet 1 is lost. So is the ACK of packet 0, which equals the others except for the SACK blocks.
    for (seq, end) in [(0, 0), (2, 3), (3, 4)] {
        pass(&mut headers, &packet(0, seq, seq), &mut port, (3, 8), departure(seq), None);
        headers.answer(&duplicate(end), duplicate(end).sacks);
    }
    let mut departed_at =
        |end| headers.acknowledged(&duplicate(end), &duplicate(end).sacks).map(|hops| hops[0].departed_at);
    assert_eq!([departed_at(3), departed_at(4)], [Some(2), Some(3)]);
}
