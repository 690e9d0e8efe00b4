//! HyStart++ (RFC 9406): slow start slows down when delay grows, and resumes if the delay was jitter.

use crate::{Ack, MILLISECOND, Nanos};

/// RFC 9406 §4.3.
const MIN_RTT_THRESH: Nanos = 4 * MILLISECOND;
const MAX_RTT_THRESH: Nanos = 16 * MILLISECOND;
const MIN_RTT_DIVISOR: Nanos = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u32 = 4;
const CSS_ROUNDS: u32 = 5;
const L: u32 = 8;

/// The effect of an ACK on the window in slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Grow by this many packets.
    By(u32),
    /// Slow start is over.
    Over,
}

/// Rounds of one window, and Conservative Slow Start while delay has grown.
#[derive(Clone, Debug)]
pub struct HyStartPlusPlus {
    round_end: u64,
    last_round_min_rtt: Nanos,
    current_round_min_rtt: Nanos,
    rtt_sample_count: u32,
    /// cssBaselineMinRtt and the rounds that Conservative Slow Start has lasted.
    css: Option<(Nanos, u32)>,
    /// Packets acknowledged since the last growth in Conservative Slow Start.
    quarters: u32,
}

impl Default for HyStartPlusPlus {
    fn default() -> Self {
        let (last_round_min_rtt, current_round_min_rtt) = (Nanos::MAX, Nanos::MAX);
        Self {
            round_end: 0,
            last_round_min_rtt,
            current_round_min_rtt,
            rtt_sample_count: 0,
            css: None,
            quarters: 0,
        }
    }
}

impl HyStartPlusPlus {
    /// Process an ACK of `acked` packets in slow start.
    pub fn grow(&mut self, ack: &Ack, acked: u32) -> Growth {
        if ack.una > self.round_end {
            self.round_end = ack.next;
            self.last_round_min_rtt = self.current_round_min_rtt;
            self.current_round_min_rtt = Nanos::MAX;
            self.rtt_sample_count = 0;
            if let Some((_, rounds)) = &mut self.css {
                *rounds += 1;
                if *rounds >= CSS_ROUNDS {
                    return Growth::Over;
                }
            }
        }
        if let Some(rtt) = ack.rtt {
            self.current_round_min_rtt = self.current_round_min_rtt.min(rtt);
            self.rtt_sample_count += 1;
        }
        if self.rtt_sample_count >= N_RTT_SAMPLE {
            self.update_css();
        }
        let acked = acked.min(L);
        if self.css.is_none() {
            return Growth::By(acked);
        }
        self.quarters += acked;
        let grown = self.quarters / CSS_GROWTH_DIVISOR;
        self.quarters %= CSS_GROWTH_DIVISOR;
        Growth::By(grown)
    }

    /// RFC 9406 §4.2: enter or leave Conservative Slow Start.
    fn update_css(&mut self) {
        match self.css {
            None if self.last_round_min_rtt != Nanos::MAX => {
                let threshold =
                    (self.last_round_min_rtt / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if self.current_round_min_rtt >= self.last_round_min_rtt.saturating_add(threshold) {
                    self.css = Some((self.current_round_min_rtt, 0));
                }
            }
            Some((baseline, _)) if self.current_round_min_rtt < baseline => self.css = None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack_of_one;

    /// Feed a round of `window` ACKs; return the growth in packets, or `None` at the end of slow start.
    fn round(start: &mut HyStartPlusPlus, number: u64, window: u32, rtt: Nanos) -> Option<u32> {
        let mut grown = 0;
        for packet in 1..=u64::from(window) {
            let una = number * 1_000 + packet;
            let ack = Ack { rtt: Some(rtt), una, next: (number + 1) * 1_000, ..ack_of_one(0) };
            match start.grow(&ack, 1) {
                Growth::By(packets) => grown += packets,
                Growth::Over => return None,
            }
        }
        Some(grown)
    }

    #[test]
    fn delay_makes_it_grow_by_a_quarter_and_five_such_rounds_end_it() {
        // RFC 9406 §4.2 and §4.3: the RTT may grow by 40 ms / 8 = 5 ms.
        let mut start = HyStartPlusPlus::default();
        let grown: Vec<_> = (1..9)
            .map(|number| round(&mut start, number, 40, if number < 3 { 40 } else { 46 } * MILLISECOND))
            .collect();
        assert_eq!(grown[..2], [Some(40), Some(40)]);
        // Seven ACKs count fully before the eighth RTT sample shows the delay.
        assert_eq!(grown[2], Some(7 + 33 / 4));
        assert!(grown[3..7].iter().all(|&grown| grown == Some(10)), "{grown:?}");
        assert_eq!(grown[7], None);
    }

    #[test]
    fn delay_that_was_jitter_lets_it_resume() {
        let mut start = HyStartPlusPlus::default();
        let grown: Vec<_> = [40, 46, 40, 40]
            .iter()
            .zip(1..)
            .map(|(&ms, number)| round(&mut start, number, 40, ms * MILLISECOND))
            .collect();
        assert!(grown[1] < Some(20), "{grown:?}");
        assert_eq!(grown[3], Some(40), "{grown:?}");
    }
}
