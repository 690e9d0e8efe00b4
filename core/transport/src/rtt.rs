//! RTT estimation and the retransmission timeout as in Linux (RFC 6298 with a windowed deviation).

use crate::Nanos;
use crate::min_rtt::MinRtt;

const MILLISECOND: Nanos = 1_000_000;
/// Linux's TCP_RTO_MIN.
pub const RTO_MIN: Nanos = 200 * MILLISECOND;
/// Linux's TCP_RTO_MAX.
pub const RTO_MAX: Nanos = 120_000 * MILLISECOND;
/// RFC 6298 §2.1: the timeout before the first sample.
pub const RTO_INITIAL: Nanos = 1_000 * MILLISECOND;

/// The smoothed RTT, its deviation, the minimum RTT and the timeout.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct RttEstimator {
    /// Eight times the smoothed RTT; 0 before the first sample.
    srtt_8: Nanos,
    /// Each times four: mean deviation, its maximum in the current round, and the value for the timeout.
    mdev_4: Nanos,
    mdev_max_4: Nanos,
    rttvar_4: Nanos,
    round_end: u64,
    min: MinRtt,
    latest: Nanos,
    /// The timeout before the first sample.
    initial: Nanos,
}

impl RttEstimator {
    /// Create an estimator without samples.
    pub const fn new() -> Self {
        Self {
            srtt_8: 0,
            mdev_4: 0,
            mdev_max_4: 0,
            rttvar_4: 0,
            round_end: 0,
            min: MinRtt::new(),
            latest: 0,
            initial: RTO_INITIAL,
        }
    }

    /// Before the first sample, lengthen the timeout as the sample `rtt` would, without counting it as a sample.
    pub fn expect(&mut self, rtt: Nanos) {
        // RFC 6298 §2.2: "RTTVAR <- R/2, RTO <- SRTT + max (G, K*RTTVAR)" with K = 4.
        self.initial = rtt.saturating_mul(3).clamp(RTO_INITIAL, RTO_MAX);
    }

    /// Take a sample at `now`; the sender's `una` and `next` delimit rounds. `rtt` is that of the first
    /// packet of an ACK, including the receiver's delay (RFC 6298). `last`, that of the last packet, is for
    /// the minimum.
    #[inline(always)]
    pub fn sample(&mut self, now: Nanos, rtt: Nanos, last: Nanos, una: u64, next: u64) {
        let rtt = rtt.max(1);
        self.latest = rtt;
        self.min.update(now, last.max(1));
        if self.srtt_8 == 0 {
            self.srtt_8 = rtt * 8;
            self.mdev_4 = rtt * 2;
            self.rttvar_4 = self.mdev_4.max(RTO_MIN);
            self.mdev_max_4 = self.rttvar_4;
            self.round_end = next;
            return;
        }
        let srtt = self.srtt_8 / 8;
        let (falls, error) = if rtt >= srtt { (false, rtt - srtt) } else { (true, srtt - rtt) };
        self.srtt_8 = self.srtt_8 - srtt + rtt;
        // Linux counts a fall beyond the deviation by an eighth, so draining queues extend no timer.
        let mdev = self.mdev_4 / 4;
        if falls && error > mdev {
            self.mdev_4 += (error - mdev) / 8;
        } else {
            self.mdev_4 = self.mdev_4 - mdev + error;
        }
        if self.mdev_4 > self.mdev_max_4 {
            self.mdev_max_4 = self.mdev_4;
            self.rttvar_4 = self.rttvar_4.max(self.mdev_max_4);
        }
        if una > self.round_end {
            if self.mdev_max_4 < self.rttvar_4 {
                self.rttvar_4 -= (self.rttvar_4 - self.mdev_max_4) / 4;
            }
            self.round_end = next;
            self.mdev_max_4 = RTO_MIN;
        }
    }

    /// Smoothed RTT; 0 before the first sample.
    pub const fn smoothed(&self) -> Nanos {
        self.srtt_8 / 8
    }

    /// Mean deviation of the RTT.
    pub const fn deviation(&self) -> Nanos {
        self.mdev_4 / 4
    }

    /// Smallest RTT of the last 300 s; `Nanos::MAX` before the first sample.
    pub const fn min(&self) -> Nanos {
        self.min.get()
    }

    /// The last sample.
    pub const fn latest(&self) -> Nanos {
        self.latest
    }

    /// The retransmission timeout without backoff: at least 200 ms above the smoothed RTT.
    pub fn timeout(&self) -> Nanos {
        if self.srtt_8 == 0 { self.initial } else { (self.srtt_8 / 8 + self.rttvar_4).min(RTO_MAX) }
    }
}

impl Default for RttEstimator {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_rtt_gives_a_timeout_200_ms_above_it() {
        let mut rtt = RttEstimator::new();
        assert_eq!(rtt.timeout(), 1_000 * MILLISECOND);
        for packet in 0..1000 {
            rtt.sample(packet * MILLISECOND, 50 * MILLISECOND, 50 * MILLISECOND, packet, packet + 10);
        }
        assert_eq!(rtt.smoothed(), 50 * MILLISECOND);
        assert_eq!(rtt.timeout(), 250 * MILLISECOND);
    }

    #[test]
    fn an_expected_rtt_only_lengthens_the_timeout_before_the_first_sample() {
        for (expected, timeout) in
            [(50, 1_000), (333, 1_000), (600, 1_800), (1_200, 3_600), (50_000, 120_000)]
        {
            let mut rtt = RttEstimator::new();
            rtt.expect(expected * MILLISECOND);
            assert_eq!(rtt.timeout(), timeout * MILLISECOND, "{expected}");
            assert_eq!((rtt.smoothed(), rtt.min()), (0, Nanos::MAX));
            rtt.sample(0, 50 * MILLISECOND, 50 * MILLISECOND, 0, 10);
            assert_eq!(rtt.timeout(), 250 * MILLISECOND);
        }
    }

    #[test]
    fn an_rtt_that_jumps_lengthens_the_timeout_at_once() {
        let mut rtt = RttEstimator::new();
        for packet in 0..100 {
            rtt.sample(packet * MILLISECOND, 20 * MILLISECOND, 20 * MILLISECOND, packet, packet + 10);
        }
        rtt.sample(100 * MILLISECOND, 400 * MILLISECOND, 400 * MILLISECOND, 101, 111);
        assert!(rtt.timeout() > 400 * MILLISECOND, "{}", rtt.timeout());
    }
}
