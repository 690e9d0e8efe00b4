//! A shift register of interval features, newest last.

/// The features of the last `LENGTH` intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct History<const FEATURES: usize, const LENGTH: usize> {
    intervals: [[f32; FEATURES]; LENGTH],
}

impl<const FEATURES: usize, const LENGTH: usize> History<FEATURES, LENGTH> {
    /// Start with these features for all intervals.
    pub(crate) const fn of(features: [f32; FEATURES]) -> Self {
        Self { intervals: [features; LENGTH] }
    }

    /// Append the features of an interval and drop the oldest.
    pub(crate) fn push(&mut self, features: [f32; FEATURES]) {
        self.intervals.copy_within(1.., 0);
        self.intervals[LENGTH - 1] = features;
    }

    pub(crate) fn values(&self) -> &[f32] {
        self.intervals.as_flattened()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_interval_drops_out() {
        let mut history = History::<2, 3>::of([0.0; 2]);
        for i in 1..=4 {
            history.push([i as f32, 10.0 * i as f32]);
        }
        assert_eq!(history.values(), [2.0, 20.0, 3.0, 30.0, 4.0, 40.0]);
    }
}
