//! A segment in half a cache line: with thousands of windows, the memory touched dominates the cost.

use super::Segment;
use crate::Nanos;
use crate::delivery_rate::SentState;

const SACKED: u8 = 1;
const LOST: u8 = 2;
const RETRANSMITTED: u8 = 4;
const RETRANSMISSION_OUT: u8 = 8;
const APP_LIMITED: u8 = 16;

/// Ages have 40 bits, so a sample is cut to 18 minutes.
const OLDEST: Nanos = (1 << 40) - 1;

/// The connection's totals when it last sent a packet. They complete the stored low bits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    delivered: u64,
    lost: u64,
}

impl Totals {
    #[inline]
    pub const fn of(state: &SentState) -> Self {
        Self { delivered: state.delivered, lost: state.lost }
    }
}

/// A [`Segment`] with times as ages, totals as their low 32 bits, and flags.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
pub struct Packed {
    sent_at: Nanos,
    delivered: u32,
    lost: u32,
    delivered_ago: u32,
    first_sent_ago: u32,
    in_flight: u32,
    /// Bits 32 to 39 of the two ages.
    high: [u8; 2],
    flags: u8,
}

impl Packed {
    /// Pack a packet that is sent at `sent_at`.
    #[inline]
    pub fn new(sent_at: Nanos, state: &SentState) -> Self {
        let age = |time: Nanos| (sent_at - time).min(OLDEST);
        let (delivered_ago, first_sent_ago) = (age(state.delivered_at), age(state.first_sent_at));
        Self {
            sent_at,
            delivered: state.delivered as u32,
            lost: state.lost as u32,
            delivered_ago: delivered_ago as u32,
            first_sent_ago: first_sent_ago as u32,
            in_flight: state.in_flight,
            high: [(delivered_ago >> 32) as u8, (first_sent_ago >> 32) as u8],
            flags: if state.app_limited { APP_LIMITED } else { 0 },
        }
    }

    /// Become the next packet that leaves at the same time.
    #[inline]
    pub const fn follow(&mut self) {
        self.in_flight += 1;
    }

    pub const fn sent_at(&self) -> Nanos {
        self.sent_at
    }

    /// Unpack. `latest`: the connection's totals when it last sent.
    #[inline]
    pub fn unpacked(&self, latest: &Totals) -> Segment {
        let age = |low: u32, high: u8| u64::from(high) << 32 | u64::from(low);
        Segment {
            sent_at: self.sent_at,
            state: SentState {
                delivered: whole(self.delivered, latest.delivered),
                delivered_at: self.sent_at - age(self.delivered_ago, self.high[0]),
                first_sent_at: self.sent_at - age(self.first_sent_ago, self.high[1]),
                lost: whole(self.lost, latest.lost),
                in_flight: self.in_flight,
                app_limited: self.flags & APP_LIMITED != 0,
            },
            sacked: self.flags & SACKED != 0,
            lost: self.flags & LOST != 0,
            retransmitted: self.flags & RETRANSMITTED != 0,
            retransmission_out: self.flags & RETRANSMISSION_OUT != 0,
        }
    }

    /// Pack the retransmission, which keeps the marks.
    pub fn resent(&self, sent_at: Nanos, state: &SentState) -> Self {
        let mut again = Self::new(sent_at, state);
        again.flags |= self.flags & (SACKED | LOST) | RETRANSMITTED | RETRANSMISSION_OUT;
        again
    }

    pub fn set_sacked(&mut self) {
        self.flags = self.flags & !(LOST | RETRANSMISSION_OUT) | SACKED;
    }

    pub fn set_lost(&mut self, lost: bool) {
        self.flags &= !LOST;
        self.flags |= if lost { LOST } else { 0 };
    }

    /// Mark the packet lost, and its retransmission too.
    pub fn set_lost_again(&mut self) {
        self.flags = self.flags & !RETRANSMISSION_OUT | LOST;
    }
}

/// Return the total nearest to `latest` that has these low bits.
const fn whole(low: u32, latest: u64) -> u64 {
    latest.wrapping_add_signed(low.wrapping_sub(latest as u32) as i32 as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_packed_comes_out_again(
            sent_at in OLDEST..1 << 62,
            ages in (0..=OLDEST, 0..=OLDEST),
            delivered in 0_u64..1 << 40,
            lost in 0_u64..1 << 40,
            since in (0_u64..1 << 31, 0_u64..1 << 31),
            in_flight in any::<u32>(),
            app_limited in any::<bool>(),
        ) {
            let state = SentState {
                delivered,
                delivered_at: sent_at - ages.0,
                first_sent_at: sent_at - ages.1,
                lost,
                in_flight,
                app_limited,
            };
            let latest = Totals { delivered: delivered + since.0, lost: lost + since.1 };
            let mut packed = Packed::new(sent_at, &state);
            let segment = packed.unpacked(&latest);
            prop_assert_eq!((segment.sent_at, segment.state), (sent_at, state));
            prop_assert!(!segment.sacked && !segment.lost && !segment.retransmitted && !segment.retransmission_out);
            packed.set_lost(true);
            packed = packed.resent(sent_at + 7, &state);
            let segment = packed.unpacked(&latest);
            prop_assert_eq!((segment.sent_at, segment.state), (sent_at + 7, state));
            prop_assert!(!segment.sacked && segment.lost && segment.retransmitted && segment.retransmission_out);
            packed.set_lost_again();
            let segment = packed.unpacked(&latest);
            prop_assert!(!segment.sacked && segment.lost && segment.retransmitted && !segment.retransmission_out);
            packed.set_sacked();
            let segment = packed.unpacked(&latest);
            prop_assert!(segment.sacked && !segment.lost && segment.retransmitted && !segment.retransmission_out);
        }
    }

    #[test]
    fn a_segment_takes_half_a_cache_line() {
        assert_eq!(size_of::<Packed>(), 32);
    }

    #[test]
    fn a_state_older_than_18_minutes_is_cut_to_that() {
        let state = SentState::default();
        let segment = Packed::new(OLDEST + 5, &state).unpacked(&Totals::default());
        assert_eq!((segment.state.delivered_at, segment.state.first_sent_at), (5, 5));
    }
}
