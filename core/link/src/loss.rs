//! Independent random loss, seeded.

use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// One Bernoulli draw per packet. Links without loss draw nothing.
#[derive(Clone, Debug)]
pub struct Loss {
    probability: f64,
    random: Pcg64Mcg,
}

impl Loss {
    /// Create loss with `probability`, independent of the path trace's own loss.
    pub fn new(probability: f64, seed: u64) -> Self {
        Self { probability, random: Pcg64Mcg::seed_from_u64(seed) }
    }

    /// Return whether it drops packets even where the trace's own loss is zero.
    pub const fn happens(&self) -> bool {
        self.probability != 0.0
    }

    /// Return whether the next packet is lost, given the trace's own loss probability `traced`.
    #[inline]
    pub fn hits(&mut self, traced: f64) -> bool {
        if self.probability == 0.0 && traced == 0.0 {
            return false;
        }
        let delivery_probability = (1.0 - self.probability) * (1.0 - traced);
        let uniform = (self.random.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
        uniform >= delivery_probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_come_at_the_stated_rate_and_repeat_with_the_seed() {
        let draw = |seed| {
            let mut loss = Loss::new(0.1, seed);
            (0..100_000).map(|_| loss.hits(0.1)).collect::<Vec<_>>()
        };
        let hits = draw(1).iter().filter(|&&hit| hit).count() as f64 / 1e5;
        // 1 - 0.9 × 0.9 = 0.19; four standard deviations are 0.005.
        assert!((hits - 0.19).abs() < 0.005, "{hits}");
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
