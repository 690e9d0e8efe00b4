//! ACKs and a bottleneck for the tests of schemes.

pub use crate::CongestionControl;
pub use crate::parts::window::Windowed;
use crate::{Ack, AtSending, Nanos, RateSample};

/// The RTT without queueing.
pub const RTT: Nanos = 100_000_000;

/// An ACK of one packet, without queueing, to a window-limited sender.
pub fn ack_of_one(now: Nanos) -> Ack {
    Ack {
        now,
        acked: 1,
        delivered: 1,
        rtt: Some(RTT),
        min_rtt: RTT,
        srtt: RTT,
        window_limited: true,
        may_grow: true,
        ..Ack::default()
    }
}

/// Feed one window of ACKs over [`RTT`], without queueing; return the time after it.
pub fn round_of_acks(scheme: &mut impl CongestionControl, now: Nanos) -> Nanos {
    round_at(scheme, now, RTT)
}

/// Feed one window of ACKs with an RTT of `rtt` on a path of [`RTT`]; return the time after it.
pub fn round_at(scheme: &mut impl CongestionControl, now: Nanos, rtt: Nanos) -> Nanos {
    let window = scheme.window();
    let begin = now / RTT * 1_000_000;
    for packet in 1..=window {
        let at = now + rtt * Nanos::from(packet) / Nanos::from(window);
        let una = begin + u64::from(packet);
        scheme.on_ack(&Ack {
            rtt: Some(rtt),
            srtt: rtt,
            una,
            next: una + u64::from(window),
            prior_in_flight: window,
            in_flight: window - 1,
            newest: Some(AtSending { delivered: begin, ..AtSending::default() }),
            total_delivered: una,
            ..ack_of_one(at)
        });
    }
    now + rtt
}

/// A scheme in congestion avoidance at `window`.
pub fn avoiding_at<S>(window: u32, scheme: S) -> Windowed<S> {
    let mut windowed = Windowed::new(scheme);
    (windowed.window.packets, windowed.window.threshold) = (window, window);
    windowed
}

/// A bottleneck with an infinite queue. Packets leave at its rate, and their ACKs arrive an RTT later, in order.
pub struct Path {
    pub now: Nanos,
    /// Packets a second.
    pub rate: f64,
    /// Initially [`RTT`].
    pub rtt: Nanos,
    /// When the last packet left the bottleneck.
    free_at: Nanos,
    /// Packets in flight: arrival of the ACK, and at sending the state, `delivered_at` and `first_sent_at`.
    flight: std::collections::VecDeque<(Nanos, AtSending, Nanos, Nanos)>,
    next_send: Nanos,
    sent: u64,
    delivered: u64,
    delivered_at: Nanos,
    first_sent_at: Nanos,
    min_rtt: Nanos,
}

impl Path {
    pub fn new(rate: f64) -> Self {
        Self {
            now: 0,
            rate,
            rtt: RTT,
            free_at: 0,
            flight: std::collections::VecDeque::new(),
            next_send: 0,
            sent: 0,
            delivered: 0,
            delivered_at: 0,
            first_sent_at: 0,
            min_rtt: Nanos::MAX,
        }
    }

    /// Send as the scheme allows and acknowledge every packet, until `until`.
    pub fn run(&mut self, scheme: &mut impl CongestionControl, until: Nanos) {
        loop {
            let may_send = (self.flight.len() as u32) < scheme.window();
            let send_at = if may_send { self.next_send.max(self.now) } else { Nanos::MAX };
            let ack_at = self.flight.front().map_or(Nanos::MAX, |packet| packet.0);
            self.now = send_at.min(ack_at);
            if self.now > until {
                self.now = until;
                return;
            }
            if ack_at <= send_at { self.acknowledge(scheme) } else { self.send(scheme) }
        }
    }

    fn send(&mut self, scheme: &impl CongestionControl) {
        if self.flight.is_empty() {
            self.first_sent_at = self.now;
            self.delivered_at = self.now;
        }
        self.sent += 1;
        self.free_at = self.free_at.max(self.now) + (1e9 / self.rate) as Nanos;
        let at_sending = AtSending {
            delivered: self.delivered,
            lost: 0,
            in_flight: self.flight.len() as u32 + 1,
            sent_at: self.now,
            app_limited: false,
        };
        let before = self.flight.back().map_or(0, |packet| packet.0);
        let back_at = before.max(self.free_at + self.rtt);
        self.flight.push_back((back_at, at_sending, self.delivered_at, self.first_sent_at));
        if let Some(rate) = scheme.pacing_rate() {
            self.next_send = self.now + u64::from(crate::SEGMENT_BYTES) * 1_000_000_000 / rate;
        }
    }

    fn acknowledge(&mut self, scheme: &mut impl CongestionControl) {
        let Some((_, newest, delivered_at, first_sent_at)) = self.flight.pop_front() else { return };
        self.delivered += 1;
        self.delivered_at = self.now;
        self.first_sent_at = newest.sent_at;
        let rtt = self.now - newest.sent_at;
        self.min_rtt = self.min_rtt.min(rtt);
        let interval = (newest.sent_at - first_sent_at).max(self.now - delivered_at);
        scheme.on_ack(&Ack {
            rtt: Some(rtt),
            min_rtt: self.min_rtt,
            srtt: rtt,
            una: self.delivered,
            next: self.sent,
            prior_in_flight: self.flight.len() as u32 + 1,
            in_flight: self.flight.len() as u32,
            total_delivered: self.delivered,
            total_sent: self.sent,
            rate: (interval >= self.min_rtt).then_some(RateSample {
                delivered: self.delivered - newest.delivered,
                interval,
                app_limited: false,
            }),
            newest: Some(newest),
            ..ack_of_one(self.now)
        });
    }
}
