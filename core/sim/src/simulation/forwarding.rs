//! Sending into a network in which packets follow tables.

use leo_transport::{HEADER_BYTES, PACKET_BYTES};

use super::Simulation;
use crate::ecn::Ecn;
use crate::packet::{Head, Kind};
use crate::path::Next;

impl Simulation {
    /// Send what a flow may send now.
    #[inline(never)]
    pub(super) fn send_forwarded(&mut self, index: usize) {
        let flow = &self.flows[index];
        let path = flow.routes.path();
        let Some(first) = self.paths.enter(path, false) else { return };
        let head = Head {
            timestamp: self.now,
            sent_ms_low: flow.echo_ms as u16,
            ..Head::new(Kind::Data, PACKET_BYTES, index, path)
        };
        if flow.plain {
            self.send_bursts(index, first, head);
        } else {
            self.send_singly(index, first, head);
        }
    }

    #[inline(always)]
    fn send_bursts(&mut self, index: usize, first: Next, head: Head) {
        while let Some(burst) = self.flows[index].sender.transmit_burst(self.now) {
            let last = burst.count - 1;
            for place in 0..burst.count {
                let mut head = head;
                head.seq = burst.seq + u64::from(place);
                if place == last {
                    head.ecn = Ecn::default().pushing(burst.pushes);
                    let payload = self.flows[index].sender.payload_bytes(head.seq);
                    head.bytes = (payload + HEADER_BYTES) as u16;
                }
                self.send_head(first, head);
            }
        }
        debug_assert!(self.flows[index].sender.is_watched(self.now), "no timer covers the flight");
    }

    #[inline(never)]
    fn send_singly(&mut self, index: usize, first: Next, head: Head) {
        loop {
            let flow = &mut self.flows[index];
            let mut head = head;
            if flow.sends_datagrams() {
                let datagram = flow.load.as_mut().and_then(|load| load.take(self.now));
                let Some(datagram) = datagram else { return };
                (head.seq, head.bytes, head.ecn) = (datagram.number, datagram.bytes as u16, datagram.ecn);
            } else {
                let Some(transmit) = flow.sender.transmit(self.now) else { return };
                head.seq = transmit.seq;
                head.ecn = flow.ecn_of(transmit.retransmission).pushing(transmit.pushes);
                let mut bytes = flow.sender.payload_bytes(transmit.seq) + HEADER_BYTES;
                if flow.headers.is_some() {
                    let queued =
                        first.link().map_or(0, |link| self.links[link as usize].queued_bytes(self.now));
                    bytes += flow.begin_header(transmit.seq, self.now, queued);
                }
                head.bytes = bytes as u16;
            }
            self.send_head(first, head);
        }
    }

    /// Drop a packet at a node without a route to its station; it has crossed `hops` links.
    #[cold]
    pub(super) fn drop_unroutable(&mut self, hops: u8) {
        self.paths.unroutable[usize::from(hops > 0)] += 1;
    }
}
