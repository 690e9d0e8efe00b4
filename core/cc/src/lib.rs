//! Congestion control schemes, one file each, behind one small trait.
//!
//! A scheme decides a window in packets and, if it paces, a rate. Loss detection, recovery and timers belong to the
//! transport. Time is an argument, in nanoseconds.

mod cubic;
mod external;
mod hystart;
mod reno;

pub use cubic::Cubic;
pub use external::External;
pub use hystart::HyStart;
pub use reno::Reno;

/// Time or duration in nanoseconds.
pub type Nanos = u64;

/// Linux's initial window in packets (RFC 6928).
pub const INITIAL_WINDOW: u32 = 10;

/// What one acknowledgement told the sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// When it came.
    pub now: Nanos,
    /// Packets newly acknowledged, in order.
    pub acked: u32,
    /// Packets newly delivered: acknowledged in order or selectively.
    pub delivered: u32,
    /// Sequence number after the last packet acknowledged in order, in packets.
    pub una: u64,
    /// Sequence number of the next new packet.
    pub next: u64,
    /// RTT of the last packet newly delivered, if it was sent only once.
    pub rtt: Option<Nanos>,
    /// Smallest RTT of the connection's life.
    pub min_rtt: Nanos,
    /// Smoothed RTT; 0 before the first sample.
    pub srtt: Nanos,
    /// Packets in flight before this acknowledgement.
    pub prior_in_flight: u32,
    /// The window, not the application or the receiver, limits what is sent.
    pub window_limited: bool,
    /// False while a reduction is under way: the window must not grow.
    pub may_grow: bool,
}

/// Why the window must come down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// Packets were lost; recovery begins. Once a round trip at the most.
    Loss,
    /// The retransmission timer ran out.
    Timeout,
    /// It ran out while a loss was being repaired that the threshold has answered already.
    RepeatedTimeout,
}

/// A congestion control scheme.
pub trait CongestionControl {
    /// New data left an idle connection after `idle` of silence.
    fn on_restart(&mut self, _now: Nanos, _idle: Nanos) {}
    /// An acknowledgement delivered something.
    fn on_ack(&mut self, ack: &Ack);
    /// Loss was detected at `now`.
    fn on_congestion(&mut self, kind: Congestion, now: Nanos);
    /// The window in packets.
    fn window(&self) -> u32;
    /// The slow start threshold in packets.
    fn slow_start_threshold(&self) -> u32;
    /// The pacing rate in bytes of payload per second; `None` sends when acknowledgements come.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }
    /// Whether proportional rate reduction (RFC 6937) brings the window down during recovery.
    fn wants_rate_reduction(&self) -> bool {
        true
    }
}

/// Every scheme, dispatched by `match`: no virtual call on the packet path.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each variant is the scheme of that name")]
pub enum Scheme {
    Reno(Reno),
    Cubic(Cubic),
    External(External),
}

/// Names that [`Scheme::by_name`] takes.
pub const NAMES: [&str; 3] = ["cubic", "cubic-nohystart", "reno"];

impl Scheme {
    /// The classic scheme called `name`, with the field's usual parameters.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "reno" => Some(Self::Reno(Reno::new())),
            "cubic" => Some(Self::Cubic(Cubic::new(true))),
            "cubic-nohystart" => Some(Self::Cubic(Cubic::new(false))),
            _ => None,
        }
    }

    /// The external agent's window, if this flow is steered by one.
    pub fn external_mut(&mut self) -> Option<&mut External> {
        match self {
            Self::External(external) => Some(external),
            _ => None,
        }
    }
}

macro_rules! dispatch {
    ($self:ident, $scheme:ident => $call:expr) => {
        match $self {
            Self::Reno($scheme) => $call,
            Self::Cubic($scheme) => $call,
            Self::External($scheme) => $call,
        }
    };
}

impl CongestionControl for Scheme {
    #[inline]
    fn on_restart(&mut self, now: Nanos, idle: Nanos) {
        dispatch!(self, scheme => scheme.on_restart(now, idle));
    }
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        dispatch!(self, scheme => scheme.on_ack(ack));
    }
    #[inline]
    fn on_congestion(&mut self, kind: Congestion, now: Nanos) {
        dispatch!(self, scheme => scheme.on_congestion(kind, now));
    }
    #[inline]
    fn window(&self) -> u32 {
        dispatch!(self, scheme => scheme.window())
    }
    #[inline]
    fn slow_start_threshold(&self) -> u32 {
        dispatch!(self, scheme => scheme.slow_start_threshold())
    }
    #[inline]
    fn pacing_rate(&self) -> Option<u64> {
        dispatch!(self, scheme => scheme.pacing_rate())
    }
    #[inline]
    fn wants_rate_reduction(&self) -> bool {
        dispatch!(self, scheme => scheme.wants_rate_reduction())
    }
}
