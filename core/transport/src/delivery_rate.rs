//! Delivery rate estimation (draft-cheng-iccrg-delivery-rate-estimation), as Linux's tcp_rate.c does it.

use leo_cc::{AtSending, RateSample};

use crate::Nanos;

/// What a packet remembers of the connection when it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentState {
    /// Packets delivered when it was sent.
    pub delivered: u64,
    /// When the last of those was delivered.
    pub delivered_at: Nanos,
    /// When the first packet of its flight was sent.
    pub first_sent_at: Nanos,
    /// Packets lost when it was sent.
    pub lost: u64,
    /// Packets in flight, this one included.
    pub in_flight: u32,
    /// The application limited what was sent.
    pub app_limited: bool,
}

impl SentState {
    /// What schemes get to see, of a packet sent at `sent_at`.
    pub const fn at_sending(&self, sent_at: Nanos) -> AtSending {
        let Self { delivered, lost, in_flight, app_limited, .. } = *self;
        AtSending { delivered, lost, in_flight, sent_at, app_limited }
    }
}

/// The connection's delivery state.
#[derive(Clone, Debug, Default)]
pub struct DeliveryRate {
    delivered: u64,
    delivered_at: Nanos,
    first_sent_at: Nanos,
    /// Packets sent until this many are delivered are marked as limited by the application; 0 for none.
    limited_until: u64,
    sample: Pending,
}

/// The sample that the acknowledgement being processed builds up.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    any: bool,
    sent_at: Nanos,
    state: SentState,
}

impl DeliveryRate {
    /// Packets delivered so far.
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// A packet goes out after `prior_in_flight` others, when `lost` have been lost; `first`: nothing waits to be
    /// acknowledged, lost or not (Linux's packets_out).
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

    /// Whether what is sent now is marked.
    pub const fn is_app_limited(&self) -> bool {
        self.limited_until != 0
    }

    /// The application has nothing to send while the window has room and nothing waits to be repaired: the rate of the
    /// packets in flight and of the next says nothing about the path (Linux's tcp_rate_check_app_limited).
    pub fn on_run_dry(&mut self, in_flight: u32) {
        self.limited_until = (self.delivered + u64::from(in_flight)).max(1);
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

    /// All packets of an acknowledgement are in: the newest as it was sent, and the sample, if it is long enough to mean
    /// anything.
    #[inline]
    pub fn take_sample(&mut self, now: Nanos, min_rtt: Nanos) -> (Option<AtSending>, Option<RateSample>) {
        let Pending { any, sent_at, state } = self.sample;
        if !any {
            return (None, None);
        }
        self.sample.any = false;
        // The bubble is delivered and gone.
        if self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        self.first_sent_at = sent_at;
        let interval = (sent_at - state.first_sent_at).max(now - state.delivered_at);
        // A round trip cannot be shorter than the shortest: such a sample is the artefact of a retransmission.
        let rate = (interval >= min_rtt).then_some(RateSample {
            delivered: self.delivered - state.delivered,
            interval,
            app_limited: state.app_limited,
        });
        (Some(state.at_sending(sent_at)), rate)
    }
}
