//! HyStart: leave slow start before it overshoots (Ha and Rhee, "Taming the elephants", Computer Networks 55, 2011).

use crate::{Ack, MILLISECOND, Nanos};

/// HyStart ignores smaller windows (Linux's hystart_low_window).
const LOW_WINDOW: u32 = 16;
/// RTT samples that determine a round's delay (RFC 9406 §4.3).
const N_RTT_SAMPLE: u32 = 8;
/// Bounds of the delay increase that ends slow start (RFC 9406 §4.3).
const MIN_RTT_THRESH: Nanos = 4 * MILLISECOND;
const MAX_RTT_THRESH: Nanos = 16 * MILLISECOND;
/// ACKs at most this far apart belong to one train (Linux's hystart_ack_delta).
const ACK_GAP: Nanos = 2 * MILLISECOND;

/// Which of the two heuristics may end slow start: Linux's hystart_detect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detect {
    /// 3.
    #[default]
    Both,
    /// 1: HYSTART_ACK_TRAIN.
    Train,
    /// 2: HYSTART_DELAY.
    Delay,
}

/// The two heuristics, ACK train length and delay increase, over rounds of one window.
#[derive(Clone, Debug, Default)]
pub struct HyStart {
    detect: Detect,
    /// Whether packets were paced.
    paced: bool,
    round_end: u64,
    round_start: Nanos,
    last_ack: Nanos,
    round_rtt: Nanos,
    samples: u32,
    has_exited: bool,
    started: bool,
}

impl HyStart {
    pub fn detecting(detect: Detect) -> Self {
        Self { detect, ..Self::default() }
    }

    /// Expect longer trains of ACKs, because packets are paced from now on.
    ///
    /// Linux's hystart_update: "Pacing might have delayed packets up to RTT/2 during slow start".
    pub const fn pace(&mut self) {
        self.paced = true;
    }

    /// Start over, with the same heuristics.
    pub fn reset(&mut self) {
        *self = Self::detecting(self.detect);
    }

    /// Process an ACK during slow start; return whether slow start should end.
    pub fn exits(&mut self, ack: &Ack, window: u32) -> bool {
        if !self.started || ack.una > self.round_end {
            self.started = true;
            self.round_end = ack.next;
            self.round_start = ack.now;
            self.last_ack = ack.now;
            self.round_rtt = Nanos::MAX;
            self.samples = 0;
        }
        if self.has_exited || window < LOW_WINDOW {
            return false;
        }
        let min_rtt = ack.min_rtt;
        // ACK train: closely spaced ACKs show the time that the bottleneck is busy in a round. Once the train is as long
        // as the one-way delay, the pipe is full.
        if self.detect != Detect::Delay && ack.now.saturating_sub(self.last_ack) <= ACK_GAP {
            self.last_ack = ack.now;
            let full_train = if self.paced { min_rtt } else { min_rtt / 2 };
            if ack.now - self.round_start > full_train {
                self.has_exited = true;
            }
        }
        // Delay increase: the round's smallest RTT exceeds the path's.
        if let Some(rtt) = ack.rtt.filter(|_| self.detect != Detect::Train) {
            self.round_rtt = self.round_rtt.min(rtt);
            if self.samples < N_RTT_SAMPLE {
                self.samples += 1;
            } else if self.round_rtt
                > min_rtt.saturating_add((min_rtt / 8).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH))
            {
                self.has_exited = true;
            }
        }
        self.has_exited
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack_of_one;

    const MIN_RTT: Nanos = 40 * MILLISECOND;

    /// Return whether slow start ends in a round of `acks` ACKs, `gap` apart, with an RTT of `rtt`.
    fn exits(detect: Detect, acks: u64, gap: Nanos, rtt: Nanos) -> bool {
        let mut hystart = HyStart::detecting(detect);
        (0..acks).any(|number| {
            let ack = Ack {
                una: 0,
                next: 1_000,
                rtt: Some(rtt),
                min_rtt: MIN_RTT,
                ..ack_of_one(100 * MILLISECOND + number * gap)
            };
            hystart.exits(&ack, 100)
        })
    }

    #[test]
    fn each_heuristic_sees_its_own_sign_alone() {
        // Linux's hystart_update tests bit 1 for the train and bit 2 for the delay.
        let train = |detect| exits(detect, 30, MILLISECOND, MIN_RTT);
        let delay = |detect| exits(detect, 10, 3 * MILLISECOND, MIN_RTT + 6 * MILLISECOND);
        assert_eq!([Detect::Both, Detect::Train, Detect::Delay].map(train), [true, true, false]);
        assert_eq!([Detect::Both, Detect::Train, Detect::Delay].map(delay), [true, false, true]);
    }

    #[test]
    fn slow_start_that_begins_anew_keeps_its_heuristics() {
        let mut hystart = HyStart::detecting(Detect::Train);
        hystart.reset();
        assert_eq!(hystart.detect, Detect::Train);
    }
}
