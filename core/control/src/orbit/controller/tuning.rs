//! The controller's parameters, which a policy's action scales.

/// Numbers of an action.
pub(crate) const GAINS: usize = 11;

/// The controller's parameters. An action of zeros selects values that an evolution
/// strategy found on LEO paths, steps and static links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tuning {
    /// Gain on the pacing rate.
    pub pacing_gain: f64,
    /// Growth of the rate at 100 Mbit/s, per second.
    pub growth_per_s: f64,
    /// Decrease of the rate after congestion.
    pub decrease: f64,
    /// Queueing delay that counts as congestion, in s.
    pub queue_s: f64,
    /// Growth of the growth itself per RTT, above the last measured share of the capacity.
    pub acceleration: f64,
    /// Largest reduction of the rate while draining.
    pub drain_depth: f64,
    /// Exponent of the rate in its growth: 1 preserves shares, 0 equalises them fastest.
    pub exponent: f64,
    /// Loss that counts as congestion without a queue.
    pub loss: f64,
    /// Above `COMPETE_THRESHOLD`, another scheme fills the buffer; below its negative, none does.
    pub compete: f64,
    /// The rate to hold beside another scheme, over the delivery rate of the last second.
    pub target: f64,
    /// First rate over the rate that the first packets' spacing shows.
    pub start: f64,
}

impl Tuning {
    pub fn of(action: &[f32]) -> Self {
        let at = |index: usize| {
            let value = action.get(index).copied().unwrap_or(0.0);
            if value.is_nan() { 0.0 } else { f64::from(value).clamp(-1.0, 1.0) }
        };
        let scaled = |index: usize, by: f64| libm::pow(by, at(index));
        Self {
            pacing_gain: scaled(0, 1.1),
            growth_per_s: 0.054 * scaled(1, 8.0),
            decrease: 0.04 * scaled(2, 8.0),
            queue_s: 1.6e-3 * scaled(3, 8.0),
            acceleration: 1.67 * scaled(4, 8.0),
            drain_depth: 0.48 * scaled(5, 2.0),
            exponent: 0.1 + 0.5 * at(6),
            loss: 0.043 * scaled(7, 8.0),
            compete: at(8),
            target: scaled(9, 4.0),
            start: 0.5 * scaled(10, 4.0),
        }
    }
}
