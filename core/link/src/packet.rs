//! What links and queues need to know of packets.

use std::collections::VecDeque;

use crate::Nanos;
use crate::codepoint::Codepoint;

/// A packet that a link can carry.
pub trait Packet: Sized {
    /// The part of a packet that a link always stores in flight.
    type Compact: Copy;
    /// The part that only some packets have, stored apart to save memory on links that hold many packets.
    type Extra;
    /// The form in which a managed queue holds a packet. Queues copy it several times, so it should be small.
    type Queued: Queued;
    /// Split the packet; push its extra part, if any, to the back of `extras`.
    fn pack(self, extras: &mut VecDeque<Self::Extra>) -> Self::Compact;
    /// Reassemble the packet; links are FIFO, so its extra part, if any, is at the front of `extras`.
    fn unpack(compact: Self::Compact, extras: &mut VecDeque<Self::Extra>) -> Self;
    /// Bring the packet into the form for a managed queue.
    fn queue(self) -> Self::Queued;
    /// [`pack`](Self::pack) a packet that leaves a managed queue.
    fn pack_queued(queued: Self::Queued, extras: &mut VecDeque<Self::Extra>) -> Self::Compact;
    /// Size on the wire in bytes of the packet in parts.
    fn compact_bytes(compact: &Self::Compact) -> u32;
    /// Size on the wire in bytes.
    fn bytes(&self) -> u32;
    /// Record the propagation time on a link of the packet in parts; called once per link.
    fn travels(_compact: &mut Self::Compact, _propagation: Nanos) {}
}

/// A packet that a managed queue can hold.
pub trait Queued {
    /// Size on the wire in bytes.
    fn bytes(&self) -> u32;
    /// The packet's flow, for disciplines that separate flows.
    fn flow(&self) -> u32 {
        0
    }
    /// The packet's ECN codepoint, for disciplines that separate L4S from classic traffic.
    fn codepoint(&self) -> Codepoint {
        Codepoint::NotEct
    }
    /// Mark the packet with CE (RFC 3168); return false if its flow does not support ECN.
    fn mark_congestion(&mut self) -> bool {
        false
    }
}
