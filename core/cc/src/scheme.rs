//! Every scheme by its name.

use crate::{
    Ack, AtSending, Bbr, Bbr3, Bic, Cdg, Congestion, CongestionControl, Context, Copa, Cubic, External,
    Header, Held, HighSpeed, Hop, Htcp, Hybla, Illinois, LeoCc, LeoTcp, Lp, Nanos, Nv, Reno, SaTcp, Scalable,
    StarQuic, Vegas, Veno, Vivace, Westwood, Yeah,
};

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

/// Names that [`Scheme::by_name`] takes.
pub const NAMES: &[&str] = &[
    "bbr",
    "bbr3",
    "bic",
    "cdg",
    "copa",
    "cubic",
    "cubic-hystartpp",
    "cubic-nohystart",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "leocc",
    "leotcp",
    "lp",
    "nv",
    "reno",
    "satcp",
    "scalable",
    "starquic",
    "starquic-bbr3",
    "vegas",
    "veno",
    "vivace",
    "vivace-kernel",
    "vivace-proteus",
    "westwood",
    "yeah",
];

/// What a path may announce to a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// [`Context::handovers`].
    Handovers,
    /// [`Context::reconfiguration`].
    Reconfigurations,
}

/// What the scheme called `name` makes use of, if its path announces it.
#[must_use]
pub fn announced_to(name: &str) -> Option<Announcement> {
    match name {
        "satcp" => Some(Announcement::Handovers),
        "leocc" | "starquic" | "starquic-bbr3" => Some(Announcement::Reconfigurations),
        _ => None,
    }
}

impl Scheme {
    /// The classic scheme called `name`, with the field's usual parameters.
    ///
    /// `context`: what the path announces, for those that make use of it.
    #[must_use]
    pub fn by_name(name: &str, context: &Context) -> Option<Self> {
        Some(match name {
            "bbr" => Self::Bbr(Bbr::new(context)),
            "bbr3" => Self::Bbr3(Bbr3::new(context)),
            "bic" => Self::Bic(Bic::new()),
            "cdg" => Self::Cdg(Cdg::new(context)),
            "copa" => Self::Copa(Copa::new()),
            "cubic" => Self::Cubic(Cubic::new(true)),
            "cubic-hystartpp" => Self::Cubic(Cubic::with_hystart_plus_plus()),
            "cubic-nohystart" => Self::Cubic(Cubic::new(false)),
            "highspeed" => Self::HighSpeed(HighSpeed::new()),
            "htcp" => Self::Htcp(Htcp::new()),
            "hybla" => Self::Hybla(Hybla::new()),
            "illinois" => Self::Illinois(Illinois::new()),
            "leocc" => Self::LeoCc(LeoCc::new(context)),
            "leotcp" => Self::LeoTcp(LeoTcp::new()),
            "lp" => Self::Lp(Lp::new(context)),
            "nv" => Self::Nv(Nv::new(context)),
            "reno" => Self::Reno(Reno::new()),
            "satcp" => Self::SaTcp(SaTcp::new(context)),
            "scalable" => Self::Scalable(Scalable::new()),
            "starquic" => Self::StarQuic(StarQuic::new(Cubic::new(true), context)),
            "starquic-bbr3" => Self::StarQuicBbr3(StarQuic::around_model(Bbr3::new(context), context)),
            "vegas" => Self::Vegas(Vegas::new()),
            "veno" => Self::Veno(Veno::new()),
            "vivace" => Self::Vivace(Box::new(Vivace::nsdi_2018(context))),
            "vivace-kernel" => Self::Vivace(Box::new(Vivace::kernel(context))),
            "vivace-proteus" => Self::Vivace(Box::new(Vivace::proteus(context))),
            "westwood" => Self::Westwood(Westwood::new()),
            "yeah" => Self::Yeah(Yeah::new()),
            _ => return None,
        })
    }

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
