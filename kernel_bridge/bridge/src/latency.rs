//! A histogram of latencies in µs, in fixed memory.

/// Buckets per power of two: quantiles are at most 1/16 too high.
const SUB: usize = 16;

/// Counts of durations in µs, exact below 16 and within 6.25 % above.
#[derive(Clone, Debug)]
pub struct Latency {
    counts: Box<[u64]>,
    total: u64,
    max_us: u64,
}

impl Default for Latency {
    fn default() -> Self {
        Self { counts: vec![0; 64 * SUB].into(), total: 0, max_us: 0 }
    }
}

impl Latency {
    /// Count a duration.
    pub fn add(&mut self, us: u64) {
        self.counts[Self::bucket(us)] += 1;
        self.total += 1;
        self.max_us = self.max_us.max(us);
    }

    /// Number of durations counted.
    pub const fn count(&self) -> u64 {
        self.total
    }

    /// The largest duration, in µs.
    pub const fn max_us(&self) -> u64 {
        self.max_us
    }

    /// Upper end, in µs, of the bucket with the quantile; 0 if nothing was counted.
    pub fn quantile_us(&self, quantile: f64) -> u64 {
        let wanted = (quantile * self.total as f64).ceil() as u64;
        let mut count_below = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            count_below += count;
            if count_below >= wanted && count_below > 0 {
                return Self::upper_end(bucket).min(self.max_us);
            }
        }
        0
    }

    fn bucket(us: u64) -> usize {
        if us < SUB as u64 {
            return us as usize;
        }
        let power = us.ilog2() as usize;
        let within = (us >> (power - 4)) as usize - SUB;
        (power - 3) * SUB + within
    }

    fn upper_end(bucket: usize) -> u64 {
        if bucket < SUB {
            return bucket as u64;
        }
        let (power, within) = (bucket / SUB + 3, bucket % SUB);
        ((SUB + within + 1) as u64).checked_shl(power as u32 - 4).map_or(u64::MAX, |end| end - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_at_most_a_sixteenth_too_high() {
        let mut latency = Latency::default();
        (1..=10_000).for_each(|us| latency.add(us));
        for (quantile, exact) in [(0.5, 5_000), (0.99, 9_900), (1.0, 10_000)] {
            let measured = latency.quantile_us(quantile);
            assert!((exact..=exact + exact / 16).contains(&measured), "{quantile}: {measured}");
        }
        assert_eq!((latency.count(), latency.max_us()), (10_000, 10_000));
    }

    #[test]
    fn every_duration_is_within_its_bucket() {
        for us in (0..64).map(|power| 1u64 << power).chain([0, 15, 17, 31, 33, 1_000, 999_999]) {
            let bucket = Latency::bucket(us);
            assert!(Latency::upper_end(bucket) >= us, "{us}");
            assert!(bucket == 0 || Latency::upper_end(bucket - 1) < us, "{us}");
        }
    }

    #[test]
    fn without_any_every_quantile_is_0() {
        assert_eq!(Latency::default().quantile_us(0.99), 0);
    }
}
