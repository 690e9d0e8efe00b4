//! Gradient ascent with confidence: how far the rate moves (NSDI 2018, §4.2).

/// θ0: change of the rate in Mbit/s per unit of the utility's gradient.
const CONVERSION: f64 = 1.0;
/// ω0 and δ: a change is at most ω0 + k·δ of the rate. (WebRTC's Vivace has δ = 0.1.)
const BOUNDARY: f64 = 0.05;
const BOUNDARY_INCREMENT: f64 = 0.06;
/// Smallest step in Mbit/s.
const LEAST_CHANGE: f64 = 0.5;
/// Most steps after a change of direction before confidence grows again.
const SWINGS: u32 = 2;

/// Turns gradients of the utility into changes of the rate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ascent {
    /// τ: counted steps in the same direction.
    amplifier: f64,
    /// k.
    boundary_steps: f64,
    swings: u32,
    prior_change: f64,
    /// Steps since the direction last changed.
    trend: u32,
}

impl Ascent {
    /// Whether the direction has held, so one pair of probes suffices.
    pub const fn is_confident(&self) -> bool {
        self.trend >= 1
    }

    /// Discard the measurement: the next direction counts as the first, and one pair of probes suffices.
    pub const fn doubt(&mut self) {
        self.trend = 2;
        self.prior_change = 0.0;
    }

    /// Trust the direction: one pair of probes suffices.
    pub const fn trust(&mut self) {
        self.trend = 2;
    }

    /// Restart with small steps.
    pub const fn calm(&mut self) {
        self.amplifier = 0.0;
        self.boundary_steps = 0.0;
    }

    /// Return the change of `rate` in Mbit/s for a utility's `gradient`.
    pub fn change(&mut self, gradient: f64, rate: f64) -> f64 {
        let change = gradient * CONVERSION;
        let turned = change * self.prior_change < 0.0;
        if turned {
            self.calm();
            self.swings = (self.swings + 1).min(SWINGS);
        }
        let amplified = change * confidence(self.amplifier);
        if turned {
            self.trend = 0;
        } else if change * self.prior_change > 0.0 {
            self.trend = self.trend.saturating_add(1);
            if self.swings > 0 {
                self.swings -= 1;
            } else {
                self.amplifier += if self.amplifier > 3.0 { 0.5 } else { 1.0 };
            }
        }
        let mut bounded = self.bounded(amplified, rate);
        if turned {
            self.calm();
        }
        if bounded > 0.0 {
            bounded = bounded.max(LEAST_CHANGE);
        } else if bounded < 0.0 {
            bounded = bounded.min(-LEAST_CHANGE);
        }
        self.prior_change = bounded;
        bounded
    }

    /// §4.2: "Whenever Vivace's computed rate change exceeds ωr, the effective rate change is capped at ωr". ω then grows
    /// by δ, and shrinks by δ when the change is less.
    fn bounded(&mut self, change: f64, rate: f64) -> f64 {
        let limit = rate * (BOUNDARY + BOUNDARY_INCREMENT * self.boundary_steps);
        if change.abs() > limit {
            self.boundary_steps += 1.0;
            return change.clamp(-limit, limit);
        }
        self.boundary_steps = (self.boundary_steps - 1.0).max(0.0);
        change
    }
}

/// m(τ): grows faster the longer the direction has held.
fn confidence(amplifier: f64) -> f64 {
    if amplifier < 3.0 {
        amplifier + 1.0
    } else if amplifier < 6.0 {
        2.0 * amplifier - 2.0
    } else if amplifier < 9.0 {
        4.0 * amplifier - 14.0
    } else {
        8.0 * amplifier - 50.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidence_grows_in_four_pieces_that_meet() {
        let values: Vec<f64> = [0.0, 1.0, 2.0, 3.0, 5.0, 6.0, 8.0, 9.0, 10.0].map(confidence).to_vec();
        assert_eq!(values, [1.0, 2.0, 3.0, 4.0, 8.0, 10.0, 18.0, 22.0, 30.0]);
    }

    #[test]
    fn steps_in_one_direction_grow_and_a_turn_makes_them_small_again() {
        let mut ascent = Ascent::default();
        let steps: Vec<f64> = (0..5).map(|_| ascent.change(0.6, 1_000.0)).collect();
        // The first step has no earlier direction to agree with.
        assert_eq!(steps, [0.6, 0.6, 0.6 * 2.0, 0.6 * 3.0, 0.6 * 4.0]);
        assert!(ascent.is_confident());
        assert_eq!(ascent.change(-0.6, 1_000.0), -0.6);
        assert!(!ascent.is_confident());
        // The first step after a turn clears the swing; only then does confidence grow.
        assert_eq!(ascent.change(-0.6, 1_000.0), -0.6);
        assert_eq!(ascent.change(-0.6, 1_000.0), -0.6);
        assert_eq!(ascent.change(-0.6, 1_000.0), -1.2);
    }

    #[test]
    fn a_change_is_bounded_by_five_percent_and_six_more_each_time() {
        let mut ascent = Ascent::default();
        let steps: Vec<f64> = (0..4).map(|_| ascent.change(-1e6, 100.0)).collect();
        for (step, expected) in steps.iter().zip([-5.0, -11.0, -17.0, -23.0]) {
            assert!((step - expected).abs() < 1e-9, "{steps:?}");
        }
        // The turn itself does not widen the bound.
        assert!((ascent.change(1e6, 100.0) - 5.0).abs() < 1e-9);
        assert!((ascent.change(1e6, 100.0) - 5.0).abs() < 1e-9);
        assert!((ascent.change(1e6, 100.0) - 11.0).abs() < 1e-9);
    }

    #[test]
    fn no_step_is_less_than_half_a_megabit() {
        let mut ascent = Ascent::default();
        assert_eq!(ascent.change(0.01, 100.0), 0.5);
        assert_eq!(ascent.change(-0.01, 100.0), -0.5);
        assert_eq!(ascent.change(0.0, 100.0), 0.0);
    }
}
