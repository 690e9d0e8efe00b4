//! Read access to a sender's state.

use leo_cc::Scheme;

use super::{Sender, SenderStats};
use crate::rtt::RttEstimator;

impl Sender {
    /// The congestion control scheme.
    pub const fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// RTT estimates.
    pub const fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Packets presumably in the network.
    pub const fn in_flight(&self) -> u32 {
        self.board.in_flight()
    }

    /// Whether the window allows nothing more, and no probe is due.
    pub fn is_full(&self) -> bool {
        self.board.in_flight() >= self.window() && !self.probe_due
    }

    /// Whether all of a transfer is acknowledged.
    pub const fn is_finished(&self) -> bool {
        self.board.una() >= self.supply.end()
    }

    /// First packet not acknowledged in order.
    pub const fn una(&self) -> u64 {
        self.board.una()
    }

    /// Payload of packet `seq` in bytes: the last of a transfer may be short.
    pub const fn payload_bytes(&self, seq: u64) -> u32 {
        self.supply.payload_bytes(seq)
    }

    /// Packets sent and not acknowledged in order.
    pub const fn packets_out(&self) -> u32 {
        self.board.packets_out()
    }

    /// Retransmissions in the network.
    pub const fn retransmissions_out(&self) -> u32 {
        self.board.retransmissions_out()
    }

    /// Packets delivered, in order or selectively.
    pub const fn delivered(&self) -> u64 {
        self.delivery.delivered()
    }

    /// Totals.
    pub const fn stats(&self) -> SenderStats {
        self.stats
    }
}
