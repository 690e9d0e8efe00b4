//! One type for any scheme.

use crate::schemes::{Kind, TABLE, each};
use crate::{
    Ack, AtSending, Congestion, CongestionControl, Context, EcnMode, External, Header, Held, Hop, Limits,
    Nanos,
};

/// A congestion control scheme.
#[derive(Clone, Debug)]
pub struct Scheme(pub(crate) Kind);

impl Scheme {
    /// Return the classic scheme called `name`, with its usual parameters.
    pub fn by_name(name: &str, context: &Context) -> Option<Self> {
        TABLE.iter().find(|row| row.name == name).map(|row| (row.new)(context))
    }

    /// Wrap a window that an agent steers.
    pub const fn external(external: External) -> Self {
        Self(Kind::External(external))
    }

    /// Put the scheme in an agent's place, to be commanded through [`Scheme::held_mut`].
    #[must_use]
    pub fn held(self) -> Self {
        Self(Kind::Held(Held::new(self)))
    }

    /// Return the scheme if it is in an agent's place.
    pub fn held_mut(&mut self) -> Option<&mut Held> {
        match &mut self.0 {
            Kind::Held(held) => Some(held),
            _ => None,
        }
    }

    /// Return the window that an agent steers, if this is one.
    pub fn external_mut(&mut self) -> Option<&mut External> {
        match &mut self.0 {
            Kind::External(external) => Some(external),
            _ => None,
        }
    }
}

/// Forward methods of [`CongestionControl`] to the scheme inside.
macro_rules! dispatch {
    ($($method:ident($($name:ident: $type:ty),*)),*; $($getter:ident -> $value:ty),*) => {
        $(#[inline]
        fn $method(&mut self, $($name: $type),*) {
            each!(&mut self.0, scheme => scheme.$method($($name),*));
        })*
        $(#[inline]
        fn $getter(&self) -> $value {
            each!(&self.0, scheme => scheme.$getter())
        })*
    };
}

impl CongestionControl for Scheme {
    dispatch! {
        on_ecn_mode(mode: EcnMode), on_start(now: Nanos, srtt: Nanos), on_restart(now: Nanos, idle: Nanos), on_ack(ack: &Ack),
        on_packet_lost(now: Nanos, packet: &AtSending), on_congestion(kind: Congestion, now: Nanos),
        on_timeout(in_flight: u32), on_unused_window(window: u32, threshold: u32), on_undo(now: Nanos),
        on_telemetry(now: Nanos, hops: &[Hop]), on_recovered(now: Nanos), on_timer(now: Nanos);
        header -> Option<Header>, next_timer -> Nanos, holds_back -> bool, window -> u32,
        paces_single_packets -> bool, paces_short_bursts -> bool, wants_rate_reduction -> bool,
        is_scalable -> bool
    }

    fn path_changed_at(&self, now: Nanos) -> Option<Nanos> {
        each!(&self.0, scheme => scheme.path_changed_at(now))
    }

    // These are read for each ACK: a call costs 14 instructions.
    #[inline(always)]
    fn limits(&self) -> Limits {
        each!(&self.0, scheme => scheme.limits())
    }

    #[inline(always)]
    fn after_ack(&self) -> (Nanos, bool) {
        each!(&self.0, scheme => scheme.after_ack())
    }

    #[inline(always)]
    fn pacing_rate(&self) -> Option<u64> {
        each!(&self.0, scheme => scheme.pacing_rate())
    }

    #[inline(always)]
    fn slow_start_threshold(&self) -> u32 {
        each!(&self.0, scheme => scheme.slow_start_threshold())
    }
}
