//! In-band telemetry: what switches write into packets, and receivers echo to the sender (LeoTCP, section III-A).

use crate::Nanos;

/// Hops that a packet has room for.
pub const MAX_HOPS: usize = 16;

/// What the sender writes into each packet, so that switches can average over their flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The RTT without queues as the sender estimates it; 0 if it does not know yet.
    pub base_rtt: Nanos,
    /// Its window in packets.
    pub window: u32,
}

/// What a switch adds to a packet that it sends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// Which interface of which switch: the paper's pathID is made of these.
    pub link: u32,
    /// Active flows that want telemetry: flowCnt; 0 before the switch has counted.
    pub flows: u32,
    /// Bytes that waited when the packet came: rxQlen.
    pub queue_found: u32,
    /// Bytes that waited when it left: qLen.
    pub queue_left: u32,
    /// When it left: ts.
    pub departed_at: Nanos,
    /// Bytes that had left until then, its own included: txBytes.
    pub sent_bytes: u64,
    /// Rate of the outgoing link in bytes on the wire per second: bw.
    pub rate: u64,
    /// Mean base RTT of the switch's flows: avgRTT; 0 before it has measured.
    pub average_rtt: Nanos,
}
