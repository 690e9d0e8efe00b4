//! Sending: what a flow may send now, and the links that it crosses.

use leo_link::{Link, NEVER, Nanos, Offer};
use leo_transport::{HEADER_BYTES, PACKET_BYTES};

use super::Simulation;
use crate::ecn::Ecn;
use crate::packet::{Head, Kind, Packet};
use crate::path::Next;

impl Simulation {
    /// Send the packets that the flow may send now, and update its timers.
    pub(crate) fn pump(&mut self, index: usize) {
        self.send_allowed(index);
        self.events.set_flow_earlier(index, self.flows[index].next_event());
    }

    /// Send the packets that the flow may send now. Return when its sender's next timer is due.
    #[inline(never)]
    pub(super) fn send_allowed(&mut self, index: usize) -> Nanos {
        if self.paths.forwarding().is_some() {
            self.send_forwarded(index);
            self.flows[index].sender.next_timer()
        } else if self.flows[index].plain {
            self.send_plain(index)
        } else if self.flows[index].measured {
            self.send_measured(index)
        } else {
            self.send_any(index);
            self.flows[index].sender.next_timer()
        }
    }

    /// Send what a plain flow may send now, burst by burst.
    #[inline(always)]
    fn send_plain(&mut self, index: usize) -> Nanos {
        let now = self.now;
        let flow = &mut self.flows[index];
        while let Some(burst) = flow.sender.transmit_burst(now) {
            let path = flow.routes.path();
            let (link_index, goes_on) = self.paths.first(path);
            let link = &mut self.links[link_index];
            let idle = link.next_event() == NEVER;
            let (first, last) = (burst.seq, burst.count - 1);
            let head = |bytes| {
                let head = Head::new(Kind::Data, bytes, index, path);
                let special = head.special.going_on(goes_on);
                Head { timestamp: now, sent_ms_low: flow.echo_ms as u16, special, ..head }
            };
            let number = |head: &mut Head, place: u32| {
                head.seq = first + u64::from(place);
                head.ecn = Ecn::default().pushing(burst.pushes && place == last);
            };
            // Whether they are dropped is ignored: the sender detects a drop like any other loss. The last may be short.
            let last_bytes = flow.sender.payload_bytes(first + u64::from(last)) + HEADER_BYTES;
            if last_bytes == PACKET_BYTES {
                link.offer_burst(burst.count, head(PACKET_BYTES), now, number);
            } else {
                let mut short = head(last_bytes);
                number(&mut short, last);
                for place in 0..last {
                    let mut whole = head(PACKET_BYTES);
                    number(&mut whole, place);
                    link.offer(whole.into(), now);
                }
                link.offer(short.into(), now);
            }
            if idle {
                self.events.set_link(link_index, link.next_event());
            }
            if burst.fills_window {
                break;
            }
        }
        debug_assert!(flow.sender.is_watched(now), "no timer covers the flight: {flow:?}");
        flow.sender.next_timer()
    }

    /// Send what any flow may send now, packet by packet.
    #[inline(never)]
    fn send_any(&mut self, index: usize) {
        self.look_around(index);
        let flow = &mut self.flows[index];
        let path = flow.routes.path();
        let (link_index, goes_on) = self.paths.first(path);
        let link = &mut self.links[link_index];
        let echo = flow.echo_ms as u16;
        let idle = link.next_event() == NEVER;
        let send = |link: &mut Link<Packet>, seq, bytes: u32, ecn| {
            // As for a plain flow, the result is ignored.
            let head = Head::new(Kind::Data, bytes, index, path);
            let special = head.special.going_on(goes_on);
            let packet = Head { ecn, seq, special, timestamp: self.now, sent_ms_low: echo, ..head }.into();
            let _: Offer = link.offer(packet, self.now);
        };
        if flow.sends_datagrams() {
            while let Some(packet) = flow.load.as_mut().and_then(|load| load.take(self.now)) {
                send(link, packet.number, packet.bytes, packet.ecn);
            }
        } else {
            while flow.may_send(self.now) {
                let Some(transmit) = flow.sender.transmit(self.now) else { break };
                flow.note_sent(self.now, transmit.seq);
                let mut bytes = flow.sender.payload_bytes(transmit.seq) + HEADER_BYTES;
                if flow.headers.is_some() {
                    bytes += flow.begin_header(transmit.seq, self.now, link.queued_bytes(self.now));
                }
                let ecn = flow.ecn_of(transmit.retransmission);
                send(link, transmit.seq, bytes, ecn.pushing(flow.oracle.is_none() && transmit.pushes));
            }
            flow.end_sending(self.now);
            debug_assert!(flow.sender.is_watched(self.now), "no timer covers the flight: {flow:?}");
        }
        if idle {
            self.events.set_link(link_index, link.next_event());
        }
    }

    /// Send a packet to the next link.
    #[inline(never)]
    pub(super) fn forward(&mut self, next: Next, mut packet: Packet) {
        let Some((link, at)) = self.cross(next, &mut packet) else { return };
        let target = &mut self.links[link];
        let idle = target.next_event() == NEVER;
        target.offer(packet, at);
        if idle {
            self.events.wake_link(link, self.links[link].next_event());
        }
    }

    /// Send a packet without options to the next link.
    #[inline(always)]
    pub(super) fn send_head(&mut self, next: Next, mut head: Head) {
        let Some((link, at)) = self.cross(next, &mut head) else { return };
        let target = &mut self.links[link];
        let idle = target.next_event() == NEVER;
        if target.only_delays() {
            target.offer_delayed(head, at);
        } else {
            target.offer_compact(head, at);
        }
        if idle {
            self.events.wake_link(link, self.links[link].next_event());
        }
    }

    /// Return the link to offer a packet to, and when, after it has crossed the link before if both are one step; `None` if it
    /// is dropped.
    #[inline(always)]
    fn cross(&mut self, next: Next, head: &mut Head) -> Option<(usize, Nanos)> {
        head.special = head.special.going_on(next.goes_on());
        Some(match next {
            Next::Link(link) | Next::Last(link) => (link as usize, self.now),
            Next::LastTwo(first, last) => {
                let at = self.links[first as usize].cross(head, self.now);
                head.hop += 1;
                (last as usize, at)
            }
            Next::Through { transmitter, link, .. } => {
                (link as usize, self.links[transmitter as usize].depart(*head, self.now)?)
            }
            Next::Nowhere => {
                self.drop_unroutable(head.hop);
                return None;
            }
        })
    }
}
