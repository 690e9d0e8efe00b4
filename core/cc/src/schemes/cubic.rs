//! CUBIC (RFC 9438), with any of several starts.

mod slow_start;

use crate::parts::hystart::HyStart;
use crate::parts::hystart_plus_plus::HyStartPlusPlus;
use crate::parts::rapid_start::RapidStart;
use crate::parts::ticks::{self, HZ};
use crate::parts::window::{Window, WindowBased};
use crate::{Ack, Congestion, Context, Nanos, Progress};
use slow_start::SlowStart;

/// RFC 9438 §4.6: "β_cubic SHOULD be set to 0.7"; Linux takes 717 / 1024.
const BETA_NUMERATOR: u32 = 717;
const BETA_DENOMINATOR: u32 = 1024;
/// RFC 9438 §5: "C SHOULD be set to 0.4", packets / s³; Linux takes 410 / 1024.
const C: f64 = C_1024 as f64 / 1024.0;
const C_1024: u64 = 410;
/// RFC 9438 §4.3: W_est grows by α_cubic = 3 (1 - β) / (1 + β) packets per round trip; Linux: a packet per 15/8 windows.
const RENO_NUMERATOR: u32 = 15;
const RENO_DENOMINATOR: u32 = 8;
/// Linux recomputes the target after more ticks than this, or when the window has changed.
const UPDATE_TICKS: u64 = HZ / 32;
/// SaTCP, Algorithm 1: K ← K / 9 after a loss that a handover explains.
const HANDOVER_K_DIVISOR: f64 = 9.0;

/// The window is a cubic function of the time since the last reduction. As in Linux, an undo does not restore W_max and
/// the stage (RFC 9438 §4.9.1 would).
#[derive(Clone, Debug, Default)]
pub struct Cubic {
    slow_start: SlowStart,
    /// Window before the last reduction, W_max.
    w_max: u32,
    epoch: Option<Epoch>,
    /// Acknowledged packets per increase of the window by a packet (Linux's cnt), and window and tick of that computation.
    per_packet: u32,
    last_window: u32,
    last_tick: u64,
    /// SaTCP's flag: a handover explains losses.
    disrupted: bool,
}

/// A congestion avoidance stage (RFC 9438 §4.1.1), in whole packets like Linux.
#[derive(Clone, Debug)]
struct Epoch {
    /// t_epoch, in ticks.
    t_epoch: u64,
    /// Window at which W_cubic is flat: W_max, or cwnd_epoch above it.
    origin: u32,
    /// K, the time from t_epoch until W_cubic reaches the origin, in s / 1024.
    k: u64,
    /// RFC 9438 §4.3: W_est, the window of a Reno flow with the same loss, and segments_acked since it grew.
    w_est: u32,
    segments_acked: u32,
}

impl Cubic {
    /// A new connection, with or without HyStart.
    pub fn new(hystart: bool) -> Self {
        Self {
            slow_start: if hystart { SlowStart::HyStart(HyStart::default()) } else { SlowStart::Plain },
            ..Self::default()
        }
    }

    /// Use this HyStart.
    pub fn starting(hystart: HyStart) -> Self {
        Self { slow_start: SlowStart::HyStart(hystart), ..Self::new(false) }
    }

    /// Use HyStart++ (RFC 9406).
    pub fn with_hystart_plus_plus() -> Self {
        Self { slow_start: SlowStart::PlusPlus(HyStartPlusPlus::default()), ..Self::new(false) }
    }

    /// Use SEARCH (draft-chung-ccwg-search-10).
    pub fn with_search() -> Self {
        Self { slow_start: SlowStart::Search(Box::default()), ..Self::new(false) }
    }

    /// Use Rapid Start (draft-kazuho-ccwg-rapid-start-02).
    pub fn with_rapid_start() -> Self {
        Self { slow_start: SlowStart::Rapid(RapidStart::default()), ..Self::new(false) }
    }

    /// Use Careful Resume (RFC 9959).
    pub fn with_careful_resume(context: &Context) -> Self {
        Self { slow_start: SlowStart::resuming(context.saved), ..Self::new(false) }
    }

    /// Set whether an announced handover explains losses from now on (SaTCP, Algorithm 1).
    pub(crate) const fn set_disrupted(&mut self, disrupted: bool) {
        self.disrupted = disrupted;
    }

    /// RFC 9438 §4.4: each acknowledged packet adds (target - cwnd) / cwnd. Here, every cwnd / (target - cwnd) acknowledged
    /// packets add one. They are at least 2, as §4.4 bounds the growth to 1.5 times per round trip.
    #[inline]
    fn update_target(&mut self, window: u32, now: Nanos, min_rtt: Nanos, segments_acked: u32) {
        let tick = ticks::at(now);
        if let Some(epoch) = &mut self.epoch {
            epoch.segments_acked = epoch.segments_acked.saturating_add(segments_acked);
        }
        if self.last_window != window || tick.saturating_sub(self.last_tick) > UPDATE_TICKS {
            self.compute_target(window, tick, min_rtt, segments_acked);
        }
    }

    #[inline(never)]
    fn compute_target(&mut self, window: u32, tick: u64, min_rtt: Nanos, segments_acked: u32) {
        let has_target = self.epoch.is_some() && tick == self.last_tick;
        let k_divisor = if self.disrupted { HANDOVER_K_DIVISOR } else { 1.0 };
        let w_max = self.w_max;
        let epoch =
            self.epoch.get_or_insert_with(|| Epoch::begin(tick, window, w_max, k_divisor, segments_acked));
        if !has_target {
            (self.last_window, self.last_tick) = (window, tick);
            let target = epoch.w_cubic(tick, min_rtt);
            self.per_packet = if target > u64::from(window) {
                u64::from(window).div_euclid(target - u64::from(window)) as u32
            } else {
                window.saturating_mul(100)
            };
            if self.w_max == 0 {
                // There is no W_max before the first loss: grow by at least 5 % per round trip.
                self.per_packet = self.per_packet.min(20);
            }
        }
        let w_est = epoch.update_w_est(window);
        if w_est > window {
            self.per_packet = self.per_packet.min(window / (w_est - window));
        }
        self.per_packet = self.per_packet.max(2);
    }
}

impl Epoch {
    fn begin(tick: u64, window: u32, w_max: u32, k_divisor: f64, segments_acked: u32) -> Self {
        let (origin, k) = if w_max > window {
            // RFC 9438 §4.2, K = cbrt((W_max - cwnd_epoch) / C)
            (w_max, (1024.0 * libm::cbrt(f64::from(w_max - window) / C) / k_divisor) as u64)
        } else {
            (window, 0)
        };
        Self { t_epoch: tick, origin, k, w_est: window, segments_acked }
    }

    /// RFC 9438 §4.2: W_cubic(t + RTT), where W_cubic(t) = C * (t - K)³ + W_max.
    fn w_cubic(&self, tick: u64, min_rtt: Nanos) -> u64 {
        let t =
            tick.saturating_sub(self.t_epoch).saturating_add(ticks::of(min_rtt)).saturating_mul(1024) / HZ;
        let distance = u128::from(t.abs_diff(self.k));
        let packets = u128::from(C_1024).saturating_mul(distance * distance).saturating_mul(distance) >> 40;
        let packets = u64::try_from(packets).unwrap_or(u64::MAX);
        let origin = u64::from(self.origin);
        if t < self.k { origin.saturating_sub(packets) } else { origin.saturating_add(packets) }
    }

    /// RFC 9438 §4.3.
    fn update_w_est(&mut self, window: u32) -> u32 {
        let round = (window.saturating_mul(RENO_NUMERATOR) / RENO_DENOMINATOR).max(1);
        // The last packet of a round begins the next one.
        let rounds = self.segments_acked.saturating_sub(1) / round;
        self.segments_acked -= rounds * round;
        self.w_est = self.w_est.saturating_add(rounds);
        self.w_est
    }
}

impl WindowBased for Cubic {
    fn on_start(&mut self, window: &mut Window, _now: Nanos, srtt: Nanos) {
        self.slow_start.on_start(window, srtt);
    }

    fn on_restart(&mut self, _now: Nanos, idle: Nanos) {
        // RFC 9438 §4.2: idle time must not count.
        if let Some(epoch) = &mut self.epoch {
            epoch.t_epoch += ticks::of(idle);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let factor = self.slow_start.on_ack(window, ack);
        if factor == 0 || !ack.may_grow || !ack.window_limited {
            return;
        }
        let mut acked = ack.delivered;
        if window.in_slow_start() {
            acked = self.slow_start.grow(window, ack, factor);
        }
        if acked > 0 {
            self.update_target(window.packets, ack.now, ack.min_rtt, acked);
            window.increase(acked, self.per_packet);
        }
    }

    #[inline(always)]
    fn on_progress(&mut self, window: &mut Window, progress: &Progress) {
        let &Progress { now, delivered, min_rtt, window_limited } = progress;
        if window_limited {
            self.update_target(window.packets, now, min_rtt, delivered);
            window.increase(delivered, self.per_packet);
        }
    }

    #[inline(always)]
    fn needs_only_progress(&self, window: &Window) -> bool {
        !window.in_slow_start() && self.slow_start.ends_with_slow_start()
    }

    fn on_congestion(&mut self, window: &mut Window, kind: Congestion, _now: Nanos) {
        let packets = window.packets;
        // RFC 9438 §4.7, fast convergence: a flow whose share shrinks leaves room sooner.
        self.w_max = if packets < self.w_max {
            let scaled = u64::from(BETA_DENOMINATOR + BETA_NUMERATOR) * u64::from(packets);
            (scaled / u64::from(2 * BETA_DENOMINATOR)) as u32
        } else {
            packets
        };
        self.epoch = None;
        let reduced = u64::from(packets) * u64::from(BETA_NUMERATOR) / u64::from(BETA_DENOMINATOR);
        let start_window = if kind.is_timeout() { None } else { self.slow_start.on_congestion(packets) };
        window.reduce(start_window.unwrap_or(reduced as u32), kind);
        if kind.is_timeout() && !self.disrupted {
            // RFC 9438 §4.8: a timeout resets W_max and restarts slow start.
            self.w_max = 0;
            self.slow_start.restart();
        }
    }

    fn on_recovered(&mut self, _window: &mut Window, _now: Nanos) {
        if let Some(w_max) = self.slow_start.on_recovered() {
            self.w_max = w_max;
        }
    }

    fn on_undo(&mut self) {
        self.slow_start.on_undo();
    }

    #[inline(always)]
    fn pacing_rate(&self, window: u32) -> Option<u64> {
        self.slow_start.pacing_rate(window)
    }

    fn wants_rate_reduction(&self) -> bool {
        !self.slow_start.reduces_at_once()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CongestionControl, Windowed, round_of_acks};

    fn after_loss_at(window: u32) -> Windowed<Cubic> {
        let mut cubic = Windowed::new(Cubic::new(false));
        cubic.window.packets = window;
        cubic.on_congestion(Congestion::Loss, 0);
        cubic
    }

    #[test]
    fn a_loss_reduces_the_window_by_three_tenths() {
        assert_eq!(after_loss_at(1000).window(), 700);
    }

    #[test]
    fn the_window_follows_the_cubic_around_its_plateau_at_k_seconds() {
        // RFC 9438 §4.2: K = cbrt(1000 × 0.3 / 0.4) = 9.09 s. W_cubic is 10 packets off cbrt(10 / 0.4) = 2.92 s before and after.
        let mut cubic = after_loss_at(1000);
        let mut now = 0;
        for (window, expected) in [(990, 9.09 - 2.92), (1010, 9.09 + 2.92)] {
            while cubic.window() < window {
                now = round_of_acks(&mut cubic, now);
            }
            let seconds = now as f64 * 1e-9;
            assert!((seconds - expected).abs() < 0.3, "{window} packets after {seconds} s");
        }
    }

    #[test]
    fn a_flow_that_loses_below_its_last_maximum_aims_lower() {
        // RFC 9438 §4.7: W_max = cwnd (1 + β) / 2 = 700 × 0.85.
        let mut cubic = after_loss_at(1000);
        cubic.on_congestion(Congestion::Loss, 0);
        assert!(cubic.scheme.w_max.abs_diff(595) <= 1, "{}", cubic.scheme.w_max);
    }

    #[test]
    fn an_undone_reduction_restores_the_window_and_not_the_stage() {
        // Linux: bictcp_recalc_ssthresh ends the epoch, and tcp_reno_undo_cwnd restores max(cwnd, prior_cwnd). The new epoch
        // starts at its plateau and adds 0.4 × 3³ = 11 packets in 3 s. The old epoch, 3 s past its plateau, would add 76.
        let mut cubic = after_loss_at(1000);
        let mut now = 0;
        while now < 12_000_000_000 {
            now = round_of_acks(&mut cubic, now);
        }
        let before = cubic.window();
        cubic.on_congestion(Congestion::Loss, now);
        cubic.on_undo(now);
        assert_eq!(cubic.window(), before);
        let end = now + 3_000_000_000;
        while now < end {
            now = round_of_acks(&mut cubic, now);
        }
        assert!((8..=25).contains(&(cubic.window() - before)), "{} from {before}", cubic.window());
    }

    #[test]
    fn at_small_windows_it_grows_like_reno() {
        // RFC 9438 §4.3: α = 3 × 0.3 / 1.7 = 0.53 packets a round trip, faster than the cubic at 14 packets and 100 ms.
        let mut cubic = after_loss_at(20);
        let mut now = 0;
        for _ in 0..20 {
            now = round_of_acks(&mut cubic, now);
        }
        let grown = f64::from(cubic.window()) - 14.0;
        assert!((grown - 20.0 * 0.53).abs() < 1.5, "{grown}");
    }
}
