//! Rewards by name: one number per interval for all active flows of a path, or one per flow.

mod astraea;
mod astraea_released;
mod aurora;
mod fair_share;
mod orca;
mod sage;
mod terms;

pub use terms::Term;
use terms::{TERMS, Weights};

use crate::{ControlError, FlowState, World};

/// A reward. Most are global: all active flows of the path get the same number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reward {
    /// `astraea`: equations 4 to 8 of the paper.
    Astraea,
    /// `astraea-released`: an earlier formula of the same authors, from their release.
    AstraeaReleased,
    /// `orca`: per flow.
    Orca,
    /// `aurora`: per flow.
    Aurora,
    /// `sage`: per flow; R1 if alone on the path, else R2.
    Sage,
    /// `sage-r1`: Sage's reward of a flow that is alone.
    SageAlone,
    /// `sage-r2`: Sage's reward of a flow that shares the link.
    SageFriendly,
    /// `fair-share`: ours, per flow: distance from an equal share, queue and losses.
    FairShare,
    /// Weighted terms, such as `throughput:1,delay:-0.5`.
    Terms(Weights),
}

impl Reward {
    /// Every reward that is not a sum of terms.
    pub const ALL: [Self; 8] = [
        Self::Astraea,
        Self::AstraeaReleased,
        Self::Orca,
        Self::Aurora,
        Self::Sage,
        Self::SageAlone,
        Self::SageFriendly,
        Self::FairShare,
    ];

    /// Find a reward by name, or parse weighted terms, `TERM[:WEIGHT],…`.
    pub fn by_name(name: &str) -> Result<Self, ControlError> {
        if let Some(published) = Self::ALL.into_iter().find(|reward| reward.name() == Some(name)) {
            return Ok(published);
        }
        Weights::parse(name).map(Self::Terms).map_err(|rule| {
            let names = Self::names().collect::<Vec<_>>().join(", ");
            ControlError::new("reward", "name", format!("{rule} (there are: {names})"))
        })
    }

    /// The terms that rewards can add up.
    pub const TERMS: [Term; 8] = TERMS;

    /// Names of the rewards, then the terms, each a reward by itself with its sign.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().filter_map(Self::name).chain(TERMS.iter().map(|term| term.alone))
    }

    const fn name(self) -> Option<&'static str> {
        match self {
            Self::Astraea => Some("astraea"),
            Self::AstraeaReleased => Some("astraea-released"),
            Self::Orca => Some("orca"),
            Self::Aurora => Some("aurora"),
            Self::Sage => Some("sage"),
            Self::SageAlone => Some("sage-r1"),
            Self::SageFriendly => Some("sage-r2"),
            Self::FairShare => Some("fair-share"),
            Self::Terms(_) => None,
        }
    }

    /// Whether each flow gets a separate reward, evaluated over that flow only.
    pub const fn is_of_flow(self) -> bool {
        matches!(
            self,
            Self::Orca | Self::Aurora | Self::Sage | Self::SageAlone | Self::SageFriendly | Self::FairShare
        )
    }

    /// Compute the reward of the interval that just ended, always finite, for the `flows` active in it; 0
    /// without flows. For several flows, a reward [per flow](Self::is_of_flow) is their mean.
    pub fn evaluate<'a>(self, world: &World, flows: impl Iterator<Item = &'a FlowState> + Clone) -> f32 {
        if flows.clone().next().is_none() {
            return 0.0;
        }
        match self {
            Self::Astraea => astraea::reward(world, flows) as f32,
            Self::AstraeaReleased => astraea_released::reward(world, flows) as f32,
            Self::Orca => mean(flows.map(|flow| orca::reward(&flow.report))) as f32,
            Self::Aurora => mean(flows.map(|flow| aurora::reward(&flow.report))) as f32,
            Self::Sage => mean(flows.map(|flow| sage::reward(world, flow))) as f32,
            Self::SageAlone => mean(flows.map(|flow| sage::alone(world, flow))) as f32,
            Self::SageFriendly => mean(flows.map(|flow| sage::friendly(world, flow))) as f32,
            Self::FairShare => mean(flows.map(|flow| fair_share::reward(world, flow))) as f32,
            Self::Terms(weights) => weights.sum(world, flows) as f32,
        }
    }
}

/// Return the mean of `values`; 0 without any.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    crate::report::ratio(sum, n)
}

/// Return the population standard deviation of `values`; 0 without any.
fn standard_deviation(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let centre = mean(values.clone());
    mean(values.map(|value| (value - centre) * (value - centre))).sqrt()
}

/// Return the delivered share of the capacity, at most 1: samples exceed it when ACKs bunch up.
fn utilisation<'a>(world: &World, flows: impl Iterator<Item = &'a FlowState>) -> f64 {
    let sum: f64 = flows.map(|flow| flow.report.avg_throughput as f64).sum();
    crate::report::ratio(sum, world.capacity_bytes_per_s).min(1.0)
}

/// Return `lost` over `rate`, at most 1.
fn lost_share(lost: f64, rate: f64) -> f64 {
    if lost >= rate { f64::from(u8::from(lost > 0.0)) } else { lost / rate }
}

/// Return lost over delivered bytes, at most 1.
fn lost_bytes_share(flow: &FlowState) -> f64 {
    lost_share(flow.report.lost_bytes as f64, flow.report.delivered_bytes as f64)
}

/// Upper limit of RTT / base RTT - 1.
const DELAY_CAP: f64 = 10.0;

/// Return RTT / base RTT - 1 of a flow, in [0, [`DELAY_CAP`]].
fn delay(world: &World, flow: &FlowState) -> f64 {
    let latency_us = f64::from(flow.report.latency_us());
    let inflation = crate::report::ratio(latency_us, world.base_rtt_us(flow.extra_delay_ns));
    (inflation - 1.0).clamp(0.0, DELAY_CAP)
}

/// Return the mean throughput of a flow's recent intervals.
fn recent_throughput(flow: &FlowState) -> f64 {
    mean(flow.recent_throughput_bytes_per_s().iter().copied())
}

/// Return the relative deviation of the throughput of a flow's recent intervals.
fn instability(flow: &FlowState) -> f64 {
    let recent = flow.recent_throughput_bytes_per_s().iter().copied();
    crate::report::ratio(standard_deviation(recent), recent_throughput(flow))
}

#[cfg(test)]
mod testing {
    use crate::{FlowState, Report, World};

    /// 100 Mbit/s, 15 ms one way.
    pub const WORLD: World =
        World { capacity_bytes_per_s: 12.5e6, base_rtt_ns: 30_000_000, buffer_bytes: 375_000 };

    /// A flow after these reports, each of 30 ms.
    pub fn flow(reports: impl IntoIterator<Item = Report>) -> FlowState {
        let mut flow = FlowState::new(0);
        for report in reports {
            flow.observe(&Report { interval_ns: 30_000_000, ..report });
        }
        flow
    }

    /// A flow after an interval with each of these throughputs, in bytes/s, and else the `last` report.
    pub fn flow_of(throughput: &[u64], last: Report) -> FlowState {
        flow(throughput.iter().map(|&avg_throughput| Report { avg_throughput, ..last }))
    }

    #[track_caller]
    pub fn assert_near(got: f64, expected: f64) {
        assert!((got - expected).abs() < 1e-12, "{got} is not {expected}");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Report;

    fn rewards() -> impl Iterator<Item = Reward> {
        Reward::names().map(|name| Reward::by_name(name).unwrap())
    }

    #[test]
    fn every_reward_is_found_by_its_name() {
        for reward in Reward::ALL {
            assert_eq!(Reward::by_name(reward.name().unwrap()), Ok(reward));
        }
        assert!(Reward::names().all(|name| Reward::by_name(name).is_ok()));
        let error = Reward::by_name("fame").unwrap_err().to_string();
        assert_eq!(
            error,
            "reward: name: no reward or term is named \"fame\" (there are: astraea, astraea-released, orca, aurora, \
             sage, sage-r1, sage-r2, fair-share, throughput, delay:-1, loss:-1, fairness, stability, power, \
             utility, inequality:-1)"
        );
    }

    #[test]
    fn a_path_without_flows_earns_nothing() {
        for reward in rewards() {
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
            base_rtt_ns in 0u64..20_000_000_000,
            throughput in any::<[u64; 3]>(),
            lost_bytes in any::<u64>(),
            pacing_rate in any::<u64>(),
            mss in any::<u32>(),
            avg_rtt_us in any::<u32>(),
        ) {
            let world = World { capacity_bytes_per_s, base_rtt_ns, buffer_bytes: 1 };
            let flows = throughput.map(|avg_throughput| {
                let mut flow = FlowState::new(0);
                let interval_ns = 30_000_000;
                flow.observe(&Report {
                    interval_ns, avg_throughput, lost_bytes, pacing_rate, mss, avg_rtt_us, ..Report::default()
                });
                flow.observe(&Report { interval_ns, lost_bytes, mss, ..Report::default() });
                flow
            });
            for reward in rewards() {
                prop_assert!(reward.evaluate(&world, flows.iter()).is_finite());
            }
        }
    }
}
