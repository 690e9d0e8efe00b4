//! Delivery rate estimation (draft-cheng-iccrg-delivery-rate-estimation), as Linux's tcp_rate.c does it.

use crate::Nanos;

/// What a packet remembers of the connection when it is sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct SentState {
    /// Packets delivered when it was sent.
    pub delivered: u64,
    /// When the last of those was delivered.
    pub delivered_at: Nanos,
    /// When the first packet of its flight was sent.
    pub first_sent_at: Nanos,
}

/// The connection's delivery state.
#[derive(Clone, Debug, Default)]
pub struct DeliveryRate {
    delivered: u64,
    delivered_at: Nanos,
    first_sent_at: Nanos,
    sample: Pending,
}

/// The sample that the acknowledgement being processed builds up.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    any: bool,
    sent_at: Nanos,
    state: SentState,
}

/// A finished sample: `delivered` packets in `interval`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// Packets delivered over the interval.
    pub delivered: u64,
    /// The longer of the send and the acknowledgement interval.
    pub interval: Nanos,
}

impl RateSample {
    /// Packets a second, times `unit` (bytes of a segment, for instance).
    #[must_use]
    pub fn per_second(&self, unit: u32) -> u64 {
        (u128::from(self.delivered) * u128::from(unit) * 1_000_000_000 / u128::from(self.interval.max(1)))
            as u64
    }
}

impl DeliveryRate {
    /// Packets delivered so far.
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// A packet goes out; `idle` when nothing else is in flight.
    #[inline]
    pub fn on_sent(&mut self, now: Nanos, idle: bool) -> SentState {
        if idle {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        SentState {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
        }
    }

    /// A packet that was last sent at `sent_at` is delivered for the first time.
    #[inline]
    pub fn on_delivered(&mut self, now: Nanos, sent_at: Nanos, state: SentState) {
        self.delivered += 1;
        self.delivered_at = now;
        // The most recently sent packet gives the sample.
        if !self.sample.any || sent_at >= self.sample.sent_at {
            self.sample = Pending { any: true, sent_at, state };
        }
    }

    /// All packets of an acknowledgement are in: the sample, if it is long enough to mean anything.
    #[inline]
    pub fn take_sample(&mut self, now: Nanos, min_rtt: Nanos) -> Option<RateSample> {
        let Pending { any, sent_at, state } = self.sample;
        if !any {
            return None;
        }
        self.sample.any = false;
        self.first_sent_at = sent_at;
        let interval = (sent_at - state.first_sent_at).max(now - state.delivered_at);
        // A round trip cannot be shorter than the shortest: such a sample is the artefact of a retransmission.
        (interval >= min_rtt).then_some(RateSample { delivered: self.delivered - state.delivered, interval })
    }
}
