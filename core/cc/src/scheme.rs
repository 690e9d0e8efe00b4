//! One type for any scheme.

use crate::schemes::{Kind, TABLE, each};
use crate::{
    Ack, AtSending, BbrModel, Congestion, CongestionControl, Context, Decisions, EcnMode, External, Header,
    Held, Hop, Nanos, Progress,
};

/// A congestion control scheme, and what it has decided: senders read this more often than it changes.
#[derive(Clone, Debug)]
pub struct Scheme {
    decisions: Decisions,
    kind: Kind,
}

impl Scheme {
    pub(crate) fn of(kind: Kind) -> Self {
        Self { decisions: each!(&kind, scheme => scheme.decisions()), kind }
    }

    /// Return the classic scheme called `name`, with its usual parameters.
    pub fn by_name(name: &str, context: &Context) -> Option<Self> {
        TABLE.iter().find(|row| row.name == name).map(|row| (row.new)(context))
    }

    /// Wrap a window that an agent steers.
    pub fn external(external: External) -> Self {
        Self::of(Kind::External(external))
    }

    /// Put the scheme in an agent's place, to be commanded through [`Scheme::change_held`].
    #[must_use]
    pub fn held(self) -> Self {
        Self::of(Kind::Held(Held::new(self)))
    }

    /// Return the scheme if it is in an agent's place.
    pub const fn as_held(&self) -> Option<&Held> {
        match &self.kind {
            Kind::Held(held) => Some(held),
            _ => None,
        }
    }

    /// Change the scheme if it is in an agent's place.
    pub fn change_held(&mut self, change: impl FnOnce(&mut Held)) {
        if let Kind::Held(held) = &mut self.kind {
            change(held);
            self.decisions = held.decisions();
        }
    }

    /// Change the window that an agent steers, if this is one.
    pub fn change_external(&mut self, change: impl FnOnce(&mut External)) {
        if let Kind::External(external) = &mut self.kind {
            change(external);
            self.decisions = external.decisions();
        }
    }
}

/// Forward methods of [`CongestionControl`] to the scheme inside.
macro_rules! dispatch {
    ($($method:ident($($name:ident: $type:ty),*)),*; $($getter:ident -> $value:ty),*; $($decision:ident -> $decided:ty),*) => {
        $(#[inline]
        fn $method(&mut self, $($name: $type),*) {
            each!(&mut self.kind, scheme => {
                scheme.$method($($name),*);
                self.decisions = scheme.decisions();
            });
        })*
        $(#[inline]
        fn $getter(&self) -> $value {
            each!(&self.kind, scheme => scheme.$getter())
        })*
        $(#[inline(always)]
        fn $decision(&self) -> $decided {
            self.decisions.$decision
        })*
    };
}

impl CongestionControl for Scheme {
    dispatch! {
        on_ecn_mode(mode: EcnMode), on_start(now: Nanos, srtt: Nanos), on_restart(now: Nanos, idle: Nanos), on_ack(ack: &Ack),
        on_progress(progress: &Progress),
        on_packet_lost(now: Nanos, packet: &AtSending), on_congestion(kind: Congestion, now: Nanos),
        on_timeout(in_flight: u32), on_unused_window(window: u32, threshold: u32), on_undo(now: Nanos),
        on_telemetry(now: Nanos, hops: &[Hop]), on_recovered(now: Nanos), on_timer(now: Nanos);
        header -> Option<Header>, wants_rate_reduction -> bool, is_scalable -> bool;
        window -> u32, slow_start_threshold -> u32, pacing_rate -> Option<u64>, next_timer -> Nanos,
        paces_single_packets -> bool, paces_short_bursts -> bool, holds_back -> bool, needs_only_progress -> bool
    }

    fn path_changed_at(&self, now: Nanos) -> Option<Nanos> {
        each!(&self.kind, scheme => scheme.path_changed_at(now))
    }

    fn bbr_model(&self) -> Option<BbrModel> {
        each!(&self.kind, scheme => scheme.bbr_model())
    }

    #[inline(always)]
    fn decisions(&self) -> Decisions {
        self.decisions
    }
}
