//! A constant-rate packet source, continuous or on/off, without congestion control: UDP or a TCP application.

use leo_link::{NEVER, Nanos};
use leo_transport::PACKET_BYTES;
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

const NANOS_PER_S: u64 = 1_000_000_000;
const WORK: u64 = PACKET_BYTES as u64 * 8 * NANOS_PER_S;

/// Mean on and off times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOff {
    pub on: Nanos,
    pub off: Nanos,
    /// Whether times are exponentially distributed; otherwise constant.
    pub random: bool,
}

/// Packets of 1,500 bytes at a constant rate. Each counts as the payload of a TCP segment.
#[derive(Clone, Debug)]
pub struct Source {
    rate_bps: u64,
    on_off: Option<OnOff>,
    random: Pcg64Mcg,
    next: Nanos,
    /// Remainder of divisions in bit·ns/s, so that the long-run rate is exact.
    remainder: u64,
    burst_ends: Nanos,
    sent: u64,
    received: u64,
}

impl Source {
    pub fn new(rate_bps: u64, on_off: Option<OnOff>, seed: u64) -> Self {
        Self {
            rate_bps: rate_bps.max(1),
            on_off,
            random: Pcg64Mcg::seed_from_u64(seed),
            next: NEVER,
            remainder: 0,
            burst_ends: NEVER,
            sent: 0,
            received: 0,
        }
    }

    pub fn start(&mut self, now: Nanos) {
        self.next = now;
        self.burst_ends = self.on_off.map_or(NEVER, |on_off| now + self.draw(on_off.on, on_off.random));
    }

    pub const fn next_packet(&self) -> Nanos {
        self.next
    }

    /// Count a packet if one is due at `now`, and return whether it was. Call until false.
    pub fn take(&mut self, now: Nanos) -> bool {
        if now < self.next {
            return false;
        }
        self.sent += 1;
        let work = WORK + self.remainder;
        self.next += work / self.rate_bps;
        self.remainder = work % self.rate_bps;
        while let Some(on_off) = self.on_off.filter(|_| self.next >= self.burst_ends) {
            // Off times pause the gap between packets, so bursts shorter than the gap send only their share.
            let silence = self.draw(on_off.off, on_off.random);
            self.next += silence;
            self.burst_ends += silence + self.draw(on_off.on, on_off.random);
        }
        true
    }

    pub fn on_received(&mut self) {
        self.received += 1;
    }

    pub const fn sent(&self) -> u64 {
        self.sent
    }

    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Return `mean` or a random time with that mean; at least 1 ns.
    fn draw(&mut self, mean: Nanos, random: bool) -> Nanos {
        if !random {
            return mean.max(1);
        }
        let uniform = ((self.random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        ((-libm::log(uniform) * mean as f64) as Nanos).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent_in(mut source: Source, length: Nanos) -> u64 {
        source.start(0);
        while source.next_packet() < length {
            assert!(source.take(source.next_packet()));
        }
        source.sent()
    }

    #[test]
    fn a_rate_that_does_not_divide_a_packets_bits_is_met_exactly() {
        assert_eq!(sent_in(Source::new(7_000_000, None, 1), 12 * NANOS_PER_S), 7_000);
    }

    #[test]
    fn on_off_sources_send_for_their_share_of_the_time() {
        let on_off = |random| OnOff { on: 30_000_000, off: 90_000_000, random };
        let share = |random| {
            let source = Source::new(12_000_000, Some(on_off(random)), 1);
            sent_in(source, 600 * NANOS_PER_S) as f64 / 600_000.0
        };
        assert!((share(false) - 0.25).abs() < 0.005, "{}", share(false));
        // 5,000 cycles: standard error of about 0.004.
        assert!((share(true) - 0.25).abs() < 0.015, "{}", share(true));
    }

    #[test]
    fn bursts_shorter_than_the_gap_between_packets_send_no_more_than_their_share() {
        // A packet per 12 ms of on time; bursts of 3 ms.
        for random in [false, true] {
            let on_off = OnOff { on: 3_000_000, off: 9_000_000, random };
            let sent = sent_in(Source::new(1_000_000, Some(on_off), 1), 600 * NANOS_PER_S);
            // A quarter of 50,000; the error over 50,000 random cycles is about 60.
            assert!(sent.abs_diff(12_500) < 250, "{sent}");
        }
    }
}
