//! Lateness of departures: the delay that the machine adds to the link.

use leo_link::Nanos;

/// Buckets per power of two: no value is reported more than 1/16 too large.
const STEPS: usize = 16;
const BUCKETS: usize = STEPS * (64 - STEPS.trailing_zeros() as usize + 1);

/// A histogram whose buckets grow with their values.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: Box<[u64; BUCKETS]>,
    packets: u64,
    max: Nanos,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { counts: Box::new([0; BUCKETS]), packets: 0, max: 0 }
    }
}

impl Lateness {
    #[inline]
    pub fn record(&mut self, late: Nanos) {
        self.counts[bucket(late)] += 1;
        self.packets += 1;
        self.max = self.max.max(late);
    }

    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts.iter()) {
            *count += more;
        }
        self.packets += other.packets;
        self.max = self.max.max(other.max);
    }

    /// Return the smallest bucket bound that `share` of all packets do not exceed; 0 without packets.
    pub fn percentile(&self, share: f64) -> Nanos {
        let wanted = (share * self.packets as f64).ceil().max(1.0) as u64;
        let mut count_below = 0;
        for (index, count) in self.counts.iter().enumerate() {
            count_below += count;
            if count_below >= wanted {
                return last_of(index).min(self.max);
            }
        }
        self.max
    }

    pub const fn max(&self) -> Nanos {
        self.max
    }
}

/// Small values have a bucket each; larger values are grouped by their leading bits.
fn bucket(value: Nanos) -> usize {
    let steps = STEPS as u64;
    if value < steps {
        return value as usize;
    }
    let octave = value.ilog2() - STEPS.trailing_zeros();
    (octave as usize + 1) * STEPS + ((value >> octave) - steps) as usize
}

/// Return the largest value in a bucket.
fn last_of(bucket: usize) -> Nanos {
    if bucket < STEPS {
        return bucket as Nanos;
    }
    let octave = bucket / STEPS - 1;
    let first = u128::from((STEPS + bucket % STEPS) as u64) << octave;
    (first + (1 << octave) - 1).min(u128::from(Nanos::MAX)) as Nanos
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_falls_into_a_bucket_that_ends_at_most_a_sixteenth_above_it() {
        let mut value = 1_u64;
        while value < u64::MAX / 3 {
            for near in [value - 1, value, value + 1] {
                let last = last_of(bucket(near));
                assert!(last >= near && last - near <= near / 16, "{near}: {last}");
            }
            value = value * 3 / 2 + 1;
        }
        assert_eq!(last_of(bucket(u64::MAX)), u64::MAX);
    }

    #[test]
    fn percentiles_are_those_of_the_values() {
        let mut lateness = Lateness::default();
        (1..=1_000).for_each(|us| lateness.record(us * 1_000));
        let p99 = lateness.percentile(0.99);
        assert!((990_000..=990_000 * 17 / 16).contains(&p99), "{p99}");
        assert_eq!(lateness.percentile(1.0), 1_000_000);
        assert_eq!(lateness.max(), 1_000_000);
        let mut both = Lateness::default();
        both.record(5_000_000);
        both.merge(&lateness);
        assert_eq!((both.max(), both.packets), (5_000_000, 1_001));
        assert_eq!(Lateness::default().percentile(0.5), 0);
    }
}
