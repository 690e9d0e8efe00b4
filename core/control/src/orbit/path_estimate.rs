//! What a plain host can know about its path: an aged base RTT, the queue, and delivery rates.

use crate::Report;

/// Intervals remembered, for sums over up to two seconds of 10 ms.
const REMEMBERED: usize = 256;

/// Share of the base RTT by which the estimate grows per second while no sample confirms it. Drains confirm it
/// every cycle; a drift of the orbit is slower.
const AGEING_PER_S: f64 = 0.01;

/// One interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Past {
    dt_s: f64,
    delivered: f64,
    lost: f64,
    sent: f64,
    /// The sending rate during the interval, in bytes/s.
    rate: f64,
}

/// The estimate of one flow's path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PathEstimate {
    past: [Past; REMEMBERED],
    newest: usize,
    /// Now, in s since the run's start.
    pub time_s: f64,
    /// Length of the last interval, in s.
    pub dt_s: f64,
    /// Mean RTT of the last interval with a sample, in s; 0 before the first.
    pub rtt_s: f64,
    /// RTT without queueing, in s; 0 before the first sample.
    pub base_s: f64,
    /// Spread of the RTT between intervals, in s.
    pub noise_s: f64,
    /// RTT growth within the last interval, in s/s.
    pub slope: f64,
    /// Mean of the delivery-rate samples of the last interval with one, in bytes/s.
    pub delivery: f64,
    /// Time without a delivery, in s.
    pub silent_s: f64,
    /// Bytes in flight.
    pub inflight: f64,
    /// Payload of a packet, in bytes.
    pub mss: f64,
    /// Whether the last interval had an RTT sample.
    pub heard: bool,
}

impl Default for PathEstimate {
    fn default() -> Self {
        Self {
            past: [Past::default(); REMEMBERED],
            newest: 0,
            time_s: 0.0,
            dt_s: 0.0,
            rtt_s: 0.0,
            base_s: 0.0,
            noise_s: 0.0,
            slope: 0.0,
            delivery: 0.0,
            silent_s: 0.0,
            inflight: 0.0,
            mss: 1_448.0,
            heard: false,
        }
    }
}

impl PathEstimate {
    /// Add the report of an interval.
    pub fn observe(&mut self, report: &Report) {
        self.dt_s = report.interval_ns as f64 / 1e9;
        self.time_s = report.time_ns as f64 / 1e9;
        self.mss = f64::from(report.mss.max(1));
        self.inflight = f64::from(report.packets_out) * self.mss;
        self.newest = (self.newest + 1) % REMEMBERED;
        self.past[self.newest] = Past {
            dt_s: self.dt_s,
            delivered: report.delivered_bytes as f64,
            lost: report.lost_bytes as f64,
            sent: report.sent_bytes as f64,
            rate: report.pacing_rate as f64,
        };
        self.silent_s = if report.delivered_bytes > 0 { 0.0 } else { self.silent_s + self.dt_s };
        if report.avg_throughput > 0 {
            self.delivery = report.avg_throughput as f64;
        }
        self.heard = report.avg_rtt_us > 0;
        self.slope = if report.rtt_slope.is_finite() { report.rtt_slope } else { 0.0 };
        if self.heard {
            self.take_rtt(f64::from(report.avg_rtt_us) / 1e6);
        }
    }

    fn take_rtt(&mut self, rtt_s: f64) {
        if self.rtt_s > 0.0 {
            let step = (rtt_s - self.rtt_s).abs().min(3.0 * self.noise_s + 2e-4);
            self.noise_s += 0.05 * (step - self.noise_s);
        }
        self.rtt_s = rtt_s;
        if self.base_s == 0.0 || rtt_s <= self.base_s {
            self.base_s = rtt_s;
        } else {
            self.base_s = rtt_s.min(self.base_s * (1.0 + AGEING_PER_S * self.dt_s));
        }
    }

    /// Take the current RTT as the base: the path has changed.
    pub fn rebase(&mut self) {
        self.base_s = self.rtt_s;
    }

    /// Queueing delay, in s.
    pub fn queue_s(&self) -> f64 {
        (self.rtt_s - self.base_s).max(0.0)
    }

    /// Delivery rate over the last `window_s`, in bytes/s.
    pub fn delivered_over(&self, window_s: f64) -> f64 {
        let (time, delivered, _) = self.sums(window_s);
        crate::report::ratio(delivered, time)
    }

    /// Bytes lost over bytes answered in the last `window_s`.
    pub fn loss_over(&self, window_s: f64) -> f64 {
        let (_, delivered, lost) = self.sums(window_s);
        crate::report::ratio(lost, delivered + lost)
    }

    /// The sending rate one RTT ago, in bytes/s: what is answered now.
    pub fn answered_rate(&self) -> f64 {
        let mut time = 0.0;
        for back in 0..REMEMBERED {
            let past = &self.past[(self.newest + REMEMBERED - back) % REMEMBERED];
            time += past.dt_s;
            if time >= self.rtt_s || past.dt_s == 0.0 {
                return past.rate;
            }
        }
        self.past[self.newest].rate
    }

    /// Delivered over sent bytes, in the last `window_s` of answers.
    pub fn answered_share(&self, window_s: f64) -> f64 {
        let (mut time, mut delivered, mut sent) = (0.0, 0.0, 0.0);
        for back in 0..REMEMBERED {
            let past = &self.past[(self.newest + REMEMBERED - back) % REMEMBERED];
            if past.dt_s == 0.0 {
                break;
            }
            if time < window_s {
                delivered += past.delivered;
            }
            if time >= self.rtt_s && time < self.rtt_s + window_s {
                sent += past.sent;
            }
            time += past.dt_s;
        }
        if sent > 0.0 { delivered / sent } else { 1.0 }
    }

    fn sums(&self, window_s: f64) -> (f64, f64, f64) {
        let (mut time, mut delivered, mut lost) = (0.0, 0.0, 0.0);
        for back in 0..REMEMBERED {
            let past = &self.past[(self.newest + REMEMBERED - back) % REMEMBERED];
            if past.dt_s == 0.0 {
                break;
            }
            time += past.dt_s;
            delivered += past.delivered;
            lost += past.lost;
            if time >= window_s {
                break;
            }
        }
        (time, delivered, lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(time_ms: u64, avg_rtt_us: u32) -> Report {
        Report {
            time_ns: time_ms * 1_000_000,
            interval_ns: 10_000_000,
            delivered_bytes: 10_000,
            sent_bytes: 12_500,
            lost_bytes: 2_500,
            avg_throughput: 1_000_000,
            avg_rtt_us,
            packets_out: 10,
            mss: 1_000,
            pacing_rate: time_ms * 1_000,
            ..Report::default()
        }
    }

    #[test]
    fn the_base_rtt_falls_at_once_ages_by_a_hundredth_a_second_and_moves_when_told() {
        let mut path = PathEstimate::default();
        path.observe(&report(10, 50_000));
        path.observe(&report(20, 40_000));
        assert_eq!(path.base_s, 0.04);
        for interval in 3..=102 {
            path.observe(&report(10 * interval, 60_000));
        }
        assert!((path.base_s - 0.04 * 1.01).abs() < 1e-5, "{}", path.base_s);
        assert!((path.queue_s() - 0.0196).abs() < 1e-5);
        path.rebase();
        assert_eq!((path.base_s, path.queue_s()), (0.06, 0.0));
    }

    #[test]
    fn rates_and_losses_are_sums_over_the_latest_intervals() {
        let mut path = PathEstimate::default();
        for interval in 1..=10 {
            path.observe(&report(10 * interval, 30_000));
        }
        assert!((path.delivered_over(0.05) - 1e6).abs() < 1e-3);
        assert_eq!(path.loss_over(0.05), 0.2);
        // The rate of three intervals ago is answered now.
        assert_eq!(path.answered_rate(), 80_000.0);
        assert!((path.answered_share(0.03) - 0.8).abs() < 1e-9);
    }

    #[test]
    fn silence_lasts_until_the_next_delivery() {
        let mut path = PathEstimate::default();
        path.observe(&report(10, 30_000));
        for interval in 2..=4 {
            path.observe(&Report { delivered_bytes: 0, avg_rtt_us: 0, ..report(10 * interval, 0) });
        }
        assert!((path.silent_s - 0.03).abs() < 1e-9 && !path.heard);
        path.observe(&report(50, 30_000));
        assert_eq!((path.silent_s, path.heard), (0.0, true));
    }
}
