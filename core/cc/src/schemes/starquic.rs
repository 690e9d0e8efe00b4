//! StarQUIC (Kamel, Zhao, Li and Pan, "StarQUIC: Tuning Congestion Control Algorithms for QUIC over LEO Satellite
//! Networks", LEO-NET 2024): a wrapper that hides a path's reconfigurations from a scheme.

use crate::context::{last_reconfiguration, next_reconfiguration};
use crate::{Ack, AtSending, BbrModel, Congestion, CongestionControl, Context, Nanos, Recovery};

/// The authors' release: losses of packets sent within 100 ms of a reconfiguration are excused.
const MARGIN: Nanos = 100_000_000;
/// The shortest retransmission timeout (Linux's TCP_RTO_MIN).
const TIMEOUT_MIN: Nanos = 200_000_000;

/// A scheme that does not see losses of packets sent around announced reconfigurations. Starlink's are at :12, :27, :42 and
/// :57 of every minute, everywhere. Without announcements this is the scheme itself.
#[derive(Clone, Debug)]
pub struct StarQuic<S> {
    scheme: S,
    /// First reconfiguration and period.
    grid: Option<(Nanos, Nanos)>,
    /// Hide ACKs of packets sent around a reconfiguration, too, from a scheme that models the path.
    models_path: bool,
    /// Some of the unrepaired losses are excused.
    has_excused: bool,
    /// Other losses were reported that the scheme has not answered.
    has_others: bool,
    /// Other losses were reported since the last ACK.
    ack_has_others: bool,
    /// The congestion that is being repaired and was hidden from the scheme.
    excused: Option<Congestion>,
    /// When the last delivered packet was sent. Missing packets were sent later.
    last_delivered_sent: Nanos,
}

impl<S: CongestionControl> StarQuic<S> {
    /// Wrap a scheme whose window only losses reduce.
    pub const fn new(scheme: S, context: &Context) -> Self {
        Self {
            scheme,
            grid: context.reconfiguration,
            models_path: false,
            has_excused: false,
            has_others: false,
            ack_has_others: false,
            excused: None,
            last_delivered_sent: 0,
        }
    }

    /// Wrap a scheme that models the path's bandwidth and RTT.
    pub const fn around_model(scheme: S, context: &Context) -> Self {
        let mut starquic = Self::new(scheme, context);
        starquic.models_path = true;
        starquic
    }

    /// Return whether `from..=to` overlaps the margin of a reconfiguration.
    fn meets_reconfiguration(&self, from: Nanos, to: Nanos) -> bool {
        // The first reconfiguration whose margin ends at `from` or later.
        self.grid.is_some_and(|grid| {
            next_reconfiguration(grid, from.saturating_sub(MARGIN)) <= to.saturating_add(MARGIN)
        })
    }
}

impl<S: CongestionControl> CongestionControl for StarQuic<S> {
    fn on_start(&mut self, now: Nanos, srtt: Nanos) {
        self.last_delivered_sent = now;
        self.scheme.on_start(now, srtt);
    }

    fn on_restart(&mut self, now: Nanos, idle: Nanos) {
        self.last_delivered_sent = now;
        self.scheme.on_restart(now, idle);
    }

    fn on_ack(&mut self, ack: &Ack) {
        let has_others = std::mem::take(&mut self.ack_has_others);
        if ack.recovery == Recovery::Open {
            (self.has_excused, self.has_others) = (false, false);
        }
        if let Some(newest) = ack.newest {
            self.last_delivered_sent = newest.sent_at;
            if self.models_path && self.meets_reconfiguration(newest.sent_at, newest.sent_at) {
                return;
            }
        }
        if ack.lost > 0 && !has_others {
            self.scheme.on_ack(&Ack { lost: 0, ..*ack });
        } else {
            self.scheme.on_ack(ack);
        }
    }

    fn on_packet_lost(&mut self, now: Nanos, packet: &AtSending) {
        if self.meets_reconfiguration(packet.sent_at, packet.sent_at) {
            self.has_excused = true;
            return;
        }
        self.ack_has_others = true;
        self.scheme.on_packet_lost(now, packet);
        // The transport reports congestion once per round trip. It reported excused losses; this loss is not excused. After
        // a timeout all packets count as lost, which proves nothing.
        if self.excused.take_if(|kind| *kind == Congestion::Loss).is_some() {
            self.scheme.on_congestion(Congestion::Loss, now);
        } else {
            self.has_others = true;
        }
    }

    fn on_congestion(&mut self, kind: Congestion, now: Nanos) {
        let has_others = std::mem::take(&mut self.has_others);
        let excused = match kind {
            // The lost packets were reported before. A mark, or a probe that repaired a loss, reports none.
            Congestion::Loss | Congestion::Ecn => {
                !has_others && (self.has_excused || self.meets_reconfiguration(self.last_delivered_sent, now))
            }
            Congestion::Timeout | Congestion::RepeatedTimeout => {
                let latest = now.saturating_sub(TIMEOUT_MIN).max(self.last_delivered_sent);
                self.meets_reconfiguration(self.last_delivered_sent, latest)
            }
        };
        self.excused = excused.then_some(kind);
        if !excused {
            self.scheme.on_congestion(kind, now);
        }
    }

    fn on_timeout(&mut self, in_flight: u32) {
        if self.excused.is_none() {
            self.scheme.on_timeout(in_flight);
        }
    }

    fn on_undo(&mut self, now: Nanos) {
        if self.excused.take().is_none() {
            self.scheme.on_undo(now);
        }
    }

    fn on_recovered(&mut self, now: Nanos) {
        self.excused = None;
        self.scheme.on_recovered(now);
    }

    /// At least the frozen window while excused losses are repaired, so that recovery replaces what leaves the path. QUIC
    /// paces every packet and needs no such rule; here all repairs at once would overrun the queue.
    fn slow_start_threshold(&self) -> u32 {
        let threshold = self.scheme.slow_start_threshold();
        if self.excused.is_some() { threshold.max(self.scheme.window()) } else { threshold }
    }

    /// The margin of a reconfiguration opens.
    fn path_changed_at(&self, now: Nanos) -> Option<Nanos> {
        last_reconfiguration(self.grid?, now.saturating_add(MARGIN)).map(|at| at.saturating_sub(MARGIN))
    }

    forward! {
        scheme: on_unused_window(window: u32, threshold: u32), on_timer(now: Nanos);
        next_timer -> Nanos, holds_back -> bool, window -> u32, pacing_rate -> Option<u64>,
        paces_single_packets -> bool, wants_rate_reduction -> bool, bbr_model -> Option<BbrModel>
    }
}

#[cfg(test)]
mod tests;
