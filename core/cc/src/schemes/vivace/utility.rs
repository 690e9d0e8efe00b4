//! Utility functions of the rate, loss and RTT gradient of a monitor interval.

/// Bits of a full packet, 1,500 bytes in all implementations.
pub const PACKET_BITS: f64 = 12_000.0;

/// The cost of loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossPenalty {
    /// Times the rate and the share of lost packets.
    pub coefficient: f64,
    /// Up to this share …
    pub tolerated: f64,
    /// … this coefficient applies.
    pub tolerated_coefficient: f64,
}

impl LossPenalty {
    fn of(&self, loss: f64) -> f64 {
        loss * if loss <= self.tolerated { self.tolerated_coefficient } else { self.coefficient }
    }
}

/// The utility function of the paper, equation 1: x^t − b·x·dRTT/dT − c·x·L.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utility {
    /// t, below 1 for fairness (theorem 1).
    pub exponent: f64,
    /// b.
    pub latency_coefficient: f64,
    /// c.
    pub loss: LossPenalty,
}

impl Utility {
    /// Vivace-Latency in the branch NSDI-2018 of PCC-Uspace. Its b is not the paper's 900. Losses up to 3 % cost almost
    /// nothing, because x^0.9 grows faster.
    pub const NSDI_2018: Self = Self {
        exponent: 0.9,
        latency_coefficient: 11_330.0,
        loss: LossPenalty { coefficient: 11.35, tolerated: 0.03, tolerated_coefficient: 1.0 },
    };

    /// PCC-Uspace since PCC Proteus (Meng et al., SIGCOMM 2020), with the paper's numbers.
    pub const PROTEUS: Self = Self {
        exponent: 0.9,
        latency_coefficient: 900.0,
        loss: LossPenalty { coefficient: 11.35, tolerated: 0.0, tolerated_coefficient: 11.35 },
    };

    /// The utility of `rate` in Mbit/s on the wire, a share `loss` and the RTT's `gradient` over time.
    pub fn of(&self, rate: f64, loss: f64, gradient: f64) -> f64 {
        let rate = rate.max(0.0);
        libm::pow(rate, self.exponent) - rate * (self.latency_coefficient * gradient + self.loss.of(loss))
    }
}

/// §4.3: low-pass filter of the RTT gradient, in the branch NSDI-2018 by rounding towards zero to an even percentage.
pub fn even_percentage(gradient: f64) -> f64 {
    let percent = libm::trunc(gradient * 100.0);
    libm::trunc(percent / 2.0) * 2.0 / 100.0
}

/// The utility function of PCC-Kernel, linear in the rate in bytes per second and computed in thousandths like the kernel.
///
/// `loss`: share of lost packets; `inflation`: rise of the smoothed RTT over the time of sending.
pub fn kernel_utility(rate: f64, loss: f64, inflation: f64) -> f64 {
    let penalty = 900.0 * libm::trunc(inflation * 1_000.0) + 11.0 * libm::trunc(loss * 1_000.0);
    rate - rate * penalty / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_better_while_nothing_queues_or_is_lost_and_ever_less_so() {
        // Theorem 1 needs t < 1: marginal utility falls.
        for utility in [Utility::NSDI_2018, Utility::PROTEUS] {
            let at = |rate: f64| utility.of(rate, 0.0, 0.0);
            assert!(at(20.0) > at(10.0));
            assert!(at(20.0) - at(10.0) > at(110.0) - at(100.0));
        }
    }

    #[test]
    fn random_loss_up_to_the_tolerated_share_leaves_a_reason_to_send_more() {
        // §3.2: c = 11.35 tolerates 5 % at 100 Mbit/s: 0.9·100^−0.1 = 0.57 = 11.35 · 5 %.
        let grows = |utility: Utility, loss: f64| utility.of(105.0, loss, 0.0) > utility.of(95.0, loss, 0.0);
        assert!(grows(Utility::PROTEUS, 0.049) && !grows(Utility::PROTEUS, 0.051));
        assert!(grows(Utility::NSDI_2018, 0.03) && grows(Utility::NSDI_2018, 0.049));
        assert!(!grows(Utility::NSDI_2018, 0.051));
    }

    #[test]
    fn a_queue_that_grows_costs_more_than_the_rate_gains() {
        // Theorem 2: b ≥ t·n^(2 − t)·C^(t − 1) keeps the queue empty.
        for utility in [Utility::NSDI_2018, Utility::PROTEUS] {
            assert!(utility.of(105.0, 0.0, 0.04) < utility.of(95.0, 0.0, 0.0));
        }
    }

    #[test]
    fn gradients_count_in_steps_of_two_percent() {
        let counted: Vec<f64> =
            [0.019, 0.021, 0.039, 0.041, -0.019, -0.021, 0.0].map(even_percentage).to_vec();
        assert_eq!(counted, [0.0, 0.02, 0.02, 0.04, -0.0, -0.02, 0.0]);
    }

    #[test]
    fn the_kernel_pays_eleven_for_loss_and_nine_hundred_for_inflation() {
        assert_eq!(kernel_utility(1e6, 0.0, 0.0), 1e6);
        assert_eq!(kernel_utility(1e6, 0.1, 0.0), 1e6 - 1.1e6);
        assert_eq!(kernel_utility(1e6, 0.0, 0.05), 1e6 - 45e6);
        // Loss and inflation below a thousandth do not count.
        assert_eq!(kernel_utility(1e6, 0.000_9, 0.000_9), 1e6);
    }
}
