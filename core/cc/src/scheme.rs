//! Any scheme, behind one type.

use crate::schemes::{Kind, TABLE, each};
use crate::{Ack, AtSending, Congestion, CongestionControl, Context, External, Header, Held, Hop, Nanos};

/// A congestion control scheme.
#[derive(Clone, Debug)]
pub struct Scheme(pub(crate) Kind);

impl Scheme {
    /// The classic scheme called `name`, with the field's usual parameters.
    ///
    /// `context`: what the path announces, for those that make use of it.
    #[must_use]
    pub fn by_name(name: &str, context: &Context) -> Option<Self> {
        TABLE.iter().find(|row| row.name == name).map(|row| (row.new)(context))
    }

    /// An agent's window.
    #[must_use]
    pub const fn external(external: External) -> Self {
        Self(Kind::External(external))
    }

    /// The same in an agent's place, to be commanded by [`Scheme::held_mut`].
    #[must_use]
    pub fn held(self) -> Self {
        Self(Kind::Held(Held::new(self)))
    }

    /// The scheme in an agent's place, if it is.
    pub fn held_mut(&mut self) -> Option<&mut Held> {
        match &mut self.0 {
            Kind::Held(held) => Some(held),
            _ => None,
        }
    }

    /// The external agent's window, if this flow is steered by one.
    pub fn external_mut(&mut self) -> Option<&mut External> {
        match &mut self.0 {
            Kind::External(external) => Some(external),
            _ => None,
        }
    }
}

impl CongestionControl for Scheme {
    #[inline]
    fn on_start(&mut self, now: Nanos, srtt: Nanos) {
        each!(&mut self.0, scheme => scheme.on_start(now, srtt));
    }
    #[inline]
    fn on_restart(&mut self, now: Nanos, idle: Nanos) {
        each!(&mut self.0, scheme => scheme.on_restart(now, idle));
    }
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        each!(&mut self.0, scheme => scheme.on_ack(ack));
    }
    #[inline]
    fn on_congestion(&mut self, kind: Congestion, now: Nanos) {
        each!(&mut self.0, scheme => scheme.on_congestion(kind, now));
    }
    fn on_timeout(&mut self, in_flight: u32) {
        each!(&mut self.0, scheme => scheme.on_timeout(in_flight));
    }
    #[inline]
    fn on_packet_lost(&mut self, now: Nanos, packet: &AtSending) {
        each!(&mut self.0, scheme => scheme.on_packet_lost(now, packet));
    }
    fn on_unused_window(&mut self, window: u32, threshold: u32) {
        each!(&mut self.0, scheme => scheme.on_unused_window(window, threshold));
    }
    #[inline]
    fn on_undo(&mut self, now: Nanos) {
        each!(&mut self.0, scheme => scheme.on_undo(now));
    }
    #[inline]
    fn on_telemetry(&mut self, now: Nanos, hops: &[Hop]) {
        each!(&mut self.0, scheme => scheme.on_telemetry(now, hops));
    }
    #[inline]
    fn header(&self) -> Option<Header> {
        each!(&self.0, scheme => scheme.header())
    }
    #[inline]
    fn on_recovered(&mut self, now: Nanos) {
        each!(&mut self.0, scheme => scheme.on_recovered(now));
    }
    #[inline]
    fn on_timer(&mut self, now: Nanos) {
        each!(&mut self.0, scheme => scheme.on_timer(now));
    }
    #[inline]
    fn next_timer(&self) -> Nanos {
        each!(&self.0, scheme => scheme.next_timer())
    }
    #[inline]
    fn holds_back(&self) -> bool {
        each!(&self.0, scheme => scheme.holds_back())
    }
    #[inline]
    fn window(&self) -> u32 {
        each!(&self.0, scheme => scheme.window())
    }
    #[inline]
    fn slow_start_threshold(&self) -> u32 {
        each!(&self.0, scheme => scheme.slow_start_threshold())
    }
    // Asked for each packet sent; 14 instructions otherwise.
    #[inline(always)]
    fn pacing_rate(&self) -> Option<u64> {
        each!(&self.0, scheme => scheme.pacing_rate())
    }
    #[inline]
    fn paces_single_packets(&self) -> bool {
        each!(&self.0, scheme => scheme.paces_single_packets())
    }
    #[inline]
    fn wants_rate_reduction(&self) -> bool {
        each!(&self.0, scheme => scheme.wants_rate_reduction())
    }
}
