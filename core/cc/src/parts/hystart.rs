//! HyStart: leave slow start before it overshoots (Ha and Rhee, "Taming the elephants", Computer Networks 55, 2011).

use crate::{Ack, MILLISECOND, Nanos};

/// HyStart ignores smaller windows (Linux's hystart_low_window).
const LOW_WINDOW: u32 = 16;
/// RTT samples that determine a round's delay (RFC 9406 §4.3).
const N_RTT_SAMPLE: u32 = 8;
/// Bounds of the delay increase that ends slow start (RFC 9406 §4.3).
const MIN_RTT_THRESH: Nanos = 4 * MILLISECOND;
const MAX_RTT_THRESH: Nanos = 16 * MILLISECOND;
/// Deviations above the mean that an RTT may have without a queue. Peters et al. give no number; 95 % of normally
/// distributed RTTs are within two.
const DEVIATIONS: f64 = 2.0;
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

/// Mean and deviation of the RTTs of slow start so far, by Welford's method.
#[derive(Clone, Debug, Default)]
struct Latency {
    samples: u32,
    mean: f64,
    /// Sum of squared differences from the mean.
    squares: f64,
    /// Highest RTT that the rounds before this one explain; 0 while they have too few samples.
    usual: Nanos,
}

impl Latency {
    fn add(&mut self, rtt: Nanos) {
        self.samples += 1;
        let difference = rtt as f64 - self.mean;
        self.mean += difference / f64::from(self.samples);
        self.squares += difference * (rtt as f64 - self.mean);
    }

    fn end_round(&mut self) {
        if self.samples >= N_RTT_SAMPLE {
            let deviation = (self.squares / f64::from(self.samples)).sqrt();
            self.usual = (self.mean + DEVIATIONS * deviation) as Nanos;
        }
    }
}

/// The two heuristics, ACK train length and delay increase, over rounds of one window.
#[derive(Clone, Debug)]
pub struct HyStart {
    detect: Detect,
    /// Largest delay increase that slow start needs to end.
    max_rtt_thresh: Nanos,
    /// Judges delay by its own mean and deviation instead.
    latency: Option<Box<Latency>>,
    /// Whether packets were paced.
    paced: bool,
    round_end: u64,
    round_start: Nanos,
    last_ack: Nanos,
    /// Smallest RTT since the first ACK or the last timeout (Linux's delay_min). A handshake's RTT does not count: other
    /// packets may queue when the first data is sent.
    min_rtt: Nanos,
    round_rtt: Nanos,
    samples: u32,
    has_exited: bool,
    started: bool,
}

impl Default for HyStart {
    fn default() -> Self {
        Self {
            detect: Detect::default(),
            max_rtt_thresh: MAX_RTT_THRESH,
            latency: None,
            paced: false,
            round_end: 0,
            round_start: 0,
            last_ack: 0,
            min_rtt: Nanos::MAX,
            round_rtt: 0,
            samples: 0,
            has_exited: false,
            started: false,
        }
    }
}

impl HyStart {
    pub fn detecting(detect: Detect) -> Self {
        Self { detect, ..Self::default() }
    }

    /// "Remove the maximum limit, allowing the HyStart threshold trigger to be only determined by the relative deviation
    /// from the base latency (currently, 1/8th of the base latency)" (Peters et al., section "HyStart").
    pub fn without_maximum() -> Self {
        Self { max_rtt_thresh: Nanos::MAX, ..Self::default() }
    }

    /// "Adjust the HyStart threshold trigger to be dynamic, based on the mean and standard deviation of the observed
    /// network latency" (Peters et al., section "HyStart").
    pub fn by_deviation() -> Self {
        Self { latency: Some(Box::default()), ..Self::default() }
    }

    /// Expect longer trains of ACKs, because packets are paced from now on.
    ///
    /// Linux's hystart_update: "Pacing might have delayed packets up to RTT/2 during slow start".
    pub const fn pace(&mut self) {
        self.paced = true;
    }

    /// Start over, with the same heuristics.
    pub fn reset(&mut self) {
        let latency = self.latency.is_some().then(Box::default);
        *self = Self { max_rtt_thresh: self.max_rtt_thresh, latency, ..Self::detecting(self.detect) };
    }

    /// The RTT above which a round's smallest one ends slow start.
    fn limit(&self, min_rtt: Nanos) -> Nanos {
        match self.latency.as_deref() {
            None => min_rtt.saturating_add((min_rtt / 8).clamp(MIN_RTT_THRESH, self.max_rtt_thresh)),
            Some(Latency { usual: 0, .. }) => Nanos::MAX,
            Some(latency) => latency.usual.max(min_rtt.saturating_add(MIN_RTT_THRESH)),
        }
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
            if let Some(latency) = &mut self.latency {
                latency.end_round();
            }
        }
        self.min_rtt = self.min_rtt.min(ack.rtt.unwrap_or(Nanos::MAX));
        if let (Some(latency), Some(rtt)) = (&mut self.latency, ack.rtt) {
            latency.add(rtt);
        }
        if self.has_exited || window < LOW_WINDOW {
            return false;
        }
        let min_rtt = self.min_rtt;
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
            } else if self.round_rtt > self.limit(min_rtt) {
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
        let mut hystart = HyStart { min_rtt: MIN_RTT, ..HyStart::detecting(detect) };
        (0..acks).any(|number| {
            let ack =
                Ack { una: 0, next: 1_000, rtt: Some(rtt), ..ack_of_one(100 * MILLISECOND + number * gap) };
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
    fn a_queue_that_was_there_before_the_first_data_is_no_increase() {
        // The handshake had 40 ms, all data has 50 ms. Linux: cubictcp_acked, which sees no SYN, sets delay_min.
        let mut hystart = HyStart::detecting(Detect::Delay);
        let exits = |hystart: &mut HyStart, rtt| {
            (0..20).any(|number| {
                let at = number * MILLISECOND;
                hystart.exits(&Ack { next: 1_000, rtt: Some(rtt), min_rtt: MIN_RTT, ..ack_of_one(at) }, 100)
            })
        };
        assert!(!exits(&mut hystart, MIN_RTT + 10 * MILLISECOND));
        hystart.reset();
        assert!(!exits(&mut hystart, MIN_RTT + 20 * MILLISECOND), "a timeout forgets the path: bictcp_reset");
    }

    #[test]
    fn slow_start_that_begins_anew_keeps_its_heuristics() {
        let mut hystart = HyStart::detecting(Detect::Train);
        hystart.reset();
        assert_eq!(hystart.detect, Detect::Train);
        let mut hystart = HyStart::without_maximum();
        hystart.reset();
        assert_eq!(hystart.max_rtt_thresh, Nanos::MAX);
        let mut hystart = HyStart::by_deviation();
        hystart.exits(&ack_of_one(MILLISECOND), 100);
        hystart.reset();
        assert_eq!(hystart.latency.expect("kept").samples, 0);
    }

    /// Return whether slow start ends in rounds of 20 ACKs, 3 ms apart, whose RTTs are these ms by turns.
    fn ends_after(mut hystart: HyStart, rounds: &[[Nanos; 2]]) -> bool {
        hystart.min_rtt = 560 * MILLISECOND;
        let mut exits = false;
        for (round, rtts) in (1..).zip(rounds) {
            for number in 0..20_u64 {
                let ack = Ack {
                    una: 100 * round + number + 1,
                    next: 100 * (round + 1),
                    rtt: Some(rtts[number as usize % 2] * MILLISECOND),
                    ..ack_of_one(round * 1_000 * MILLISECOND + number * 3 * MILLISECOND)
                };
                exits |= hystart.exits(&ack, 100);
            }
        }
        exits
    }

    #[test]
    fn each_threshold_is_the_one_that_the_paper_names() {
        // Min RTT 560 ms: an eighth is 70 ms, which Linux cuts to 16. RTTs of 580 and 620 ms have a mean of 600 and a
        // deviation of 20 ms, so that 640 ms are usual.
        let usual = [580, 620];
        let starts = || [HyStart::default(), HyStart::without_maximum(), HyStart::by_deviation()];
        let ends = |round| starts().map(|start| ends_after(start, &[usual, round]));
        assert_eq!(ends([580, 620]), [true, false, false]);
        assert_eq!(ends([629, 640]), [true, false, false]);
        assert_eq!(ends([631, 639]), [true, true, false]);
        assert_eq!(ends([641, 650]), [true, true, true]);
    }

    #[test]
    fn a_deviation_needs_eight_samples_and_four_milliseconds() {
        let steady = [560, 560];
        assert!(
            !ends_after(HyStart::by_deviation(), &[[900, 900]]),
            "the first round has nothing to compare with"
        );
        assert!(!ends_after(HyStart::by_deviation(), &[steady, [564, 564]]));
        assert!(ends_after(HyStart::by_deviation(), &[steady, [565, 565]]));
    }
}
