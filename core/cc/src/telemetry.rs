//! In-band telemetry: switches write it into packets, receivers echo it to the sender (LeoTCP, section III-A).

use crate::Nanos;

/// Most hops that a packet records: their count is a byte. Only a loop has more.
pub const MAX_HOPS: usize = u8::MAX as usize;

/// The header that the sender writes into each packet. Switches average it over their flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The sender's estimate of the RTT without queueing; 0 if unknown.
    pub base_rtt: Nanos,
    /// Window in packets.
    pub window: u32,
}

/// The record that a switch adds to each packet that it forwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// Identifies switch and interface. The paper's pathID combines these.
    pub link: u32,
    /// Active flows with telemetry (flowCnt); 0 before the first count.
    pub flows: u32,
    /// Bytes queued when the packet arrived (rxQlen).
    pub queue_found: u32,
    /// Bytes queued when it left (qLen).
    pub queue_left: u32,
    /// When it left (ts).
    pub departed_at: Nanos,
    /// Bytes sent until then, including this packet (txBytes).
    pub sent_bytes: u64,
    /// Rate of the outgoing link in wire bytes per second (bw).
    pub rate: u64,
    /// Mean base RTT of the switch's flows (avgRTT); 0 before the first measurement.
    pub average_rtt: Nanos,
}
