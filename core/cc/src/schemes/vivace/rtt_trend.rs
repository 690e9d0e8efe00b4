//! Detection of unusual RTT trends over several intervals (PCC Proteus, SIGCOMM 2020: MI-history trending tolerance).

/// Intervals per trend.
const HISTORY: usize = 6;
/// Weight of the latest value in moving averages.
const WEIGHT: f64 = 0.1;
/// Usual distance from the mean, in deviations.
const TOLERATED_DEVIATIONS: f64 = 2.0;
/// A trend smaller than the smallest before by this factor resets the averages.
const MUCH_SMALLER: f64 = 100.0;
/// Smaller trends, in seconds per interval, are ignored.
const NO_TREND: f64 = 1e-12;

/// The mean RTTs of the last intervals, and the mean and deviation of their trend.
#[derive(Clone, Copy, Debug, Default)]
pub struct RttTrend {
    means: [f64; HISTORY],
    count: usize,
    mean: f64,
    deviation: f64,
    smallest: f64,
    last: f64,
}

impl RttTrend {
    /// Add an interval's mean RTT in seconds; return whether the RTT grows unusually.
    pub fn observe(&mut self, mean_rtt: f64) -> bool {
        self.means.rotate_left(1);
        self.means[HISTORY - 1] = mean_rtt;
        self.count = (self.count + 1).min(HISTORY);
        if self.count < HISTORY {
            return false;
        }
        let trend = self.slope();
        if self.smallest < NO_TREND || trend.abs() < self.smallest / MUCH_SMALLER {
            let size = trend.abs();
            (self.mean, self.deviation, self.smallest, self.last) = (0.0, size, size, trend);
            return false;
        }
        let unusual = (trend - self.mean).abs() > TOLERATED_DEVIATIONS * self.deviation;
        if !unusual {
            self.deviation += WEIGHT * ((trend - self.last).abs() - self.deviation);
            self.mean += WEIGHT * (trend - self.mean);
            self.last = trend;
        }
        self.smallest = self.smallest.min(trend.abs());
        unusual && trend > 0.0
    }

    /// Linear regression in seconds per interval; the positions are −2.5, −1.5, …, 2.5.
    fn slope(&self) -> f64 {
        let middle = (HISTORY - 1) as f64 / 2.0;
        let (mut products, mut squares) = (0.0, 0.0);
        for (position, mean) in self.means.iter().enumerate() {
            let x = position as f64 - middle;
            products += x * mean;
            squares += x * x;
        }
        products / squares
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_rtt_that_wavers_is_usual_and_one_that_keeps_growing_is_not() {
        let mut trend = RttTrend::default();
        let wavering = [0.050, 0.051, 0.0505, 0.0507, 0.0502, 0.0509];
        assert!((0..60).all(|index| !trend.observe(wavering[index % 6] + 0.000_1 * (index % 7) as f64)));
        let grown = (0..6).any(|step| trend.observe(0.051 + 0.004 * f64::from(step)));
        assert!(grown);
    }

    #[test]
    fn the_slope_is_that_of_the_last_six_intervals() {
        let mut trend = RttTrend::default();
        for step in 0..9 {
            trend.observe(0.01 * f64::from(step));
        }
        assert!((trend.slope() - 0.01).abs() < 1e-12, "{}", trend.slope());
    }
}
