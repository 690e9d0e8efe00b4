//! Rewards by name: one number a path and interval, the same for every active flow.

mod astraea;
mod astraea_released;
mod sage;

use crate::{ControlError, FlowState, World};

/// A reward. It is global: every active flow of the path gets the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reward {
    /// `astraea`: equations 4 to 8 of the paper.
    Astraea,
    /// `astraea-released`: an earlier formula of the same authors, as they released it.
    AstraeaReleased,
}

impl Reward {
    /// Every reward.
    pub const ALL: [Self; 2] = [Self::Astraea, Self::AstraeaReleased];

    /// The reward of that name.
    ///
    /// # Errors
    /// No reward has the name; the error lists those there are.
    pub fn by_name(name: &str) -> Result<Self, ControlError> {
        Self::ALL.into_iter().find(|reward| reward.name() == name).ok_or_else(|| {
            let known = Self::names().collect::<Vec<_>>().join(", ");
            ControlError::new("reward", "name", format!("no reward is named {name:?} (there are: {known})"))
        })
    }

    /// Names of all rewards.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().map(Self::name)
    }

    /// Its name, as in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Astraea => "astraea",
            Self::AstraeaReleased => "astraea-released",
        }
    }

    /// The reward of the interval that just ended, for the `flows` that were active in it; 0 without any.
    ///
    /// Always finite.
    pub fn evaluate<'a>(self, world: &World, flows: impl Iterator<Item = &'a FlowState> + Clone) -> f32 {
        if flows.clone().next().is_none() {
            return 0.0;
        }
        match self {
            Self::Astraea => astraea::reward(world, flows) as f32,
            Self::AstraeaReleased => astraea_released::reward(world, flows) as f32,
        }
    }
}

/// Mean of `values`; 0 without any.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    crate::report::ratio(sum, n)
}

/// Population standard deviation of `values`; 0 without any.
fn standard_deviation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let centre = mean(values.clone());
    mean(values.map(|value| (value - centre) * (value - centre))).sqrt()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Report;

    #[test]
    fn every_reward_is_found_by_its_name() {
        for reward in Reward::ALL {
            assert_eq!(Reward::by_name(reward.name()), Ok(reward));
        }
        let error = Reward::by_name("fame").unwrap_err().to_string();
        assert_eq!(error, "reward: name: no reward is named \"fame\" (there are: astraea, astraea-released)");
    }

    #[test]
    fn a_path_without_flows_earns_nothing() {
        for reward in Reward::ALL {
            assert_eq!(reward.evaluate(&World::default(), [].iter()), 0.0);
        }
    }

    #[test]
    fn the_deviation_is_that_of_the_population() {
        assert_eq!(standard_deviation([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter()), 2.0);
        assert_eq!(standard_deviation(std::iter::empty()), 0.0);
    }

    proptest! {
        #[test]
        fn every_reward_of_every_report_is_finite(
            capacity_bytes_per_s in 0.0f64..1e12,
            base_delay_ns in 0u64..10_000_000_000,
            throughput in any::<[u64; 3]>(),
            lost_bytes in any::<u64>(),
            pacing_rate in any::<u64>(),
            mss in any::<u32>(),
            avg_rtt_us in any::<u32>(),
        ) {
            let world = World { capacity_bytes_per_s, base_delay_ns, buffer_bytes: 1 };
            let flows = throughput.map(|avg_throughput| {
                let mut flow = FlowState::new(0);
                let interval_ns = 30_000_000;
                flow.observe(&Report {
                    interval_ns, avg_throughput, lost_bytes, pacing_rate, mss, avg_rtt_us, ..Report::default()
                });
                flow.observe(&Report { interval_ns, lost_bytes, mss, ..Report::default() });
                flow
            });
            for reward in Reward::ALL {
                prop_assert!(reward.evaluate(&world, flows.iter()).is_finite());
            }
        }
    }
}
