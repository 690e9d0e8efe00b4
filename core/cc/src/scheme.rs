//! Every scheme by its name.

use crate::{Ack, AtSending, Congestion, CongestionControl, Context, Cubic, External, Nanos, Reno};

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
    ///
    /// `context`: what the path announces, for those that make use of it.
    #[must_use]
    pub fn by_name(name: &str, _context: &Context) -> Option<Self> {
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
    fn on_start(&mut self, now: Nanos) {
        dispatch!(self, scheme => scheme.on_start(now));
    }
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
    fn on_packet_lost(&mut self, now: Nanos, packet: &AtSending) {
        dispatch!(self, scheme => scheme.on_packet_lost(now, packet));
    }
    #[inline]
    fn on_undo(&mut self, now: Nanos) {
        dispatch!(self, scheme => scheme.on_undo(now));
    }
    #[inline]
    fn on_recovered(&mut self, now: Nanos) {
        dispatch!(self, scheme => scheme.on_recovered(now));
    }
    #[inline]
    fn on_timer(&mut self, now: Nanos) {
        dispatch!(self, scheme => scheme.on_timer(now));
    }
    #[inline]
    fn next_timer(&self) -> Nanos {
        dispatch!(self, scheme => scheme.next_timer())
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
