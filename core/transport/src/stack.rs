//! A transport that is implemented elsewhere, such as a QUIC stack: both ends of a flow behind one trait.

use std::fmt::Debug;

use leo_cc::Nanos;

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The end that sends the flow's data.
    Sender,
    /// The end that receives them.
    Receiver,
}

/// A UDP datagram.
#[derive(Clone, Debug)]
pub struct Datagram {
    /// What UDP carries.
    pub payload: Vec<u8>,
    /// The ECN codepoint of its IP header (RFC 3168 §5).
    pub ecn: u8,
}

/// Measurements of a stack since its start; those of the congestion controller are the sender's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StackStats {
    /// Packets that the sender has sent.
    pub sent_packets: u64,
    /// Their bytes as IP packets.
    pub sent_bytes: u64,
    /// Packets that the sender deems lost.
    pub lost_packets: u64,
    /// Probe timeouts of the sender (RFC 9002 §6.2).
    pub probe_timeouts: u64,
    /// In-order bytes that the receiver has given to its application.
    pub delivered_bytes: u64,
    /// The congestion window in bytes.
    pub window_bytes: u64,
    /// Bytes in flight.
    pub in_flight_bytes: u64,
    /// The size of a full UDP payload in bytes.
    pub payload_bytes: u64,
}

/// Both ends of a flow. The caller carries datagrams from one end to the other and keeps the time.
///
/// An end works when a datagram arrives or its time has come ([`Self::wakes`]). After either, the caller calls
/// [`Self::transmit`] until it returns `None`.
pub trait Stack: Debug + Send + Sync {
    /// Begin: the receiver opens the connection. Call once.
    fn start(&mut self, now: Nanos);

    /// Return when an end wakes next; `NEVER` if both wait for datagrams.
    fn wakes(&self) -> Nanos;

    /// Wake the ends whose time has come.
    fn wake(&mut self, now: Nanos);

    /// Process a datagram that arrives at an end.
    fn on_datagram(&mut self, end: End, now: Nanos, datagram: &Datagram);

    /// Return the next datagram that an end sends now.
    fn transmit(&mut self, end: End, now: Nanos) -> Option<Datagram>;

    /// Return and forget the RTT that the sender has last measured.
    fn take_rtt(&mut self) -> Option<Nanos>;

    /// Return whether the sender knows that the receiver has the whole transfer.
    fn is_complete(&self) -> bool;

    /// Return when the connection was lost before the transfer was complete, which end noticed first, and why.
    fn lost(&self) -> Option<(Nanos, End, &str)>;

    /// Return the measurements at this moment.
    fn stats(&self) -> StackStats;
}
