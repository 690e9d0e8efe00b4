//! Pacing: bursts of about a millisecond, spaced so that the rate holds (Linux's internal pacing and TSO autosizing).

use crate::burst::paced_burst;
use crate::{Nanos, SEGMENT_BYTES};

/// When the next packet may leave.
#[derive(Clone, Debug, Default)]
pub struct Pacer {
    next: Nanos,
    /// The rate that the last packet was charged at.
    charged: u64,
    burst_left: u64,
}

/// Waits longer than this are those of a rate that was tiny when they began.
const LONG_WAIT: Nanos = 10_000_000;

impl Pacer {
    /// Whether a packet may leave at `now`, `single` or in a burst; if not, when.
    #[inline]
    pub fn may_send(&mut self, now: Nanos, rate: u64, single: bool) -> Result<(), Nanos> {
        if self.burst_left > 0 {
            return Ok(());
        }
        if now < self.next {
            if self.next - now > LONG_WAIT && rate > self.charged {
                // The rate has risen meanwhile: what is left of the wait shrinks with it.
                let left = u128::from(self.next - now) * u128::from(self.charged) / u128::from(rate);
                self.next = now + left as Nanos;
                self.charged = rate;
            }
            return Err(self.next);
        }
        self.burst_left = if single { 1 } else { paced_burst(rate) };
        Ok(())
    }

    /// A packet left at `now`: charge it.
    #[inline]
    pub fn on_sent(&mut self, now: Nanos, rate: u64) {
        self.burst_left = self.burst_left.saturating_sub(1);
        self.charged = rate;
        // The schedule follows the rate, not the instants at which timers ran; credit for lateness is half a burst.
        let length = (u128::from(SEGMENT_BYTES) * 1_000_000_000 / u128::from(rate.max(1))) as Nanos;
        let earliest = now.saturating_sub(length / 2);
        self.next = self.next.max(earliest) + length;
    }

    /// Before this time nothing more may leave, but for what is left of a burst.
    #[inline]
    pub const fn until(&self) -> Nanos {
        self.next
    }

    /// The window stopped the burst: what is left of it is forfeited.
    #[inline]
    pub fn end_burst(&mut self) {
        self.burst_left = 0;
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
            match pacer.may_send(now, rate, false) {
                Ok(()) => {
                    pacer.on_sent(now, rate);
                    sent += u64::from(SEGMENT_BYTES);
                }
                Err(at) => now = at,
            }
        }
        assert!(sent.abs_diff(rate) < 20 * u64::from(SEGMENT_BYTES), "{sent}");
    }

    #[test]
    fn a_rate_that_rises_shortens_the_wait_that_a_tiny_one_began() {
        let mut pacer = Pacer::default();
        assert_eq!(pacer.may_send(0, 10, false), Ok(()));
        pacer.on_sent(0, 10);
        pacer.end_burst();
        // 144.8 s a packet at 10 byte/s; 1.4 s at 1,000.
        let next = pacer.may_send(0, 1_000, false).expect_err("it must wait");
        assert_eq!(next, 1_448_000_000);
    }

    #[test]
    fn single_packets_are_spaced_by_their_length_at_the_rate() {
        // 1,448,000 B/s: a packet a millisecond.
        let (rate, mut pacer) = (1_448_000, Pacer::default());
        for packet in 0..10 {
            let now = packet * 1_000_000;
            assert_eq!(pacer.may_send(now, rate, true), Ok(()));
            pacer.on_sent(now, rate);
            assert_eq!(pacer.may_send(now, rate, true), Err(now + 1_000_000));
        }
    }
}
