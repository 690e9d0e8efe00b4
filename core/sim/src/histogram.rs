//! A histogram of durations with a bounded relative error, for quantiles in bounded memory.

use leo_link::Nanos;

/// Buckets a factor of two: the midpoint is within 1/512 of every value of its bucket.
const SUB_BUCKETS_LOG2: u32 = 8;

/// Counts of durations, log-linear as in HdrHistogram.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    counts: Vec<u32>,
    total: u64,
}

impl Histogram {
    /// Count a duration.
    #[inline]
    pub fn record(&mut self, value: Nanos) {
        let bucket = bucket_of(value);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.total += 1;
    }

    /// The duration below which the fraction `quantile` of all lies; `None` when nothing was recorded.
    pub fn quantile(&self, quantile: f64) -> Option<Nanos> {
        let rank = ((self.total as f64 * quantile).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, &count) in self.counts.iter().enumerate() {
            seen += u64::from(count);
            if seen >= rank {
                return Some(midpoint_of(bucket));
            }
        }
        None
    }
}

/// Values are counted in units of 1.024 µs, which is fine enough for RTTs and keeps small ones few.
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
}
