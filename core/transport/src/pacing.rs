//! Pacing: bursts of about a millisecond, spaced to keep the rate (Linux's internal pacing).

use crate::{Nanos, SEGMENT_BYTES};

/// When the next burst may leave.
#[derive(Clone, Debug, Default)]
pub struct Pacer {
    next: Nanos,
    /// The rate at which the last burst was charged.
    charged: u64,
}

/// A longer wait began at a tiny rate and shrinks when the rate rises.
const LONG_WAIT: Nanos = 10_000_000;

impl Pacer {
    /// Return whether a burst may leave at `now`; if not, when it may.
    #[inline]
    pub fn may_send(&mut self, now: Nanos, rate: u64) -> Result<(), Nanos> {
        if now >= self.next {
            return Ok(());
        }
        if self.next - now > LONG_WAIT && rate > self.charged {
            // The rate has risen, so the rest of the wait shrinks in proportion.
            let remaining = u128::from(self.next - now) * u128::from(self.charged) / u128::from(rate);
            self.next = now + remaining as Nanos;
            self.charged = rate;
        }
        Err(self.next)
    }

    /// Charge `packets` that leave at `now` (tcp_update_skb_after_send).
    #[inline]
    pub fn on_sent(&mut self, now: Nanos, packets: u32, rate: u64) {
        self.charged = rate;
        let length = u64::from(packets) * u64::from(SEGMENT_BYTES) * 1_000_000_000 / rate.max(1);
        // The schedule follows the rate, not the timers. A late burst gets at most half its length as credit.
        let earliest = now.saturating_sub(length / 2);
        self.next = self.next.max(earliest) + length;
    }

    /// Note packets that leave at `now` uncharged.
    pub fn on_sent_freely(&mut self, now: Nanos) {
        self.next = self.next.max(now);
    }

    /// The time before which nothing more may leave.
    pub const fn until(&self) -> Nanos {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_pacing_sends_a_second_of_the_rate() {
        let rate = 12_500_000;
        let mut pacer = Pacer::default();
        let (mut now, mut sent) = (0, 0_u64);
        while now < 1_000_000_000 {
            match pacer.may_send(now, rate) {
                Ok(()) => {
                    pacer.on_sent(now, 8, rate);
                    sent += 8 * u64::from(SEGMENT_BYTES);
                }
                Err(at) => now = at,
            }
        }
        assert!(sent.abs_diff(rate) < 20 * u64::from(SEGMENT_BYTES), "{sent}");
    }

    #[test]
    fn a_rate_that_rises_shortens_the_wait_that_a_tiny_one_began() {
        let mut pacer = Pacer::default();
        assert_eq!(pacer.may_send(0, 10), Ok(()));
        pacer.on_sent(0, 1, 10);
        // At 10 byte/s a packet takes 144.8 s; at 1,000 byte/s, 1.4 s.
        let next = pacer.may_send(0, 1_000).expect_err("it must wait");
        assert_eq!(next, 1_448_000_000);
    }

    #[test]
    fn a_burst_that_is_late_is_charged_half_of_its_length_at_the_least() {
        // tcp_update_skb_after_send: len_ns -= min(len_ns / 2, credit). The rate is a packet per ms.
        const MS: Nanos = 1_000_000;
        for (late, wait) in [(0, 4 * MS), (MS, 3 * MS), (2 * MS, 2 * MS), (9 * MS, 2 * MS)] {
            let mut pacer = Pacer::default();
            pacer.on_sent(0, 1, 1_448_000);
            let now = MS + late;
            assert_eq!(pacer.may_send(now, 1_448_000), Ok(()));
            pacer.on_sent(now, 4, 1_448_000);
            assert_eq!(pacer.may_send(now, 1_448_000), Err(now + wait), "{late}");
        }
    }
}
