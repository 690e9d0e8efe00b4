//! Packets that collect telemetry: passages of switches, and a shorter way for flows without other extras.

use leo_cc::CongestionControl;
use leo_link::{NEVER, Nanos};
use leo_transport::{HEADER_BYTES, SackBlocks};

use super::Simulation;
use crate::ecn::Ecn;
use crate::packet::{Arrival, Head, Kind};
use crate::path::Next;
use crate::telemetry::bandwidth_bps;

impl Simulation {
    /// Update the telemetry header of a packet that leaves the link `from` for the `next` one. Return the bytes by which the
    /// packet grows.
    #[inline(never)]
    pub(super) fn note_passage(&mut self, packet: &Head, from: usize, next: Option<Next>) -> u16 {
        let flow = &mut self.flows[packet.flow as usize];
        let Some(headers) = flow.headers.as_mut().filter(|_| packet.kind == Kind::Data) else { return 0 };
        let mut grows = 0;
        // Access links have no port: they model distance, not a switch.
        if let Some(port) = self.ports.get_mut(from) {
            let departure = self.links[from].last_departure();
            let rate = bandwidth_bps(self.links[from].schedule(), departure.at);
            grows = headers.leave(packet, port, from as u32, rate, departure);
        }
        let next = match next {
            Some(Next::Nowhere) => return grows,
            next => next.and_then(Next::link),
        };
        let queued_bytes = next.map(|link| self.links[link as usize].queued_bytes(self.now));
        headers.go_on(packet, queued_bytes);
        grows
    }

    /// Take a packet without extras of a [measured](crate::flow::Flow::measured) flow from the last link of its path.
    #[inline(never)]
    pub(super) fn arrive_measured(&mut self, link: usize, head: &Head) {
        let arrival = Arrival::of(head, self.now);
        #[cfg(debug_assertions)]
        self.check_order(&Head { hop: head.hop + 1, ..*head });
        if head.kind == Kind::Data {
            self.note_passage(head, link, None);
            let flow = &mut self.flows[arrival.flow];
            if arrival.pushes {
                flow.receiver.on_push();
            }
            let Arrival { seq, timestamp, left_ms, .. } = arrival;
            let ack = flow.receiver.on_data(self.now, seq, timestamp, left_ms);
            self.answer(arrival.flow, ack, arrival.propagation);
            return;
        }
        let flow = &mut self.flows[arrival.flow];
        let headers = flow.headers.as_mut();
        if let Some(hops) = headers.and_then(|headers| headers.acknowledged(head, &SackBlocks::default())) {
            flow.sender.scheme_mut().on_telemetry(self.now, hops);
        }
        self.acknowledge(&arrival, SackBlocks::default(), false);
        // Only the sender's timers have changed.
        let timer = self.send_allowed(arrival.flow);
        self.events.set_flow_earlier(arrival.flow, timer);
    }

    /// Send the ACK `head` of a measured flow, without options.
    pub(super) fn send_measured_ack(&mut self, head: Head) {
        let headers = self.flows[head.flow as usize].headers.as_mut();
        let echoed = headers.map_or(0, |headers| headers.answer(&head, SackBlocks::default()));
        if let Some(first) = self.paths.enter(head.path, true) {
            self.send_head(first, Head { bytes: head.bytes + echoed as u16, ..head });
        }
    }

    /// Send what a measured flow may send now. Return when its sender's next timer is due.
    #[inline(always)]
    pub(super) fn send_measured(&mut self, index: usize) -> Nanos {
        let now = self.now;
        let flow = &mut self.flows[index];
        let path = flow.routes.path();
        let (link_index, goes_on) = self.paths.first(path);
        let link = &mut self.links[link_index];
        let idle = link.next_event() == NEVER;
        while let Some(transmit) = flow.sender.transmit(now) {
            let payload = flow.sender.payload_bytes(transmit.seq);
            let header = flow.begin_header(transmit.seq, now, link.queued_bytes(now));
            let head = Head::new(Kind::Data, payload + HEADER_BYTES + header, index, path);
            link.offer_compact(
                Head {
                    ecn: Ecn::default().pushing(transmit.pushes),
                    seq: transmit.seq,
                    special: head.special.going_on(goes_on),
                    timestamp: now,
                    sent_ms_low: flow.echo_ms as u16,
                    ..head
                },
                now,
            );
        }
        if idle {
            self.events.set_link(link_index, link.next_event());
        }
        debug_assert!(flow.sender.is_watched(now), "no timer covers the flight: {flow:?}");
        flow.sender.next_timer()
    }
}
