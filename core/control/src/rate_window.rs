//! Sums over the last 100 intervals with a delivery: Sage's rates of a flow.

use crate::Report;
use crate::report::ratio;

/// Intervals in the window.
pub const RATE_WINDOW_INTERVALS: usize = 100;

/// Sums of an interval and the silent ones before it, clamped to [`LARGEST`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    interval_us: u64,
    sent_bytes: u64,
    delivered_bytes: u64,
    lost_bytes: u64,
    out_bytes: u64,
}

/// More than any link delivers in an interval. A hundred of these fit.
const LARGEST: u64 = 1 << 50;

impl Sums {
    fn add(&mut self, sums: &Self) {
        self.zip(sums, u64::wrapping_add);
    }

    fn subtract(&mut self, sums: &Self) {
        self.zip(sums, u64::wrapping_sub);
    }

    fn zip(&mut self, sums: &Self, combine: impl Fn(u64, u64) -> u64) {
        self.interval_us = combine(self.interval_us, sums.interval_us);
        self.sent_bytes = combine(self.sent_bytes, sums.sent_bytes);
        self.delivered_bytes = combine(self.delivered_bytes, sums.delivered_bytes);
        self.lost_bytes = combine(self.lost_bytes, sums.lost_bytes);
        self.out_bytes = combine(self.out_bytes, sums.out_bytes);
    }

    fn bounded(self) -> Self {
        Self {
            interval_us: self.interval_us.min(LARGEST),
            sent_bytes: self.sent_bytes.min(LARGEST),
            delivered_bytes: self.delivered_bytes.min(LARGEST),
            lost_bytes: self.lost_bytes.min(LARGEST),
            out_bytes: self.out_bytes.min(LARGEST),
        }
    }
}

/// The last [`RATE_WINDOW_INTERVALS`] intervals with a delivery. A silent interval counts with the next one
/// that has a delivery, because Sage's released server waits for one before it reads the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateWindow {
    intervals: [Sums; RATE_WINDOW_INTERVALS],
    interval_count: u64,
    total: Sums,
    /// Silent intervals since the last one taken.
    pending: Sums,
    last: Sums,
}

impl Default for RateWindow {
    fn default() -> Self {
        let none = Sums::default();
        Self {
            intervals: [none; RATE_WINDOW_INTERVALS],
            interval_count: 0,
            total: none,
            pending: none,
            last: none,
        }
    }
}

impl RateWindow {
    /// Add the report of the interval that just ended. Returns whether it had a delivery.
    pub fn push(&mut self, report: &Report) -> bool {
        let sums = Sums {
            interval_us: report.interval_ns / 1_000,
            sent_bytes: report.sent_bytes,
            delivered_bytes: report.delivered_bytes,
            lost_bytes: report.lost_bytes,
            out_bytes: 0,
        };
        self.pending.add(&sums.bounded());
        self.pending = self.pending.bounded();
        if report.delivered_bytes == 0 {
            return false;
        }
        let out_bytes = u64::from(report.packets_out) * u64::from(report.mss);
        self.last = Sums { out_bytes, ..self.pending }.bounded();
        self.pending = Sums::default();
        let slot = &mut self.intervals[(self.interval_count % RATE_WINDOW_INTERVALS as u64) as usize];
        self.total.subtract(slot);
        self.total.add(&self.last);
        *slot = self.last;
        self.interval_count += 1;
        true
    }

    /// Delivery rate over the window, in Mbit/s of payload.
    pub fn delivered_mbps(&self) -> f64 {
        ratio(8.0 * self.total.delivered_bytes as f64, self.total.interval_us as f64)
    }

    /// Loss rate over the window, in Mbit/s of payload.
    pub fn lost_mbps(&self) -> f64 {
        ratio(8.0 * self.total.lost_bytes as f64, self.total.interval_us as f64)
    }

    /// Mean bytes in flight divided by all bytes sent in the window.
    pub(crate) fn out_share_of_sent(&self) -> f64 {
        let mean = self.total.out_bytes / self.interval_count.clamp(1, RATE_WINDOW_INTERVALS as u64);
        if self.total.sent_bytes > 0 { mean as f64 / self.total.sent_bytes as f64 } else { mean as f64 }
    }

    /// Length of the last interval taken and the silence before it, in µs.
    pub(crate) const fn last_interval_us(&self) -> u64 {
        self.last.interval_us
    }

    pub(crate) fn last_delivered_bytes_per_s(&self) -> f64 {
        ratio(self.last.delivered_bytes as f64 * 1e6, self.last.interval_us as f64)
    }

    pub(crate) fn last_sent_bytes_per_s(&self) -> f64 {
        ratio(self.last.sent_bytes as f64 * 1e6, self.last.interval_us as f64)
    }

    pub(crate) const fn last_lost_bytes(&self) -> u64 {
        self.last.lost_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(delivered_bytes: u64) -> Report {
        Report {
            interval_ns: 10_000_000,
            delivered_bytes,
            sent_bytes: 2_000,
            lost_bytes: 500,
            packets_out: 3,
            mss: 1_000,
            ..Report::default()
        }
    }

    #[test]
    fn rates_are_of_all_bytes_over_all_time_of_the_window() {
        let mut window = RateWindow::default();
        assert_eq!((window.delivered_mbps(), window.lost_mbps()), (0.0, 0.0));
        for delivered in [12_500, 37_500] {
            assert!(window.push(&report(delivered)));
        }
        // 50,000 B delivered and 1,000 B lost in 20 ms.
        assert_eq!((window.delivered_mbps(), window.lost_mbps()), (20.0, 0.4));
        // 3,000 B in flight on average, 4,000 B sent.
        assert_eq!(window.out_share_of_sent(), 0.75);
    }

    #[test]
    fn a_silent_interval_counts_with_the_next_delivery() {
        let mut window = RateWindow::default();
        assert!(!window.push(&report(0)));
        assert_eq!((window.delivered_mbps(), window.last_interval_us()), (0.0, 0));
        assert!(window.push(&report(25_000)));
        assert_eq!((window.delivered_mbps(), window.last_interval_us()), (10.0, 20_000));
        assert_eq!(window.last_sent_bytes_per_s(), 200_000.0);
        assert_eq!(window.last_lost_bytes(), 1_000);
    }

    #[test]
    fn what_is_older_than_a_hundred_intervals_is_forgotten() {
        let mut window = RateWindow::default();
        for delivered in 1..=250 {
            window.push(&report(1_250 * delivered));
        }
        // Intervals 151 to 250 have a mean of 200.5 Mbit/s.
        assert!((window.delivered_mbps() - 200.5).abs() < 1e-9);
    }

    #[test]
    fn absurd_counters_do_not_wrap_into_rates_that_are_not_finite() {
        let mut window = RateWindow::default();
        let absurd =
            Report { interval_ns: 1_000, lost_bytes: u64::MAX, sent_bytes: u64::MAX, ..report(u64::MAX) };
        for _ in 0..300 {
            window.push(&absurd);
            assert!(window.delivered_mbps().is_finite() && window.delivered_mbps() >= 0.0);
            assert!(window.lost_mbps() <= 8.0 * LARGEST as f64);
        }
    }
}
