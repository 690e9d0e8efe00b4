//! Mean, minimum and maximum of a signal over several sliding windows, in constant time per sample.

use std::collections::VecDeque;

/// Fixed-point sums are exact, so samples that leave a window leave no error.
const ONE: f64 = (1_u64 << 32) as f64;

/// Bound of every sample. A thousand of them fit into 63 bits in fixed point.
pub(crate) const BOUND: f32 = 1e6;

/// Minima or maxima over all windows up to a length: samples that no later one exceeds, oldest first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Extremes {
    entries: VecDeque<(u32, f32)>,
    window: u32,
    newest: u32,
    /// 1 for maxima, -1 for minima.
    sign: f32,
}

impl Extremes {
    pub(crate) fn maxima(window: u32) -> Self {
        Self { entries: VecDeque::with_capacity(window as usize + 1), window, newest: 0, sign: 1.0 }
    }

    pub(crate) fn minima(window: u32) -> Self {
        Self { sign: -1.0, ..Self::maxima(window) }
    }

    pub(crate) fn push(&mut self, sample: f32) {
        self.newest = self.newest.wrapping_add(1);
        while self.entries.back().is_some_and(|(_, value)| self.sign * value <= self.sign * sample) {
            self.entries.pop_back();
        }
        self.entries.push_back((self.newest, sample));
        // The wrap after more than a year of 10 ms intervals does not harm a difference.
        while self.entries.front().is_some_and(|(at, _)| self.newest.wrapping_sub(*at) >= self.window) {
            self.entries.pop_front();
        }
    }

    /// Return the extreme of the last `window` samples, at most the length at creation; 0 before the first.
    pub(crate) fn of_last(&self, window: u32) -> f32 {
        let first = self.entries.partition_point(|(at, _)| self.newest.wrapping_sub(*at) >= window);
        self.entries.get(first).map_or(0.0, |(_, value)| *value)
    }
}

/// A signal with statistics over windows of these lengths, shortest first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Signal<const WINDOWS: usize> {
    windows: [u32; WINDOWS],
    /// A ring as long as the longest window.
    samples: Box<[f32]>,
    sample_count: u64,
    sums: [i64; WINDOWS],
    minima: Extremes,
    maxima: Extremes,
}

impl<const WINDOWS: usize> Signal<WINDOWS> {
    pub(crate) fn new(windows: [u32; WINDOWS]) -> Self {
        let longest = windows[WINDOWS - 1];
        Self {
            windows,
            samples: vec![0.0; longest as usize].into_boxed_slice(),
            sample_count: 0,
            sums: [0; WINDOWS],
            minima: Extremes::minima(longest),
            maxima: Extremes::maxima(longest),
        }
    }

    /// Add a sample, clamped to ±[`BOUND`].
    pub(crate) fn push(&mut self, sample: f32) {
        let sample = if sample.is_nan() { 0.0 } else { sample.clamp(-BOUND, BOUND) };
        let longest = self.samples.len() as u64;
        for (sum, window) in self.sums.iter_mut().zip(self.windows) {
            *sum += fixed(sample);
            if let Some(leaving) = self.sample_count.checked_sub(u64::from(window)) {
                *sum -= fixed(self.samples[(leaving % longest) as usize]);
            }
        }
        self.samples[(self.sample_count % longest) as usize] = sample;
        self.sample_count += 1;
        self.minima.push(sample);
        self.maxima.push(sample);
    }

    /// Return mean, minimum and maximum over the window with this index; zeros before the first sample.
    pub(crate) fn statistics(&self, window: usize) -> [f32; 3] {
        let length = self.windows[window];
        let n = self.sample_count.clamp(1, u64::from(length));
        let mean = self.sums[window] as f64 / ONE / n as f64;
        [mean as f32, self.minima.of_last(length), self.maxima.of_last(length)]
    }
}

fn fixed(sample: f32) -> i64 {
    (f64::from(sample) * ONE) as i64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_window_has_the_statistics_of_its_last_samples(
            samples in proptest::collection::vec(-2e6f32..2e6, 1..80),
        ) {
            let windows = [1, 7, 30];
            let mut signal = Signal::new(windows);
            for end in 1..=samples.len() {
                signal.push(samples[end - 1]);
                for (number, window) in windows.into_iter().enumerate() {
                    let last: Vec<f32> = samples[end.saturating_sub(window as usize)..end]
                        .iter().map(|sample| sample.clamp(-BOUND, BOUND)).collect();
                    let mean = last.iter().map(|sample| f64::from(*sample)).sum::<f64>() / last.len() as f64;
                    let [got, min, max] = signal.statistics(number);
                    prop_assert!((f64::from(got) - mean).abs() <= 1e-7 * mean.abs().max(1.0));
                    prop_assert_eq!(min, last.iter().copied().fold(f32::INFINITY, f32::min));
                    prop_assert_eq!(max, last.iter().copied().fold(f32::NEG_INFINITY, f32::max));
                }
            }
        }
    }

    #[test]
    fn nothing_is_left_of_a_large_sample_that_slid_out() {
        let mut signal = Signal::new([2, 4]);
        signal.push(1e6);
        for _ in 0..4 {
            signal.push(0.125);
        }
        assert_eq!(signal.statistics(1), [0.125; 3]);
    }

    #[test]
    fn before_the_first_sample_everything_is_0_and_a_nan_counts_as_0() {
        let mut signal = Signal::new([2, 4]);
        assert_eq!(signal.statistics(0), [0.0; 3]);
        signal.push(f32::NAN);
        assert_eq!(signal.statistics(1), [0.0; 3]);
    }
}
