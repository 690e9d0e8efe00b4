//! The maximum of a sliding window, in three samples (Kathleen Nichols' algorithm, as in Linux's win_minmax).

/// Best, second and third best, each later than the one before.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowedMax {
    samples: [(u64, f64); 3],
}

impl WindowedMax {
    /// Make an empty window for values above `least`.
    pub const fn above(least: f64) -> Self {
        Self::since(0, least)
    }

    /// Make a window that begins at `time` with `value`.
    pub const fn since(time: u64, value: f64) -> Self {
        Self { samples: [(time, value); 3] }
    }

    /// The largest value of the window.
    pub const fn get(&self) -> f64 {
        self.samples[0].1
    }

    /// Add `value` at `time` and drop values older than `window`.
    pub fn update(&mut self, window: u64, time: u64, value: f64) {
        let [best, second, third] = &mut self.samples;
        let new = (time, value);
        if value >= best.1 || time.saturating_sub(third.0) > window {
            self.samples = [new; 3];
            return;
        }
        if value >= second.1 {
            *second = new;
            *third = new;
        } else if value >= third.1 {
            *third = new;
        }
        let age = time.saturating_sub(best.0);
        if age > window {
            // The best has expired: the others move up.
            (*best, *second, *third) = (*second, *third, new);
            if time.saturating_sub(best.0) > window {
                (*best, *second) = (*second, *third);
            }
        } else if second.0 == best.0 && age > window / 4 {
            // A quarter has passed: take the second best from the second quarter.
            *second = new;
            *third = new;
        } else if third.0 == second.0 && age > window / 2 {
            *third = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_maximum_while_that_is_recent_and_something_of_the_window_afterwards() {
        let values = |time: u64| ((time * 7919) % 101) as f64;
        let mut filter = WindowedMax::default();
        for time in 0..500 {
            filter.update(10, time, values(time));
            let window: Vec<f64> = (time.saturating_sub(10)..=time).map(values).collect();
            let exact = window.iter().copied().fold(0.0, f64::max);
            // With three samples the filter can miss the maximum, but its value is always one of the window's.
            assert!(filter.get() <= exact && window.contains(&filter.get()), "{time}: {}", filter.get());
        }
    }
}
