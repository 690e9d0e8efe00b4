//! Incremental linear regression: how the RTT changes within a monitor interval.

/// Sums over the points.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineFit {
    points: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl LineFit {
    /// Add a point. Coordinates should be small: use distances from the first point, in seconds.
    pub fn add(&mut self, x: f64, y: f64) {
        self.points += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
        self.yy += y * y;
    }

    pub const fn points(&self) -> f64 {
        self.points
    }

    /// Mean of y; 0 without points.
    pub fn mean(&self) -> f64 {
        self.y / self.points.max(1.0)
    }

    /// Slope of the least-squares line; 0 if the points determine none.
    pub fn slope(&self) -> f64 {
        let spread = self.spread();
        if spread > 0.0 { (self.xy - self.x * self.y / self.points) / spread } else { 0.0 }
    }

    /// Root mean square distance of the points from the line.
    pub fn residual(&self) -> f64 {
        if self.points < 2.0 {
            return 0.0;
        }
        let about_mean = self.yy - self.y * self.y / self.points;
        let explained = self.slope() * self.slope() * self.spread();
        libm::sqrt(((about_mean - explained) / self.points).max(0.0))
    }

    fn spread(&self) -> f64 {
        if self.points < 2.0 { 0.0 } else { self.xx - self.x * self.x / self.points }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_the_slope_of_points_on_a_line_and_nothing_off_it() {
        let mut fit = LineFit::default();
        for step in 0..50 {
            let x = f64::from(step) * 0.001;
            fit.add(x, 0.01 + 0.3 * x);
        }
        assert!((fit.slope() - 0.3).abs() < 1e-9, "{}", fit.slope());
        assert!(fit.residual() < 1e-9, "{}", fit.residual());
        assert!((fit.mean() - (0.01 + 0.3 * 0.0245)).abs() < 1e-12, "{}", fit.mean());
    }

    #[test]
    fn the_residual_is_what_the_line_leaves() {
        // Points 1 above and below a flat line, in an order without slope.
        let mut fit = LineFit::default();
        for (x, y) in [(0.0, 1.0), (1.0, -1.0), (2.0, -1.0), (3.0, 1.0)] {
            fit.add(x, y);
        }
        assert_eq!(fit.slope(), 0.0);
        assert_eq!(fit.residual(), 1.0);
    }

    #[test]
    fn points_that_determine_no_line_have_no_slope() {
        let mut fit = LineFit::default();
        assert_eq!((fit.slope(), fit.residual(), fit.mean()), (0.0, 0.0, 0.0));
        fit.add(3.0, 7.0);
        fit.add(3.0, 9.0);
        assert_eq!(fit.slope(), 0.0);
    }
}
