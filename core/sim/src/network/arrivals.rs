//! Draws transfers that arrive as a Poisson process, the common model of short flows.

use leo_link::Nanos;
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::NANOS_PER_S;
use crate::scenario::{ArrivalsSpec, MOST_TRANSFER_BYTES, SizeDistribution};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub at: Nanos,
    pub bytes: u64,
}

/// Draw the transfers that arrive in `start..end`.
pub fn draw(spec: &ArrivalsSpec, start: Nanos, end: Nanos, seed: u64) -> Vec<Arrival> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut arrivals = Vec::new();
    let mut at = start;
    loop {
        // Independent exponential gaps make a Poisson process.
        let gap = exponential(&mut random) / spec.rate_per_s * NANOS_PER_S;
        at = at.saturating_add((gap.round() as Nanos).max(1));
        if at >= end {
            return arrivals;
        }
        arrivals.push(Arrival { at, bytes: size(spec, &mut random) });
    }
}

fn size(spec: &ArrivalsSpec, random: &mut Pcg64Mcg) -> u64 {
    let mean = spec.mean_bytes as f64;
    let bytes = match spec.distribution {
        SizeDistribution::Constant => return spec.mean_bytes,
        SizeDistribution::Exponential => mean * exponential(random),
        // Inverse of P(X > x) = (x_min / x)^α, whose mean is α x_min / (α - 1).
        SizeDistribution::Pareto => {
            let shape = spec.shape();
            mean * (shape - 1.0) / shape * libm::exp(exponential(random) / shape)
        }
    };
    (bytes.round() as u64).clamp(1, MOST_TRANSFER_BYTES)
}

/// Draw from the exponential distribution with mean 1.
fn exponential(random: &mut Pcg64Mcg) -> f64 {
    let uniform = ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    -libm::log(uniform)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    fn arrivals(distribution: SizeDistribution, shape: Option<f64>) -> Vec<Arrival> {
        let spec = ArrivalsSpec { rate_per_s: 50.0, mean_bytes: 30_000, distribution, shape };
        draw(&spec, 5 * SECOND, 1_005 * SECOND, 1)
    }

    #[test]
    fn as_many_arrive_as_the_rate_says_and_their_number_varies_as_poissons_does() {
        let arrivals = arrivals(SizeDistribution::Constant, None);
        // Expected: 50,000; standard deviation: 224.
        assert!(arrivals.len().abs_diff(50_000) < 900, "{}", arrivals.len());
        assert!(arrivals.iter().all(|arrival| arrival.bytes == 30_000));
        let mut counts = vec![0.0_f64; 1_000];
        for arrival in &arrivals {
            counts[(arrival.at / SECOND - 5) as usize] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / 1_000.0;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / 999.0;
        // A Poisson process has equal variance and mean; 1,000 counts give the ratio to 4.5 %.
        assert!((variance / mean - 1.0).abs() < 0.15, "{variance} to {mean}");
    }

    #[test]
    fn sizes_have_the_mean_that_is_asked_for_and_the_distributions_spread() {
        let sizes = |distribution, shape| {
            let mut sizes: Vec<f64> =
                arrivals(distribution, shape).iter().map(|arrival| arrival.bytes as f64).collect();
            sizes.sort_by(f64::total_cmp);
            sizes
        };
        let mean = |sizes: &[f64]| sizes.iter().sum::<f64>() / sizes.len() as f64;
        let exponential = sizes(SizeDistribution::Exponential, None);
        assert!((mean(&exponential) / 30_000.0 - 1.0).abs() < 0.02, "{}", mean(&exponential));
        let median = exponential[exponential.len() / 2];
        assert!((median / (30_000.0 * 2.0_f64.ln()) - 1.0).abs() < 0.03, "{median}");
        let pareto = sizes(SizeDistribution::Pareto, Some(2.5));
        assert!((mean(&pareto) / 30_000.0 - 1.0).abs() < 0.05, "{}", mean(&pareto));
        // x_min is 0.6 of the mean; the median is x_min 2^(1/α).
        let median = pareto[pareto.len() / 2];
        assert!((median / (18_000.0 * 2.0_f64.powf(0.4)) - 1.0).abs() < 0.03, "{median}");
        assert!((pareto[0] - 18_000.0).abs() < 2.0, "{}", pareto[0]);
    }
}
