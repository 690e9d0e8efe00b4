//! The GEO gateway: drops a random quarter of arrivals while its buffer is more than half full (Peters et
//! al., "TCP HyStart over satellite", measured on a commercial gateway with 36 MB).

use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Random drops before a drop-tail queue, depending on its fill.
#[derive(Clone, Debug)]
pub struct Gateway {
    threshold: u64,
    random: Pcg64Mcg,
}

impl Gateway {
    /// Create a gateway that drops a quarter of arrivals while more than `threshold` bytes wait.
    pub fn new(threshold: u64, seed: u64) -> Self {
        Self { threshold, random: Pcg64Mcg::seed_from_u64(seed) }
    }

    /// Return whether to drop a packet that finds `bytes` waiting.
    pub fn refuses(&mut self, bytes: u64) -> bool {
        bytes > self.threshold && self.random.next_u64() >> 62 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_is_dropped_above_the_threshold_and_nothing_below() {
        let mut gateway = Gateway::new(1_000, 1);
        assert!((0..1_000).all(|bytes| !gateway.refuses(bytes)));
        let dropped = (0..100_000).filter(|_| gateway.refuses(1_001)).count();
        // Four standard deviations are 0.0055.
        assert!((dropped as f64 / 1e5 - 0.25).abs() < 0.0055, "{dropped}");
    }
}
