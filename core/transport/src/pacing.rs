//! Pacing: bursts of about a millisecond, spaced so that the rate holds (Linux's internal pacing).

use crate::{Nanos, SEGMENT_BYTES};

/// When the next burst may leave.
#[derive(Clone, Debug, Default)]
pub struct Pacer {
    next: Nanos,
    /// The rate that the last burst was charged at.
    charged: u64,
}

/// Waits longer than this are those of a rate that was tiny when they began.
const LONG_WAIT: Nanos = 10_000_000;

impl Pacer {
    /// Whether a burst may leave at `now`; if not, when.
    #[inline]
    pub fn may_send(&mut self, now: Nanos, rate: u64) -> Result<(), Nanos> {
        if now >= self.next {
            return Ok(());
        }
        if self.next - now > LONG_WAIT && rate > self.charged {
            // The rate has risen meanwhile: what is left of the wait shrinks with it.
            let left = u128::from(self.next - now) * u128::from(self.charged) / u128::from(rate);
            self.next = now + left as Nanos;
            self.charged = rate;
        }
        Err(self.next)
    }

    /// So many packets leave at `now`: charge them (tcp_update_skb_after_send).
    #[inline]
    pub fn on_sent(&mut self, now: Nanos, packets: u32, rate: u64) {
        self.charged = rate;
        let length = u64::from(packets) * u64::from(SEGMENT_BYTES) * 1_000_000_000 / rate.max(1);
        // The schedule follows the rate, not the instants at which timers ran; credit for lateness is half a burst.
        let earliest = now.saturating_sub(length / 2);
        self.next = self.next.max(earliest) + length;
    }

    /// Packets leave at `now` that are not charged.
    #[inline]
    pub fn on_sent_freely(&mut self, now: Nanos) {
        self.next = self.next.max(now);
    }

    /// Before this time nothing more may leave.
    #[inline]
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
        // 144.8 s a packet at 10 byte/s; 1.4 s at 1,000.
        let next = pacer.may_send(0, 1_000).expect_err("it must wait");
        assert_eq!(next, 1_448_000_000);
    }

    #[test]
    fn a_burst_that_is_late_is_charged_half_of_its_length_at_the_least() {
        // Linux's tcp_update_skb_after_send: len_ns -= min(len_ns / 2, credit). 1,448,000 B/s: a packet a millisecond.
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
