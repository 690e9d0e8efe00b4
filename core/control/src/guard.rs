//! The guard of a policy: it gives a flow to a classic scheme if the policy is broken or outside its known ranges.

use crate::Report;

/// Time that a flow must be outside the known ranges before it falls back, in s, unless [`PATIENCE_RTTS`] take longer.
/// A start-up, a handover and a burst of losses are over by then.
const PATIENCE_S: f64 = 3.0;

/// The same in smoothed RTTs.
const PATIENCE_RTTS: f64 = 10.0;

/// Factor beyond a bound that counts as outside, so that a flow at the bound does not alternate.
const SLACK: f64 = 1.25;

/// Loss beyond the bound that does not count: handovers add some. Half of it in the fallback, with its own losses.
const SLACK_LOSS: f64 = 0.02;

/// Longest time in the fallback, in s. The fallback's own queue or losses may be outside the ranges.
const RETRY_S: f64 = 60.0;

/// Time constant of the smoothed rate and loss, in s, and in smoothed RTTs.
const SMOOTHING_S: f64 = 1.0;
const SMOOTHING_RTTS: f64 = 4.0;

/// Half of the time over which the smallest RTT counts, in s.
const LEAST_RTT_S: f64 = 5.0;

/// A packet's header bytes, because `rate_mbps` counts whole IP packets.
const HEADER_BYTES: f64 = 52.0;

/// The ranges of a policy's training, as least and most value. No range: any value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KnownRanges {
    /// The flow's delivery rate in Mbit/s, in whole IP packets.
    pub rate_mbps: Option<(f64, f64)>,
    /// The smallest RTT of the last 5 to 10 s, in ms.
    pub rtt_ms: Option<(f64, f64)>,
    /// Share of sent bytes that is lost.
    pub loss: Option<(f64, f64)>,
}

/// Sums that forget exponentially.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Recent {
    time_s: f64,
    delivered: f64,
    sent: f64,
    lost: f64,
}

/// The guard of one flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Guard {
    ranges: KnownRanges,
    recent: Recent,
    /// Smallest RTT of this half of the window and of the one before, in s, and the age of this one.
    least_rtt_s: (f64, f64),
    half_age_s: f64,
    /// Time for which the flow has been outside the ranges, or inside them during the fallback, without a break.
    outside_s: f64,
    inside_s: f64,
    fallen_s: f64,
    has_fallen: bool,
    fallbacks: u64,
}

impl Guard {
    pub const fn new(ranges: KnownRanges) -> Self {
        Self {
            ranges,
            recent: Recent { time_s: 0.0, delivered: 0.0, sent: 0.0, lost: 0.0 },
            least_rtt_s: (f64::INFINITY, f64::INFINITY),
            half_age_s: 0.0,
            outside_s: 0.0,
            inside_s: 0.0,
            fallen_s: 0.0,
            has_fallen: false,
            fallbacks: 0,
        }
    }

    /// How often the flow has fallen back.
    pub const fn fallbacks(&self) -> u64 {
        self.fallbacks
    }

    /// Whether the fallback steers the flow.
    pub const fn has_fallen(&self) -> bool {
        self.has_fallen
    }

    /// Add the report of an interval. Silence changes nothing, because outages pass.
    pub fn observe(&mut self, report: &Report) {
        let dt_s = report.interval_ns as f64 / 1e9;
        let srtt_s = f64::from(report.srtt_us) / 1e6;
        self.update_averages(report, dt_s, srtt_s);
        self.fallen_s += dt_s;
        if report.delivered_bytes == 0 {
            return;
        }
        let slack = if self.has_fallen { 1.0 } else { SLACK };
        let is_outside = self.is_outside(report, slack);
        self.outside_s = if is_outside { self.outside_s + dt_s } else { 0.0 };
        self.inside_s = if is_outside { 0.0 } else { self.inside_s + dt_s };
        if !self.has_fallen && self.outside_s > PATIENCE_S.max(PATIENCE_RTTS * srtt_s) {
            self.fall();
        }
    }

    /// Return whether the policy steers, whose action for this interval is usable if `is_valid`.
    pub fn decide(&mut self, is_valid: bool) -> bool {
        if !is_valid {
            if !self.has_fallen {
                self.fall();
            }
            self.inside_s = 0.0;
            return false;
        }
        // Each return takes twice as long as the previous one, so a policy that fails on its path rarely steers.
        let wait_s = (PATIENCE_S * libm::exp2(self.fallbacks.saturating_sub(1).min(16) as f64)).min(RETRY_S);
        if self.has_fallen && (self.inside_s >= wait_s || self.fallen_s >= RETRY_S) {
            self.has_fallen = false;
            self.outside_s = 0.0;
        }
        !self.has_fallen
    }

    fn fall(&mut self) {
        self.has_fallen = true;
        self.fallbacks += 1;
        self.fallen_s = 0.0;
        self.inside_s = 0.0;
    }

    fn update_averages(&mut self, report: &Report, dt_s: f64, srtt_s: f64) {
        let keep = libm::exp(-dt_s / SMOOTHING_S.max(SMOOTHING_RTTS * srtt_s));
        let recent = &mut self.recent;
        recent.time_s = recent.time_s * keep + dt_s;
        recent.delivered = recent.delivered * keep + report.delivered_bytes as f64;
        recent.sent = recent.sent * keep + report.sent_bytes as f64;
        recent.lost = recent.lost * keep + report.lost_bytes as f64;
        self.half_age_s += dt_s;
        // A long recovery has no samples: then older ones count.
        if self.half_age_s > LEAST_RTT_S && self.least_rtt_s.0.is_finite() {
            self.half_age_s = 0.0;
            self.least_rtt_s = (f64::INFINITY, self.least_rtt_s.0);
        }
        if report.avg_rtt_us > 0 {
            self.least_rtt_s.0 = self.least_rtt_s.0.min(f64::from(report.avg_rtt_us) / 1e6);
        }
    }

    fn is_outside(&self, report: &Report, slack: f64) -> bool {
        let Recent { time_s, delivered, sent, lost } = self.recent;
        let mss = f64::from(report.mss.max(1));
        let rate_mbps = delivered * 8e-6 * (mss + HEADER_BYTES) / mss / time_s;
        let rtt_ms = 1e3 * self.least_rtt_s.0.min(self.least_rtt_s.1);
        let KnownRanges { rate_mbps: rates, rtt_ms: rtts, loss: losses } = self.ranges;
        let is_beyond = |range: Option<(f64, f64)>, value: f64| {
            range.is_some_and(|(least, most)| value < least / slack || value > most * slack)
        };
        let slack_loss = if self.has_fallen { SLACK_LOSS / 2.0 } else { SLACK_LOSS };
        is_beyond(rates, rate_mbps)
            || rtt_ms.is_finite() && is_beyond(rtts, rtt_ms)
            || sent > 0.0 && losses.is_some_and(|(_, most)| lost / sent > most * slack + slack_loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGES: KnownRanges =
        KnownRanges { rate_mbps: Some((10.0, 100.0)), rtt_ms: Some((20.0, 200.0)), loss: Some((0.0, 0.01)) };

    /// 30 ms of a flow at that rate, RTT and loss.
    fn report(rate_mbps: f64, rtt_ms: u32, loss: f64) -> Report {
        let bytes = rate_mbps * 1e6 / 8.0 * 0.03 * 1_448.0 / 1_500.0;
        Report {
            interval_ns: 30_000_000,
            delivered_bytes: bytes as u64,
            sent_bytes: bytes as u64,
            lost_bytes: (bytes * loss) as u64,
            avg_rtt_us: 1_000 * rtt_ms,
            srtt_us: 1_000 * rtt_ms,
            mss: 1_448,
            ..Report::default()
        }
    }

    /// Return for how many of the reports in `seconds` the policy steers.
    fn steered(guard: &mut Guard, report: Report, seconds: f64) -> usize {
        let intervals = (seconds / 0.03) as usize;
        (0..intervals)
            .filter(|_| {
                guard.observe(&report);
                guard.decide(true)
            })
            .count()
    }

    #[test]
    fn a_flow_within_the_ranges_never_falls_back() {
        let mut guard = Guard::new(RANGES);
        for inside in [report(50.0, 50, 0.0), report(10.0, 20, 0.01), report(100.0, 200, 0.0)] {
            assert_eq!(steered(&mut guard, inside, 30.0), 1_000);
        }
        assert_eq!(guard.fallbacks(), 0);
    }

    #[test]
    fn a_rate_an_rtt_or_a_loss_beyond_the_ranges_falls_back_after_a_while() {
        for strange in [
            report(7.0, 50, 0.0),
            report(130.0, 50, 0.0),
            report(50.0, 15, 0.0),
            report(50.0, 260, 0.0),
            report(50.0, 50, 0.05),
        ] {
            let mut guard = Guard::new(RANGES);
            let before = steered(&mut guard, strange, 30.0) as f64 * 0.03;
            assert_eq!(guard.fallbacks(), 1, "{strange:?}");
            assert!((3.0..5.0).contains(&before), "{before} s: {strange:?}");
        }
    }

    #[test]
    fn a_dip_an_outage_and_a_burst_of_losses_are_waited_out() {
        let mut guard = Guard::new(RANGES);
        let (usual, silent) =
            (report(50.0, 50, 0.0), Report { interval_ns: 30_000_000, ..Report::default() });
        for (strange, seconds) in [(report(2.0, 50, 0.0), 1.0), (silent, 1.0), (report(50.0, 50, 1.0), 0.2)] {
            steered(&mut guard, usual, 5.0);
            steered(&mut guard, strange, seconds);
        }
        // However long it lasts, silence says nothing about the path.
        steered(&mut guard, silent, 100.0);
        steered(&mut guard, usual, 5.0);
        assert_eq!(guard.fallbacks(), 0);
    }

    #[test]
    fn the_policy_comes_back_within_the_ranges_and_each_time_later() {
        let mut guard = Guard::new(RANGES);
        let (usual, strange) = (report(50.0, 50, 0.0), report(300.0, 50, 0.0));
        let mut away_s = Vec::new();
        for _ in 0..3 {
            steered(&mut guard, strange, 10.0);
            assert!(guard.has_fallen());
            away_s.push(40.0 - steered(&mut guard, usual, 40.0) as f64 * 0.03);
            assert!(!guard.has_fallen());
        }
        assert_eq!(guard.fallbacks(), 3);
        for (away_s, wait_s) in away_s.into_iter().zip([3.0, 6.0, 12.0]) {
            assert!((wait_s..wait_s + 3.0).contains(&away_s), "{away_s} s instead of {wait_s}");
        }
    }

    #[test]
    fn after_a_minute_in_the_fallback_the_policy_tries_again() {
        let mut guard = Guard::new(RANGES);
        steered(&mut guard, report(300.0, 50, 0.0), 70.0);
        assert_eq!(guard.fallbacks(), 2);
    }

    #[test]
    fn without_rtt_samples_the_last_ones_count() {
        let mut guard = Guard::new(RANGES);
        let far = report(50.0, 260, 0.0);
        steered(&mut guard, far, 10.0);
        steered(&mut guard, Report { avg_rtt_us: 0, ..far }, 40.0);
        assert!(guard.has_fallen());
        assert_eq!(guard.fallbacks(), 1);
    }

    #[test]
    fn an_action_that_is_no_number_falls_back_at_once_and_waits_for_good_ones() {
        let mut guard = Guard::new(KnownRanges::default());
        guard.observe(&report(50.0, 50, 0.0));
        assert!(guard.decide(true));
        assert!(!guard.decide(false));
        for _ in 0..5_000 {
            guard.observe(&report(50.0, 50, 0.0));
            assert!(!guard.decide(false));
        }
        assert_eq!(guard.fallbacks(), 1);
        assert!(steered(&mut guard, report(50.0, 50, 0.0), 5.0) > 0);
    }
}
