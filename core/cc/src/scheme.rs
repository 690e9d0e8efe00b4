//! Any scheme, behind one type.

use crate::schemes::{
    Bbr, Bbr3, Bic, Cdg, Copa, Cubic, HighSpeed, Htcp, Hybla, Illinois, LeoCc, LeoTcp, Lp, Nv, Reno, SaTcp,
    Scalable, StarQuic, Vegas, Veno, Vivace, Westwood, Yeah,
};
use crate::{Ack, AtSending, Congestion, CongestionControl, External, Header, Held, Hop, Nanos};

/// Every scheme, dispatched by `match`: no virtual call on the packet path.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each variant is the scheme of that name")]
pub enum Scheme {
    Bbr(Bbr),
    Bbr3(Bbr3),
    Bic(Bic),
    Cdg(Cdg),
    Copa(Copa),
    Cubic(Cubic),
    External(External),
    Held(Held),
    HighSpeed(HighSpeed),
    Htcp(Htcp),
    Hybla(Hybla),
    Illinois(Illinois),
    LeoCc(LeoCc),
    LeoTcp(LeoTcp),
    Lp(Lp),
    Nv(Nv),
    Reno(Reno),
    SaTcp(SaTcp),
    Scalable(Scalable),
    StarQuic(StarQuic<Cubic>),
    StarQuicBbr3(StarQuic<Bbr3>),
    Vegas(Vegas),
    Veno(Veno),
    Vivace(Box<Vivace>),
    Westwood(Westwood),
    Yeah(Yeah),
}

impl Scheme {
    /// The same in an agent's place, to be commanded by [`Scheme::held_mut`].
    #[must_use]
    pub fn held(self) -> Self {
        Self::Held(Held::new(self))
    }

    /// The scheme in an agent's place, if it is.
    pub fn held_mut(&mut self) -> Option<&mut Held> {
        match self {
            Self::Held(held) => Some(held),
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
            Self::Bbr($scheme) => $call,
            Self::Bbr3($scheme) => $call,
            Self::Bic($scheme) => $call,
            Self::Cdg($scheme) => $call,
            Self::Copa($scheme) => $call,
            Self::Cubic($scheme) => $call,
            Self::External($scheme) => $call,
            Self::Held($scheme) => $call,
            Self::HighSpeed($scheme) => $call,
            Self::Htcp($scheme) => $call,
            Self::Hybla($scheme) => $call,
            Self::Illinois($scheme) => $call,
            Self::LeoCc($scheme) => $call,
            Self::LeoTcp($scheme) => $call,
            Self::Lp($scheme) => $call,
            Self::Nv($scheme) => $call,
            Self::Reno($scheme) => $call,
            Self::SaTcp($scheme) => $call,
            Self::Scalable($scheme) => $call,
            Self::StarQuic($scheme) => $call,
            Self::StarQuicBbr3($scheme) => $call,
            Self::Vegas($scheme) => $call,
            Self::Veno($scheme) => $call,
            Self::Vivace($scheme) => $call,
            Self::Westwood($scheme) => $call,
            Self::Yeah($scheme) => $call,
        }
    };
}

impl CongestionControl for Scheme {
    #[inline]
    fn on_start(&mut self, now: Nanos, srtt: Nanos) {
        dispatch!(self, scheme => scheme.on_start(now, srtt));
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
    fn on_timeout(&mut self, in_flight: u32) {
        dispatch!(self, scheme => scheme.on_timeout(in_flight));
    }
    #[inline]
    fn on_packet_lost(&mut self, now: Nanos, packet: &AtSending) {
        dispatch!(self, scheme => scheme.on_packet_lost(now, packet));
    }
    fn on_unused_window(&mut self, window: u32, threshold: u32) {
        dispatch!(self, scheme => scheme.on_unused_window(window, threshold));
    }
    #[inline]
    fn on_undo(&mut self, now: Nanos) {
        dispatch!(self, scheme => scheme.on_undo(now));
    }
    #[inline]
    fn on_telemetry(&mut self, now: Nanos, hops: &[Hop]) {
        dispatch!(self, scheme => scheme.on_telemetry(now, hops));
    }
    #[inline]
    fn header(&self) -> Option<Header> {
        dispatch!(self, scheme => scheme.header())
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
    fn holds_back(&self) -> bool {
        dispatch!(self, scheme => scheme.holds_back())
    }
    #[inline]
    fn window(&self) -> u32 {
        dispatch!(self, scheme => scheme.window())
    }
    #[inline]
    fn slow_start_threshold(&self) -> u32 {
        dispatch!(self, scheme => scheme.slow_start_threshold())
    }
    // Asked for each packet sent; 14 instructions otherwise.
    #[inline(always)]
    fn pacing_rate(&self) -> Option<u64> {
        dispatch!(self, scheme => scheme.pacing_rate())
    }
    #[inline]
    fn paces_single_packets(&self) -> bool {
        dispatch!(self, scheme => scheme.paces_single_packets())
    }
    #[inline]
    fn wants_rate_reduction(&self) -> bool {
        dispatch!(self, scheme => scheme.wants_rate_reduction())
    }
}
