//! Random delay on top of propagation, such as schedulers, interrupts and timers of real hosts add.

use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::Nanos;

/// A uniform delay between zero and a bound, drawn per packet. Packets still arrive in order.
#[derive(Clone, Debug)]
pub struct Jitter {
    bound: Nanos,
    random: Pcg64Mcg,
}

impl Jitter {
    /// Create jitter below `bound`; with 0, nothing is drawn from the generator.
    pub fn new(bound: Nanos, seed: u64) -> Self {
        Self { bound, random: Pcg64Mcg::seed_from_u64(seed) }
    }

    /// Create a jitter that is always zero.
    pub fn none() -> Self {
        Self::new(0, 0)
    }

    /// Return whether there is any jitter.
    pub const fn happens(&self) -> bool {
        self.bound > 0
    }

    /// Draw the next packet's jitter.
    #[inline]
    pub fn draw(&mut self) -> Nanos {
        if self.bound == 0 {
            return 0;
        }
        ((u128::from(self.random.next_u64()) * u128::from(self.bound)) >> 64) as Nanos
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_fill_the_range_evenly() {
        let mut jitter = Jitter::new(1000, 7);
        let draws: Vec<Nanos> = (0..100_000).map(|_| jitter.draw()).collect();
        let mean = draws.iter().sum::<Nanos>() as f64 / 1e5;
        assert!((mean - 499.5).abs() < 4.0, "{mean}");
        assert_eq!((draws.iter().min(), draws.iter().max()), (Some(&0), Some(&999)));
    }
}
