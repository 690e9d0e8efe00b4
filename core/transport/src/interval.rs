//! Sums over a monitor interval, for learned agents.

use crate::{Nanos, RateSample, SEGMENT_BYTES};

/// Counters since they were last taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntervalCounters {
    /// Packets delivered, in order or selectively.
    pub delivered_packets: u64,
    /// Packets sent, including retransmissions.
    pub sent_packets: u64,
    /// Packets marked lost.
    pub lost_packets: u64,
    /// Sum of the RTT samples.
    pub rtt_sum: Nanos,
    /// Number of RTT samples.
    pub rtt_samples: u32,
    first_rtt_at: Nanos,
    /// Sums over the RTT samples, in µs: time since the first one, its square, its product with the RTT.
    time_sum: u64,
    time_square_sum: u128,
    time_rtt_sum: u128,
    /// Sum of the delivery-rate samples, in bytes of payload per second.
    pub rate_sum: u64,
    /// Number of delivery-rate samples.
    pub rate_samples: u32,
}

impl IntervalCounters {
    pub(crate) fn on_rtt(&mut self, now: Nanos, rtt: Nanos) {
        if self.rtt_samples == 0 {
            self.first_rtt_at = now;
        }
        let (time_us, rtt_us) = (now.saturating_sub(self.first_rtt_at) / 1_000, rtt / 1_000);
        self.rtt_sum += rtt;
        self.rtt_samples += 1;
        self.time_sum += time_us;
        self.time_square_sum += u128::from(time_us) * u128::from(time_us);
        self.time_rtt_sum += u128::from(time_us) * u128::from(rtt_us);
    }

    pub(crate) fn on_rate(&mut self, sample: RateSample) {
        self.rate_sum += sample.per_second(SEGMENT_BYTES);
        self.rate_samples += 1;
    }

    /// Mean RTT; `None` without a sample.
    pub fn mean_rtt(&self) -> Option<Nanos> {
        (self.rtt_samples > 0).then(|| self.rtt_sum / Nanos::from(self.rtt_samples))
    }

    /// RTT slope of the least-squares line in s/s; 0 with fewer than two samples or all at one time.
    pub fn rtt_slope(&self) -> f64 {
        let n = f64::from(self.rtt_samples);
        let (time, rtt) = (self.time_sum as f64, self.rtt_sum as f64 / 1e3);
        let spread = n * self.time_square_sum as f64 - time * time;
        if spread > 0.0 { (n * self.time_rtt_sum as f64 - time * rtt) / spread } else { 0.0 }
    }

    /// Mean delivery rate in bytes of payload per second; `None` without a sample.
    pub fn mean_rate(&self) -> Option<u64> {
        (self.rate_samples > 0).then(|| self.rate_sum / u64::from(self.rate_samples))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_is_that_of_the_line_through_the_samples() {
        let mut counters = IntervalCounters::default();
        assert_eq!(counters.rtt_slope(), 0.0);
        // From 5 s on, 2 ms more every 10 ms.
        for i in 0..10 {
            counters.on_rtt(5_000_000_000 + i * 10_000_000, 100_000_000 + i * 2_000_000);
        }
        assert!((counters.rtt_slope() - 0.2).abs() < 1e-9, "{}", counters.rtt_slope());
        assert_eq!(counters.mean_rtt(), Some(109_000_000));
    }

    #[test]
    fn samples_of_one_instant_have_no_slope() {
        let mut counters = IntervalCounters::default();
        counters.on_rtt(7, 1_000_000);
        counters.on_rtt(7, 2_000_000);
        assert_eq!(counters.rtt_slope(), 0.0);
    }
}
