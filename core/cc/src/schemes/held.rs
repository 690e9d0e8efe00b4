//! A scheme in an agent's place: it sees every event, but its window moves only on command.

use crate::{
    Ack, AtSending, BbrModel, Congestion, CongestionControl, EcnMode, Header, Hop, Nanos, SEGMENT_BYTES,
    Scheme,
};

const NANOS_PER_S: u128 = 1_000_000_000;

/// A scheme whose window and pacing rate hold until the next command, like an agent's between monitor intervals. Its
/// runs show the actions that an agent would take and the observations that it would see.
#[derive(Clone, Debug)]
pub struct Held {
    scheme: Box<Scheme>,
    srtt: Nanos,
    window: u32,
    pacing_rate: Option<u64>,
}

impl Held {
    /// Hold the initial window of `scheme`, unpaced, until the first command.
    pub fn new(scheme: Scheme) -> Self {
        Self { srtt: 0, window: scheme.window(), pacing_rate: None, scheme: Box::new(scheme) }
    }

    /// The scheme's desired window. If it paces below a window per smoothed RTT, the smaller window at its pacing rate.
    pub fn wanted(&self) -> u32 {
        let window = self.scheme.window();
        let Some(rate) = self.scheme.pacing_rate().filter(|_| self.srtt > 0) else { return window };
        let packets = u128::from(rate) * u128::from(self.srtt) / (NANOS_PER_S * u128::from(SEGMENT_BYTES));
        window.min(u32::try_from(packets + 1).unwrap_or(u32::MAX))
    }

    /// Set window and rate, as [`External::command`](crate::External::command) does.
    pub fn command(&mut self, window: u32, pacing_rate: u64) {
        self.window = window.max(1);
        self.pacing_rate = (pacing_rate > 0).then_some(pacing_rate);
    }
}

impl CongestionControl for Held {
    fn on_start(&mut self, now: Nanos, srtt: Nanos) {
        self.srtt = srtt;
        self.scheme.on_start(now, srtt);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        self.scheme.on_ack(ack);
    }

    fn window(&self) -> u32 {
        self.window
    }

    fn pacing_rate(&self) -> Option<u64> {
        self.pacing_rate
    }

    fn path_changed_at(&self, now: Nanos) -> Option<Nanos> {
        self.scheme.path_changed_at(now)
    }

    /// Only commands move the window.
    fn wants_rate_reduction(&self) -> bool {
        false
    }

    forward! {
        scheme: on_ecn_mode(mode: EcnMode), on_restart(now: Nanos, idle: Nanos), on_packet_lost(now: Nanos, packet: &AtSending),
        on_congestion(kind: Congestion, now: Nanos), on_timeout(in_flight: u32),
        on_unused_window(window: u32, threshold: u32), on_undo(now: Nanos),
        on_telemetry(now: Nanos, hops: &[Hop]), on_recovered(now: Nanos), on_timer(now: Nanos);
        header -> Option<Header>, next_timer -> Nanos, slow_start_threshold -> u32,
        is_scalable -> bool, bbr_model -> Option<BbrModel>
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, External};

    const MS: Nanos = 1_000_000;

    fn delivery(packets: u32) -> Ack {
        Ack {
            acked: packets,
            delivered: packets,
            srtt: 100 * MS,
            window_limited: true,
            may_grow: true,
            ..Ack::default()
        }
    }

    #[test]
    fn the_window_moves_when_it_is_commanded_and_not_when_the_scheme_moves_its_own() {
        let mut held = Held::new(Scheme::by_name("reno", &Context::default()).expect("there is Reno"));
        held.on_start(0, 0);
        held.on_ack(&delivery(10));
        assert_eq!((held.window(), held.wanted(), held.pacing_rate()), (10, 20, None));
        held.command(held.wanted(), 5_000);
        assert_eq!((held.window(), held.pacing_rate()), (20, Some(5_000)));
        held.on_congestion(Congestion::Loss, 200 * MS);
        assert_eq!((held.window(), held.wanted()), (20, 10));
        assert!(!held.wants_rate_reduction());
        held.command(0, 0);
        assert_eq!((held.window(), held.pacing_rate()), (1, None));
    }

    #[test]
    fn a_scheme_that_paces_itself_wants_the_window_that_its_rate_is_one_an_rtt_of() {
        let mut paced = External::new();
        // 1,448 kB/s are one packet per millisecond, or 100 per RTT.
        paced.command(300, 1_448_000);
        let mut held = Held::new(Scheme::external(paced));
        assert_eq!(held.wanted(), 300, "before an RTT is known");
        held.on_ack(&delivery(1));
        assert_eq!(held.wanted(), 101);
        let mut narrow = External::new();
        narrow.command(30, 1_448_000);
        let mut held = Held::new(Scheme::external(narrow));
        held.on_ack(&delivery(1));
        assert_eq!(held.wanted(), 30, "its window limits it below its rate");
    }

    #[test]
    fn everything_else_is_the_schemes() {
        let scheme = Scheme::by_name("bbr3", &Context::default()).expect("there is BBR3");
        let (timer, threshold) = (scheme.next_timer(), scheme.slow_start_threshold());
        let held = scheme.held();
        assert_eq!((held.next_timer(), held.slow_start_threshold()), (timer, threshold));
        assert!(!held.paces_single_packets());
    }
}
