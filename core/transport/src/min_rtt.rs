//! The smallest RTT of the last 300 s: the window lets a sender notice that a path has become longer.

use crate::Nanos;

/// Linux's default of net.ipv4.tcp_min_rtt_wlen.
const WINDOW: Nanos = 300_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sample {
    at: Nanos,
    rtt: Nanos,
}

/// The minimum of the window and of two later parts of it, in constant memory (Linux's lib/win_minmax.c). It
/// may be a quarter of the window younger than the true minimum, but never older than the window.
#[derive(Clone, Debug)]
pub struct MinRtt {
    best: [Sample; 3],
    /// Until then, a sample above all of these changes nothing.
    settled_until: Nanos,
}

impl MinRtt {
    pub const fn new() -> Self {
        Self { best: [Sample { at: 0, rtt: Nanos::MAX }; 3], settled_until: 0 }
    }

    /// Return the minimum, or `Nanos::MAX` before the first sample.
    pub const fn get(&self) -> Nanos {
        self.best[0].rtt
    }

    #[inline(always)]
    pub fn update(&mut self, now: Nanos, rtt: Nanos) {
        if rtt <= self.best[2].rtt || now > self.settled_until {
            self.take(Sample { at: now, rtt });
        }
    }

    #[inline(never)]
    fn take(&mut self, sample: Sample) {
        self.replace(sample);
        let [first, second, third] = self.best;
        self.settled_until = first.at
            + if second.at == first.at {
                WINDOW / 4
            } else if third.at == second.at {
                WINDOW / 2
            } else {
                WINDOW
            };
    }

    fn replace(&mut self, sample: Sample) {
        let Sample { at: now, rtt } = sample;
        // The sample is the new minimum, or all others have left the window.
        if rtt <= self.best[0].rtt || now - self.best[2].at > WINDOW {
            self.best = [sample; 3];
            return;
        }
        if rtt <= self.best[1].rtt {
            (self.best[1], self.best[2]) = (sample, sample);
        } else if rtt <= self.best[2].rtt {
            self.best[2] = sample;
        }
        self.age(sample);
    }

    /// Drop samples that have left the window, and give its later parts their own minimum.
    fn age(&mut self, sample: Sample) {
        let [first, second, third] = self.best;
        let age = sample.at - first.at;
        if age > WINDOW {
            self.best = [second, third, sample];
            if sample.at - second.at > WINDOW {
                self.best = [third, sample, sample];
            }
        } else if second.at == first.at && age > WINDOW / 4 {
            (self.best[1], self.best[2]) = (sample, sample);
        } else if third.at == second.at && age > WINDOW / 2 {
            self.best[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    #[test]
    fn a_minimum_is_held_for_300_s_and_then_given_up_for_a_later_one() {
        let mut min = MinRtt::new();
        assert_eq!(min.get(), Nanos::MAX);
        let mut changes = Vec::new();
        for second in 0..700 {
            // The path becomes longer after 100 s.
            let rtt = if second <= 100 { 20 } else { 50 };
            min.update(second * SECOND, rtt);
            if changes.last().is_none_or(|&(_, rtt)| rtt != min.get()) {
                changes.push((second, min.get()));
            }
        }
        assert_eq!(changes, [(0, 20), (401, 50)]);
    }

    proptest! {
        #[test]
        fn it_skips_only_samples_that_change_nothing(
            samples in prop::collection::vec((0_u64..120, 1_u64..20), 1..100),
        ) {
            let (mut min, mut every, mut now) = (MinRtt::new(), MinRtt::new(), 0);
            for (wait, rtt) in samples {
                now += wait * SECOND;
                min.update(now, rtt);
                every.replace(Sample { at: now, rtt });
                prop_assert_eq!(min.best, every.best);
            }
        }

        #[test]
        fn it_is_never_above_the_latest_sample_nor_below_all_of_the_window(
            samples in prop::collection::vec((1_u64..200, 1_u64..1_000), 1..60),
        ) {
            let mut min = MinRtt::new();
            let (mut now, mut recent) = (0, Vec::new());
            for (wait, rtt) in samples {
                now += wait * SECOND;
                recent.push((now, rtt));
                min.update(now, rtt);
                let within = recent.iter().filter(|&&(at, _)| now - at <= WINDOW).map(|&(_, rtt)| rtt).min();
                prop_assert!(min.get() <= rtt);
                prop_assert!(Some(min.get()) >= within, "{} of {recent:?}", min.get());
            }
        }
    }
}
