//! A histogram of durations: quantiles in bounded memory with bounded relative error.

use leo_link::Nanos;

/// Buckets per octave (log2): a bucket's midpoint is within 1/512 of all its values.
const SUB_BUCKETS_LOG2: u32 = 8;

/// Buckets allocated at a time (1 KiB).
const BLOCK: usize = 256;

/// Log-linear counts as in HdrHistogram. Memory covers only the range of buckets in use.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    counts: Vec<u32>,
    /// Index of the first bucket in `counts`.
    first: usize,
    total: u64,
}

impl Histogram {
    #[inline]
    pub fn record(&mut self, value: Nanos) {
        let bucket = bucket_of(value);
        self.total += 1;
        match self.counts.get_mut(bucket.wrapping_sub(self.first)) {
            Some(count) => *count += 1,
            None => self.record_outside(bucket),
        }
    }

    #[cold]
    fn record_outside(&mut self, bucket: usize) {
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
        counts[bucket - low] += 1;
        (self.counts, self.first) = (counts, low);
    }

    /// Return the duration at `quantile` (0 to 1); `None` without records.
    pub fn quantile(&self, quantile: f64) -> Option<Nanos> {
        let rank = ((self.total as f64 * quantile).ceil() as u64).max(1);
        let mut count_below = 0;
        for (bucket, &count) in self.counts.iter().enumerate() {
            count_below += u64::from(count);
            if count_below >= rank {
                return Some(midpoint_of(self.first + bucket));
            }
        }
        None
    }
}

/// Values are counted in units of 1.024 µs: fine enough for RTTs, with few buckets for small values.
const UNIT_LOG2: u32 = 10;

fn bucket_of(value: Nanos) -> usize {
    let value = value >> UNIT_LOG2;
    let octave = (64 - value.leading_zeros()).saturating_sub(SUB_BUCKETS_LOG2 + 1);
    (octave as usize) * (1 << SUB_BUCKETS_LOG2) + (value >> octave) as usize
}

fn midpoint_of(bucket: usize) -> Nanos {
    let octave = (bucket >> SUB_BUCKETS_LOG2).saturating_sub(1);
    let low = (bucket - (octave << SUB_BUCKETS_LOG2)) << octave;
    ((low as Nanos) << UNIT_LOG2) + (1 << (octave + UNIT_LOG2 as usize)) / 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn quantiles_are_within_half_a_percent(values in prop::collection::vec(1_000_000_u64..10_000_000_000, 1..300), quantile in 0.01_f64..1.0) {
            let mut histogram = Histogram::default();
            for &value in &values {
                histogram.record(value);
            }
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let rank = (values.len() as f64 * quantile).ceil() as usize;
            let exact = sorted[rank.max(1) - 1] as f64;
            let estimate = histogram.quantile(quantile).expect("values were recorded") as f64;
            prop_assert!((estimate / exact - 1.0).abs() < 0.005, "{estimate} for {exact}");
        }
    }
    #[test]
    fn memory_is_what_the_durations_spread_over() {
        let mut histogram = Histogram::default();
        // 50 to 100 ms spans little more than an octave. Then add one duration above and one below.
        for ms in 50..=100 {
            histogram.record(ms * 1_000_000);
        }
        assert_eq!(histogram.counts.capacity(), 2 * BLOCK);
        for (ms, octaves) in [(200, 3), (20, 4)] {
            histogram.record(ms * 1_000_000);
            assert_eq!(histogram.counts.capacity(), octaves * BLOCK, "after {ms} ms");
        }
        assert_eq!(histogram.counts.iter().sum::<u32>(), 53);
        let median = histogram.quantile(0.5).expect("values were recorded") as f64 / 1e6;
        assert!((median / 75.0 - 1.0).abs() < 0.005, "{median}");
    }
}
