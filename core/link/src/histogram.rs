//! A histogram of durations: quantiles in bounded memory with bounded relative error.

use std::ops::RangeInclusive;

/// Buckets allocated at a time (1 KiB).
const BLOCK: usize = 256;

/// Log-linear counts as in HdrHistogram: 2^`SUB_BUCKETS_LOG2` buckets per octave (log2), of which the lowest hold a value
/// each. Memory covers only the range of buckets in use. Values may have any unit.
#[derive(Clone, Debug, Default)]
pub struct Histogram<const SUB_BUCKETS_LOG2: u32> {
    counts: Vec<u32>,
    /// Index of the first bucket in `counts`.
    first: usize,
    max: u64,
}

impl<const SUB_BUCKETS_LOG2: u32> Histogram<SUB_BUCKETS_LOG2> {
    /// Count a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.max = self.max.max(value);
        self.add(Self::bucket_of(value), 1);
    }

    /// Add the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.max = self.max.max(other.max);
        for (bucket, &count) in (other.first..).zip(&other.counts).filter(|(_, count)| **count > 0) {
            self.add(bucket, count);
        }
    }

    /// Return the number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }

    /// Return the largest value; 0 without values.
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// Return the values of the bucket at `quantile` (0 to 1); `None` without values.
    pub fn bucket_at(&self, quantile: f64) -> Option<RangeInclusive<u64>> {
        let rank = ((self.count() as f64 * quantile).ceil() as u64).max(1);
        let mut count_below = 0;
        let reaches = |&count: &u32| {
            count_below += u64::from(count);
            count_below >= rank
        };
        Some(Self::values_of(self.first + self.counts.iter().position(reaches)?))
    }

    /// Return an upper bound of the value at `quantile` (0 to 1), at most the largest value; 0 without values.
    pub fn quantile(&self, quantile: f64) -> u64 {
        self.bucket_at(quantile).map_or(0, |bucket| self.max.min(*bucket.end()))
    }

    #[inline]
    fn add(&mut self, bucket: usize, more: u32) {
        match self.counts.get_mut(bucket.wrapping_sub(self.first)) {
            Some(count) => *count = count.saturating_add(more),
            None => self.add_outside(bucket, more),
        }
    }

    #[cold]
    fn add_outside(&mut self, bucket: usize, more: u32) {
        let block = bucket / BLOCK * BLOCK;
        let (low, high) = match self.counts.len() {
            0 => (block, block + BLOCK),
            len => (self.first.min(block), (self.first + len).max(block + BLOCK)),
        };
        let mut counts = Vec::with_capacity(high - low);
        if !self.counts.is_empty() {
            counts.resize(self.first - low, 0);
            counts.append(&mut self.counts);
        }
        counts.resize(high - low, 0);
        counts[bucket - low] = more;
        (self.counts, self.first) = (counts, low);
    }

    const fn bucket_of(value: u64) -> usize {
        let octave = (64 - value.leading_zeros()).saturating_sub(SUB_BUCKETS_LOG2 + 1);
        ((octave as usize) << SUB_BUCKETS_LOG2) + (value >> octave) as usize
    }

    fn values_of(bucket: usize) -> RangeInclusive<u64> {
        let octave = (bucket >> SUB_BUCKETS_LOG2).saturating_sub(1);
        let low = ((bucket - (octave << SUB_BUCKETS_LOG2)) as u64) << octave;
        low..=low + ((1 << octave) - 1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of<const LOG2: u32>(values: impl IntoIterator<Item = u64>) -> Histogram<LOG2> {
        let mut histogram = Histogram::default();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    fn assert_quantile<const LOG2: u32>(values: &[u64], quantile: f64) {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let exact = sorted[((values.len() as f64 * quantile).ceil() as usize).max(1) - 1];
        let histogram = of::<LOG2>(values.iter().copied());
        let bucket = histogram.bucket_at(quantile).expect("values were recorded");
        assert!(bucket.contains(&exact), "{exact} in {bucket:?}");
        assert!(bucket.end() - bucket.start() <= exact >> LOG2, "{bucket:?}");
        assert_eq!(histogram.quantile(quantile), sorted[sorted.len() - 1].min(*bucket.end()));
        assert_eq!((histogram.count(), histogram.max()), (values.len() as u64, sorted[sorted.len() - 1]));
    }

    proptest! {
        #[test]
        fn a_quantile_is_within_its_bucket_and_that_a_small_part_of_it(
            values in prop::collection::vec((any::<u64>(), 0_u32..64).prop_map(|(value, shift)| value >> shift), 1..300),
            quantile in 0.0_f64..=1.0,
        ) {
            assert_quantile::<4>(&values, quantile);
            assert_quantile::<8>(&values, quantile);
        }
    }

    #[test]
    fn memory_is_what_the_durations_spread_over() {
        // 50 to 100 ms in µs span little more than an octave. Then add one duration above and one below.
        let mut histogram = of::<8>((50..=100).map(|ms| ms * 1_000));
        assert_eq!(histogram.counts.capacity(), 2 * BLOCK);
        for (ms, octaves) in [(200, 3), (20, 4)] {
            histogram.record(ms * 1_000);
            assert_eq!(histogram.counts.capacity(), octaves * BLOCK, "after {ms} ms");
        }
        assert_eq!(histogram.count(), 53);
        assert!(histogram.bucket_at(0.5).is_some_and(|bucket| bucket.contains(&75_000)));
    }

    #[test]
    fn a_merged_histogram_has_the_values_of_both() {
        let mut both = of::<4>([5_000_000]);
        both.merge(&of((1..=1_000).map(|us| us * 1_000)));
        assert_eq!((both.count(), both.max(), both.quantile(1.0)), (1_001, 5_000_000, 5_000_000));
        assert!((990_000..=990_000 * 17 / 16).contains(&both.quantile(0.99)), "{}", both.quantile(0.99));
    }

    #[test]
    fn without_values_every_quantile_is_0() {
        let none = Histogram::<4>::default();
        assert_eq!((none.bucket_at(0.99), none.quantile(0.99), none.max()), (None, 0, 0));
    }
}
