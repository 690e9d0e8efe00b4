//! A flow's telemetry, and what its ACKs feed back besides.

use leo_cc::CongestionControl;
use leo_link::Nanos;
use leo_transport::{AccurateFeedback, EcnMode};

use super::Flow;
use crate::ecn::Ecn;
use crate::packet::Packet;

impl Flow {
    /// Record the telemetry header of packet `seq`, which finds `queued_bytes` at its first link. Return the header's bytes.
    #[inline]
    pub fn begin_header(&mut self, seq: u64, now: Nanos, queued_bytes: u64) -> u32 {
        let header = self.sender.scheme().header().unwrap_or_default();
        let Some(headers) = &mut self.headers else { return 0 };
        headers.begin(seq, self.sender.packets_out(), now, header, queued_bytes);
        headers.header_bytes()
    }

    /// Complete an ACK of a flow that is not plain; `marked` sets ECE.
    #[inline(never)]
    pub fn give_ack(&mut self, packet: &mut Packet, marked: bool) {
        match self.receiver.feedback(&packet.sacks) {
            Some(feedback) => {
                packet.ecn = Ecn::of_ace(feedback.ace);
                packet.ecn_option = feedback.option;
            }
            None => packet.ecn = Ecn::of_ack(marked),
        }
        if let Some(windows) = &mut self.windows {
            windows.announce(packet.seq, self.receiver.edge());
        }
        if let Some(headers) = &mut self.headers {
            packet.bytes += headers.answer(packet, packet.sacks) as u16;
        }
    }

    /// Pass the telemetry of the packet that `ack` answers to the scheme and the counters of accurate ECN to the sender.
    /// Return whether the ACK has ECE set.
    #[inline(never)]
    pub fn take_feedback(&mut self, ack: &Packet, now: Nanos) -> bool {
        let headers = self.headers.as_mut();
        if let Some(hops) = headers.and_then(|headers| headers.acknowledged(ack, &ack.sacks)) {
            self.sender.scheme_mut().on_telemetry(now, hops);
        }
        if self.ecn == EcnMode::Accurate {
            self.sender.hear(AccurateFeedback { ace: ack.ecn.ace(), option: ack.ecn_option });
            return false;
        }
        ack.ecn.is_echo()
    }
}
