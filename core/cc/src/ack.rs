//! The contents of an ACK, as a scheme sees it.

use crate::Nanos;

const NANOS_PER_S: u64 = 1_000_000_000;

/// The transport's recovery state: Linux's tcp_ca_state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// No losses are being repaired.
    #[default]
    Open,
    /// The window is coming down after an ECN mark (CA_CWR).
    Cwr,
    /// Fast retransmission repairs losses (CA_Recovery).
    Recovery,
    /// The retransmission timer expired (CA_Loss).
    Loss,
}

impl Recovery {
    /// The state for schemes that ignore ECN marks.
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
    /// The application, not the path, limited sending during the interval.
    pub app_limited: bool,
}

impl RateSample {
    /// Packets per second times `unit`, e.g. the bytes of a segment.
    pub fn per_second(&self, unit: u32) -> u64 {
        let interval = self.interval.max(1);
        // The wide division is ten times slower and is only needed for millions of packets.
        match self.delivered.checked_mul(u64::from(unit) * NANOS_PER_S) {
            Some(work) => work / interval,
            None => {
                let work = u128::from(self.delivered) * u128::from(unit) * u128::from(NANOS_PER_S);
                (work / u128::from(interval)) as u64
            }
        }
    }
}

/// The state of the connection when a packet was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AtSending {
    /// Packets delivered before: the draft's P.delivered.
    pub delivered: u64,
    /// Packets declared lost before: the draft's P.lost.
    pub lost: u64,
    /// Packets in flight, including this one: the draft's P.tx_in_flight.
    pub in_flight: u32,
    /// When the packet was sent.
    pub sent_at: Nanos,
    /// The flow was application-limited: the draft's P.is_app_limited.
    pub app_limited: bool,
}

/// What an ACK adds that does nothing but deliver packets in order, each sent once, while nothing is repaired. Its window may
/// grow.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// [`Ack::now`].
    pub now: Nanos,
    /// [`Ack::delivered`].
    pub delivered: u32,
    /// [`Ack::min_rtt`].
    pub min_rtt: Nanos,
    /// [`Ack::window_limited`].
    pub window_limited: bool,
}

/// One ACK, with the state of the connection after it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// When it arrived.
    pub now: Nanos,
    /// Packets newly acknowledged, in order.
    pub acked: u32,
    /// Packets newly delivered: acknowledged in order or selectively, each once. Windows grow by these (Linux's
    /// tcp_newly_delivered).
    pub delivered: u32,
    /// Packets acknowledged selectively but not yet in order (Linux's sacked_out).
    pub sacked: u32,
    /// Packets newly reported as marked with CE; 0 without accurate ECN feedback (RFC 9768).
    pub marked: u32,
    /// Packets newly declared lost.
    pub lost: u32,
    /// Sequence number after the last packet acknowledged in order, counted in packets.
    pub una: u64,
    /// Sequence number of the next new packet.
    pub next: u64,
    /// RTT of the last newly delivered packet, if it was sent only once.
    pub rtt: Option<Nanos>,
    /// When the acknowledged packet left: RFC 7323's TSecr without the host's random offset.
    pub echo: Nanos,
    /// When the ACK left the receiver, in ms: its TSval without that offset.
    pub left_ms: u32,
    /// Smallest RTT in the last 300 s (Linux's tcp_min_rtt); `u64::MAX` before the first sample.
    pub min_rtt: Nanos,
    /// Smoothed RTT; 0 before the first sample.
    pub srtt: Nanos,
    /// Packets in flight before this ACK.
    pub prior_in_flight: u32,
    /// Packets in flight after this ACK.
    pub in_flight: u32,
    /// Packets delivered on the connection, including by this ACK.
    pub total_delivered: u64,
    /// Packets declared lost on the connection.
    pub total_lost: u64,
    /// Packets sent on the connection, including retransmissions.
    pub total_sent: u64,
    /// The delivery rate, if the sample is long enough to be reliable.
    pub rate: Option<RateSample>,
    /// The most recently sent of the newly delivered packets, if any.
    pub newest: Option<AtSending>,
    /// Pacing holds back new packets until this time (Linux's tcp_wstamp_ns).
    pub paced_until: Nanos,
    /// The window limits sending, not the application or the receiver.
    pub window_limited: bool,
    /// Whether the window may grow: not during a reduction or without in-order data (RFC 5681 §3.1; Linux's
    /// tcp_may_raise_cwnd).
    pub may_grow: bool,
    /// The recovery state after this ACK.
    pub recovery: Recovery,
    /// Whether losses were being repaired before this ACK (the state that Linux's pkts_acked sees).
    pub was_repairing: bool,
    /// The same, or packets beyond a hole had been acknowledged selectively (any state but CA_Open).
    pub was_disordered: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_exact_however_many_packets_it_counts() {
        // 12.7 million segments a second are the most whose division is narrow.
        for delivered in [1, 12_739_460, 12_739_461, 1 << 40] {
            for interval in [1, 7, 999_999_937, 120_000_000_000] {
                let exact = u128::from(delivered) * 1448 * 1_000_000_000 / u128::from(interval);
                let rate = RateSample { delivered, interval, app_limited: false }.per_second(1448);
                assert_eq!(rate, exact as u64, "{delivered} packets in {interval} ns");
            }
        }
    }
}
