//! Sums over a monitor interval, for learned agents.

use crate::{Nanos, RateSample, SEGMENT_BYTES};

/// What happened since the counters were last taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntervalCounters {
    /// Packets delivered, in order or selectively.
    pub delivered_packets: u64,
    /// Packets sent, again or for the first time.
    pub sent_packets: u64,
    /// Packets deemed lost.
    pub lost_packets: u64,
    /// Sum of the RTT samples.
    pub rtt_sum: Nanos,
    /// Number of RTT samples.
    pub rtt_samples: u32,
    /// Sum of the delivery-rate samples, in bytes of payload per second.
    pub rate_sum: u64,
    /// Number of delivery-rate samples.
    pub rate_samples: u32,
}

impl IntervalCounters {
    pub(crate) fn on_rate(&mut self, sample: RateSample) {
        self.rate_sum += sample.per_second(SEGMENT_BYTES);
        self.rate_samples += 1;
    }

    /// Mean RTT; `None` without a sample.
    #[must_use]
    pub fn mean_rtt(&self) -> Option<Nanos> {
        (self.rtt_samples > 0).then(|| self.rtt_sum / Nanos::from(self.rtt_samples))
    }

    /// Mean delivery rate in bytes of payload per second; `None` without a sample.
    #[must_use]
    pub fn mean_rate(&self) -> Option<u64> {
        (self.rate_samples > 0).then(|| self.rate_sum / u64::from(self.rate_samples))
    }
}
