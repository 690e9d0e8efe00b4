//! What an acknowledgement tells a scheme.

use crate::Nanos;

/// Where the transport is in repairing losses: Linux's tcp_ca_state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// Nothing is being repaired.
    #[default]
    Open,
    /// Nothing is being repaired, but the window is coming down in answer to a mark (CA_CWR).
    Cwr,
    /// Losses are being repaired by fast retransmission (CA_Recovery).
    Recovery,
    /// The retransmission timer ran out (CA_Loss).
    Loss,
}

impl Recovery {
    /// The same as schemes see it that answer no marks.
    #[must_use]
    pub const fn without_marks(self) -> Self {
        if matches!(self, Self::Cwr) { Self::Open } else { self }
    }
}

/// A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation): `delivered` packets in `interval`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Packets delivered over the interval.
    pub delivered: u64,
    /// The longer of the send and the acknowledgement interval.
    pub interval: Nanos,
    /// The application, not the path, limited what was sent meanwhile.
    pub app_limited: bool,
}

impl RateSample {
    /// Packets a second, times `unit` (bytes of a segment, for instance).
    #[must_use]
    pub fn per_second(&self, unit: u32) -> u64 {
        (u128::from(self.delivered) * u128::from(unit) * 1_000_000_000 / u128::from(self.interval.max(1)))
            as u64
    }
}

/// The connection as it was when a packet was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtSending {
    /// Packets delivered until then: the draft's P.delivered.
    pub delivered: u64,
    /// Packets deemed lost until then: the draft's P.lost.
    pub lost: u64,
    /// Packets in flight, this one included: the draft's P.tx_in_flight.
    pub in_flight: u32,
    /// When it was sent.
    pub sent_at: Nanos,
    /// The application limited what was sent: the draft's P.is_app_limited.
    pub app_limited: bool,
}

/// What one acknowledgement told the sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// When it came.
    pub now: Nanos,
    /// Packets newly acknowledged, in order.
    pub acked: u32,
    /// Packets newly delivered: acknowledged in order or selectively. Windows grow by these (Linux's tcp_newly_delivered):
    /// what was acknowledged selectively before is not counted twice when a repair lets it be acknowledged in order.
    pub delivered: u32,
    /// Packets acknowledged selectively and not in order yet, after this acknowledgement (Linux's sacked_out).
    pub sacked: u32,
    /// Packets newly deemed lost.
    pub lost: u32,
    /// Sequence number after the last packet acknowledged in order, in packets.
    pub una: u64,
    /// Sequence number of the next new packet.
    pub next: u64,
    /// RTT of the last packet newly delivered, if it was sent only once.
    pub rtt: Option<Nanos>,
    /// When the packet left that is answered: RFC 7323's TSecr without the offset that hosts add.
    pub echo: Nanos,
    /// When the acknowledgement left the receiver, in ms: its TSval without that offset.
    pub left_ms: u32,
    /// Smallest RTT of the last 300 s (Linux's tcp_min_rtt); `u64::MAX` before the first sample.
    pub min_rtt: Nanos,
    /// Smoothed RTT; 0 before the first sample.
    pub srtt: Nanos,
    /// Packets in flight before this acknowledgement.
    pub prior_in_flight: u32,
    /// Packets in flight after it.
    pub in_flight: u32,
    /// Packets delivered since the connection began, those of this acknowledgement included.
    pub total_delivered: u64,
    /// Packets deemed lost since the connection began.
    pub total_lost: u64,
    /// Packets sent since the connection began, retransmissions included.
    pub total_sent: u64,
    /// The delivery rate, where the sample is long enough to mean anything.
    pub rate: Option<RateSample>,
    /// The most recently sent packet that is newly delivered; `None` if nothing is.
    pub newest: Option<AtSending>,
    /// Before this time pacing lets nothing new out (Linux's tcp_wstamp_ns); the past where it does.
    pub paced_until: Nanos,
    /// The window, not the application or the receiver, limits what is sent.
    pub window_limited: bool,
    /// False while a reduction is under way, or where nothing came in order (RFC 5681 §3.1; Linux's tcp_may_raise_cwnd):
    /// the window must not grow.
    pub may_grow: bool,
    /// What is being repaired after this acknowledgement.
    pub recovery: Recovery,
    /// Whether something was being repaired before it, which is the state that Linux's pkts_acked sees.
    pub was_repairing: bool,
    /// Whether that was so, or packets beyond a hole had been acknowledged selectively (all but CA_Open).
    pub was_disordered: bool,
}
