//! A Kalman filter of a scalar random walk (Kalman, "A New Approach to Linear Filtering and Prediction Problems", 1960).

/// The authors' release: variance of a step, of a measurement's error and of the first estimate.
const STEP_VARIANCE: f64 = 4.0;
const ERROR_VARIANCE: f64 = 4.0;
const FIRST_VARIANCE: f64 = 25.0;

/// With these variances a measurement's weight converges to 62 %.
#[derive(Clone, Debug)]
pub struct Kalman {
    /// Zero before the first measurement.
    pub estimate: f64,
    variance: f64,
}

impl Kalman {
    pub const fn new() -> Self {
        Self { estimate: 0.0, variance: FIRST_VARIANCE }
    }

    pub fn update(&mut self, measured: f64) {
        let predicted = self.variance + STEP_VARIANCE;
        let gain = predicted / (predicted + ERROR_VARIANCE);
        self.estimate += gain * (measured - self.estimate);
        self.variance = (1.0 - gain) * predicted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_soon_counts_for_the_inverse_of_the_golden_ratio() {
        // The fixed point of g = (v + q) / (v + q + r), v = (1 - g) (v + q) with q = r: g² + g = 1.
        let mut filter = Kalman::new();
        for _ in 0..50 {
            filter.update(100.0);
        }
        assert!((filter.estimate - 100.0).abs() < 1e-9, "{}", filter.estimate);
        filter.update(200.0);
        let golden = 2.0 / (1.0 + 5.0_f64.sqrt());
        assert!((filter.estimate - 100.0 - 100.0 * golden).abs() < 1e-6, "{}", filter.estimate);
    }

    #[test]
    fn the_first_measurement_is_nearly_believed() {
        // (25 + 4) / (25 + 4 + 4)
        let mut filter = Kalman::new();
        filter.update(33.0);
        assert!((filter.estimate - 29.0).abs() < 1e-9, "{}", filter.estimate);
    }
}
