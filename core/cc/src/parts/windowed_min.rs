//! The minimum of a sliding window.

use crate::parts::windowed_max::WindowedMax;

/// [`WindowedMax`] of the negated values.
#[derive(Clone, Copy, Debug)]
pub struct WindowedMin {
    negated: WindowedMax,
}

impl WindowedMin {
    pub const fn new() -> Self {
        Self { negated: WindowedMax::above(f64::NEG_INFINITY) }
    }

    /// The minimum; infinite before the first value.
    pub const fn get(&self) -> f64 {
        -self.negated.get()
    }

    /// Add `value` at `time` and drop values older than `window`.
    pub fn update(&mut self, window: u64, time: u64, value: f64) {
        self.negated.update(window, time, -value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_the_smallest_value_for_a_window_and_then_a_later_one() {
        let mut filter = WindowedMin::new();
        assert_eq!(filter.get(), f64::INFINITY);
        for (time, value) in [(0, 7.0), (1, 3.0), (4, 5.0), (8, 9.0)] {
            filter.update(10, time, value);
        }
        assert_eq!(filter.get(), 3.0);
        filter.update(10, 12, 8.0);
        assert_eq!(filter.get(), 5.0);
    }
}
