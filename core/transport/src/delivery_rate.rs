//! Delivery rate estimation (draft-cheng-iccrg-delivery-rate-estimation), as Linux's tcp_rate.c does it.

use leo_cc::{AtSending, RateSample};

use crate::Nanos;

/// The connection's state when a packet is sent, stored with the packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentState {
    /// Packets delivered before.
    pub delivered: u64,
    /// Time of the last delivery.
    pub delivered_at: Nanos,
    /// When the first packet of the current flight was sent.
    pub first_sent_at: Nanos,
    /// Packets lost before.
    pub lost: u64,
    /// Packets in flight, including this one.
    pub in_flight: u32,
    pub app_limited: bool,
}

impl SentState {
    /// Return the part that schemes see, for a packet sent at `sent_at`.
    pub const fn at_sending(&self, sent_at: Nanos) -> AtSending {
        let Self { delivered, lost, in_flight, app_limited, .. } = *self;
        AtSending { delivered, lost, in_flight, sent_at, app_limited }
    }
}

#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct DeliveryRate {
    delivered: u64,
    delivered_at: Nanos,
    first_sent_at: Nanos,
    /// Packets sent before this many are delivered count as application-limited; 0: none.
    limited_until: u64,
    sample: Pending,
}

/// The rate sample that the current ACK builds.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    any: bool,
    sent_at: Nanos,
    state: SentState,
}

impl DeliveryRate {
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Note a packet after `prior_in_flight` others and `lost` losses; `first`: none is unacknowledged.
    #[inline]
    pub fn on_sent(&mut self, now: Nanos, prior_in_flight: u32, lost: u64, first: bool) -> SentState {
        if first {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        SentState {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost,
            in_flight: prior_in_flight + 1,
            app_limited: self.is_app_limited(),
        }
    }

    /// Whether packets sent now are marked as application-limited.
    pub const fn is_app_limited(&self) -> bool {
        self.limited_until != 0
    }

    /// Mark the packets in flight and the next packet as application-limited (tcp_rate_check_app_limited). The
    /// application has nothing to send although the window has room and no repair waits. Their rate is not the path's.
    pub fn on_run_dry(&mut self, in_flight: u32) {
        self.limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// Note the first delivery of a packet that was last sent at `sent_at`.
    #[inline]
    pub fn on_delivered(&mut self, now: Nanos, sent_at: Nanos, state: SentState) {
        self.delivered += 1;
        self.delivered_at = now;
        // The most recently sent packet gives the sample.
        if !self.sample.any || sent_at >= self.sample.sent_at {
            self.sample = Pending { any: true, sent_at, state };
        }
    }

    /// End an ACK: return the send state of its newest packet, and the rate sample if its interval suffices.
    #[inline]
    pub fn take_sample(&mut self, now: Nanos, min_rtt: Nanos) -> (Option<AtSending>, Option<RateSample>) {
        let Pending { any, sent_at, state } = self.sample;
        if !any {
            return (None, None);
        }
        self.sample.any = false;
        self.end_ack(sent_at);
        let (newest, rate) = self.sample(now, sent_at, state, min_rtt);
        (Some(newest), rate)
    }

    /// Note an ACK that delivers `count` packets and nothing else, the newest of them sent at `sent_at`.
    #[inline]
    pub const fn on_delivered_together(&mut self, now: Nanos, count: u32, sent_at: Nanos) {
        self.delivered += count as u64;
        self.delivered_at = now;
        self.end_ack(sent_at);
    }

    #[inline]
    const fn end_ack(&mut self, sent_at: Nanos) {
        // All application-limited packets have been delivered.
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        self.first_sent_at = sent_at;
    }

    /// Return the sample of an ACK whose newest packet was sent at `sent_at` with `state`.
    #[inline]
    pub fn sample(
        &self,
        now: Nanos,
        sent_at: Nanos,
        state: SentState,
        min_rtt: Nanos,
    ) -> (AtSending, Option<RateSample>) {
        let interval = (sent_at - state.first_sent_at).max(now - state.delivered_at);
        // An interval below the minimum RTT is an artefact of a retransmission.
        let rate = (interval >= min_rtt).then_some(RateSample {
            delivered: self.delivered - state.delivered,
            interval,
            app_limited: state.app_limited,
        });
        (state.at_sending(sent_at), rate)
    }
}
