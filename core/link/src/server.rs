//! The transmitter of a link: serialises packets while capacity varies and outages interrupt.

use crate::schedule::{Schedule, UNLIMITED};
use crate::{NEVER, Nanos};

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The end of a packet's transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmission {
    /// The last bit left at this time.
    Done(Nanos),
    /// An outage began at this time, with the packet partly sent.
    CutOff(Nanos),
    /// An outage discarded the packet at this time, before its first bit left.
    Discarded(Nanos),
}

/// The departures of packets of one size at a constant rate.
#[derive(Clone, Copy, Debug)]
pub struct Departures {
    last: Nanos,
    credit: u64,
    rate: u64,
    quotient: u64,
    remainder: u64,
}

impl Departures {
    /// Return the next departure.
    #[inline]
    pub fn advance(&mut self) -> Nanos {
        let (time, credit) = divided((self.quotient, self.remainder), self.rate, self.credit);
        self.credit = credit;
        self.last += time;
        self.last
    }
}

/// Return the whole nanoseconds of a division by `rate` after the credit, and the credit that remains.
#[inline]
const fn divided((quotient, remainder): (u64, u64), rate: u64, credit: u64) -> (u64, u64) {
    if remainder > credit {
        (quotient + 1, credit + rate - remainder)
    } else {
        (quotient, credit - remainder)
    }
}

/// A burst that capacity does not change for.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    departures: Departures,
    /// The last packet has left by then.
    pub latest: Nanos,
    /// Propagation of all packets.
    pub delay: Nanos,
}

impl Pace {
    /// Return the departures of the burst's packets, which come later than they do.
    pub const fn departures(&self) -> Departures {
        self.departures
    }
}

/// Serialises packets one after another. It carries remainders, so the long-run rate is exact.
#[derive(Clone, Debug, Default)]
pub struct Server {
    free_at: Nanos,
    /// How far `free_at` may lag behind the present: the fill time of the token bucket, 0 without one.
    saved: Nanos,
    /// Whether outages discard waiting and arriving packets instead of holding them up.
    discards: bool,
    /// Work already paid for, in bit·ns/s: less than one nanosecond at the current rate.
    credit: u64,
    /// Work, rate, quotient and remainder of the last division: packets of one size at one rate reuse it.
    cached: (u64, u64, u64, u64),
}

impl Server {
    /// Create a transmitter with a token bucket that fills in `saved` of idleness.
    pub fn with_bucket(saved: Nanos) -> Self {
        Self { saved, ..Self::default() }
    }

    /// Discard packets that wait when an outage begins and those that arrive before it ends.
    #[must_use]
    pub const fn discarding(self) -> Self {
        Self { discards: true, ..self }
    }

    /// Forget the packets that have not left.
    pub const fn reset(&mut self) {
        (self.free_at, self.credit) = (0, 0);
    }

    /// Return when the last accepted packet has left.
    pub const fn free_at(&self) -> Nanos {
        self.free_at
    }

    /// Return the first instant from `now` on at which a transmission can begin; `NEVER` if there is none.
    pub fn free_from(&self, schedule: &mut Schedule, now: Nanos) -> Nanos {
        let mut start = self.free_at.max(now);
        loop {
            if start == NEVER {
                return NEVER;
            }
            let span = schedule.seek(start);
            // A packet that an outage discards need not wait for its end.
            if (span.connected && span.rate_bps > 0) || (self.discards && !span.connected) {
                return start;
            }
            start = span.end;
        }
    }

    /// Transmit `bytes` offered at `now`, after everything offered before.
    // A call for each packet of a link costs 2 % of the simulation.
    #[inline(always)]
    pub fn transmit(&mut self, schedule: &mut Schedule, bytes: u32, now: Nanos) -> Transmission {
        // A token bucket is a virtual clock that may lag by the fill time of the bucket; packets that it
        // transmits in the past leave now.
        let mut start = self.free_at;
        let earliest = now.saturating_sub(self.saved);
        if earliest > start {
            start = earliest;
            self.credit = 0;
        }
        let mut span = *schedule.seek(start);
        while !span.connected || span.rate_bps == 0 {
            if self.discards && !span.connected {
                self.free_at = start;
                return Transmission::Discarded(start);
            }
            if span.end == NEVER {
                self.free_at = NEVER;
                return Transmission::Done(NEVER);
            }
            start = span.end;
            self.credit = 0;
            span = *schedule.seek(start);
        }
        if span.rate_bps == UNLIMITED {
            self.free_at = start;
            return Transmission::Done(start.max(now));
        }
        let work = u64::from(bytes) * 8 * NANOS_PER_SECOND;
        let (time, credit) = self.divide(work, span.rate_bps);
        if start + time <= span.end {
            self.credit = credit;
            self.free_at = start + time;
            return Transmission::Done(self.free_at.max(now));
        }
        self.transmit_over_spans(schedule, work, start)
    }

    /// Return the whole nanoseconds that `work` takes after the credit, and the credit that remains.
    #[inline]
    fn divide(&mut self, work: u64, rate: u64) -> (u64, u64) {
        if (self.cached.0, self.cached.1) != (work, rate) {
            self.cached = (work, rate, work / rate, work % rate);
        }
        let (_, _, quotient, remainder) = self.cached;
        divided((quotient, remainder), rate, self.credit)
    }

    /// Return the departures of `count` packets of `bytes` bytes offered at `now`, if the server has no bucket and all leave
    /// at the rate that it has then, each some time after the one before, without loss. Changes nothing; [`follow`](Self::follow) does.
    #[inline]
    pub fn pace(&mut self, schedule: &mut Schedule, count: u32, bytes: u32, now: Nanos) -> Option<Pace> {
        let (start, credit) = if now > self.free_at { (now, 0) } else { (self.free_at, self.credit) };
        let span = *schedule.seek(start);
        if !span.connected || span.rate_bps == 0 || span.rate_bps == UNLIMITED || span.loss != 0.0 {
            return None;
        }
        let work = u64::from(bytes) * 8 * NANOS_PER_SECOND;
        self.divide(work, span.rate_bps);
        let (_, rate, quotient, remainder) = self.cached;
        let latest = start + u64::from(count) * (quotient + 1);
        let departures = Departures { last: start, credit, rate, quotient, remainder };
        (quotient > 0 && latest <= span.end).then_some(Pace { departures, latest, delay: span.delay })
    }

    /// Transmit the packets whose `departures` these were.
    #[inline]
    pub const fn follow(&mut self, departures: &Departures) {
        (self.free_at, self.credit) = (departures.last, departures.credit);
    }

    #[cold]
    fn transmit_over_spans(&mut self, schedule: &mut Schedule, work: u64, start: Nanos) -> Transmission {
        let mut now = start;
        let mut bits = work.saturating_sub(self.credit);
        self.credit = 0;
        loop {
            let span = *schedule.seek(now);
            if !span.connected {
                // The packet is lost; the server resumes when the link is back.
                self.free_at = now;
                return Transmission::CutOff(now);
            }
            if span.rate_bps > 0 {
                let time = bits.div_ceil(span.rate_bps);
                if now + time <= span.end {
                    self.credit = time * span.rate_bps - bits;
                    self.free_at = now + time;
                    return Transmission::Done(self.free_at);
                }
                bits -= (span.end - now) * span.rate_bps;
            }
            now = span.end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn departures(rate_bps: u64, bytes: u32, packets: usize) -> Nanos {
        let mut schedule = Schedule::constant(0, rate_bps);
        let mut server = Server::default();
        for _ in 0..packets {
            server.transmit(&mut schedule, bytes, 0);
        }
        server.free_at()
    }

    #[test]
    fn a_million_packets_take_exactly_their_bits_over_the_rate() {
        // 7 Mbit/s does not divide a packet's bits: without the carry, each packet would add up to 1 ns.
        let expected = (1_000_000_u128 * 12_000 * 1_000_000_000).div_ceil(7_000_000) as Nanos;
        assert_eq!(departures(7_000_000, 1500, 1_000_000), expected);
    }

    #[test]
    fn a_token_bucket_lets_so_much_pass_at_once_and_no_more_than_the_rate_in_the_long_run() {
        // tc-tbf(8), burst: "Size of the bucket, in bytes." The full bucket holds ten packets.
        let mut schedule = Schedule::constant(0, 100_000_000);
        let mut server = Server::with_bucket(10 * 120_000);
        let now = 1_000_000_000;
        let mut waits = || match server.transmit(&mut schedule, 1500, now) {
            Transmission::Done(at) => at - now,
            Transmission::CutOff(_) | Transmission::Discarded(_) => NEVER,
        };
        let all: Vec<Nanos> = (0..13).map(|_| waits()).collect();
        assert_eq!(all[..10], [0; 10]);
        assert_eq!(all[10..], [120_000, 240_000, 360_000]);
    }

    #[test]
    fn a_packet_of_1500_bytes_takes_120_us_at_100_mbps() {
        assert_eq!(departures(100_000_000, 1500, 1), 120_000);
    }
}
