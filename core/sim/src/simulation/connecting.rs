//! The handshake, as it crosses the links, and the RTT of a connection that exists without one.

use leo_link::{Link, Nanos};
use leo_transport::{SYN_BYTES, timestamp_ms};

use super::Simulation;
use crate::packet::{Head, Kind, Packet};

const NANOS_PER_S: u128 = 1_000_000_000;

impl Simulation {
    /// Send a SYN if one is due.
    #[cold]
    pub(super) fn connect(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        if flow.handshake.as_mut().is_some_and(|handshake| handshake.take_syn(self.now)) {
            let path = flow.routes.path();
            if let Some(first) = self.paths.enter(path, false) {
                self.forward(first, opening(Kind::Syn, index, path, self.now, 0));
            }
        }
    }

    /// Process a packet that arrives during the handshake.
    #[cold]
    pub(super) fn shake_hands(&mut self, packet: &Head) {
        let index = packet.flow as usize;
        if packet.kind == Kind::Syn {
            self.answer_syn(packet);
        } else if packet.kind == Kind::SynAck {
            let flow = &mut self.flows[index];
            flow.handshake = None;
            flow.echo_ms = packet.left_ms(self.now);
            // A SYN-ACK echoes the timestamp of its SYN, so retransmitted SYNs give correct samples, too.
            let rtt = self.now - packet.timestamp;
            flow.record_rtt(rtt, packet.propagation);
            flow.sender.start_after_handshake(self.now, rtt);
            flow.run(self.now);
            self.note_change(index);
            self.pump(index);
        }
    }

    /// Return the RTT of a packet that flow `index` sends now: propagation, and the packets that wait on its path.
    ///
    /// During an outage, a link counts with its rate outside of outages.
    #[cold]
    pub(super) fn rtt_of_path(&mut self, index: usize) -> Nanos {
        let Self { now, links, flows, paths, .. } = self;
        let flow = &flows[index];
        let time_on = |link: &mut Link<Packet>| {
            let span = link.schedule().at(*now);
            let waiting_bits = 8 * u128::from(link.queued_bytes(*now));
            let wait = waiting_bits * NANOS_PER_S / u128::from(span.rate_bps.max(1));
            span.delay.saturating_add(Nanos::try_from(wait).unwrap_or(Nanos::MAX))
        };
        let route = flow.routes.current();
        let own = route.links.iter().chain(&route.back).copied();
        let tables = paths.forwarding().into_iter();
        let forwarded = tables.flat_map(|forwarding| forwarding.crossed(flow.routes.path()));
        let crossed = own.chain(forwarded).map(|link| time_on(&mut links[link as usize]));
        crossed.fold(2 * flow.extra_delay, Nanos::saturating_add)
    }

    #[cold]
    pub(super) fn answer_syn(&mut self, syn: &Head) {
        let index = syn.flow as usize;
        let flow = &mut self.flows[index];
        flow.receiver.open(self.now);
        let path = flow.routes.path();
        let mut answer = opening(Kind::SynAck, index, path, syn.timestamp, syn.propagation);
        answer.sent_ms_low = timestamp_ms(self.now) as u16;
        self.send_back(answer);
    }
}

/// Build a handshake packet.
fn opening(kind: Kind, flow: usize, path: u32, timestamp: Nanos, propagation: Nanos) -> Packet {
    Head { timestamp, propagation, ..Head::new(kind, SYN_BYTES, flow, path) }.into()
}
