//! Transfers that arrive at random, as an entry of the scenario's flows describes them.

use serde::Deserialize;

use crate::scenario::{AGENT_SCHEME, FlowSpec, MAX_TRANSFER_BYTES, Scenario, ScenarioError};

/// Transfers that arrive at random: each becomes a flow of its own.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrivalsSpec {
    /// How many arrive a second on average, as a Poisson process.
    pub rate_per_s: f64,
    /// Their mean size in bytes.
    pub mean_bytes: u64,
    /// How sizes are drawn.
    #[serde(default)]
    pub distribution: SizeDistribution,
    /// Pareto's α, above 1: the smaller, the heavier the tail; 1.2 by default.
    #[serde(default)]
    pub shape: Option<f64>,
}

/// Distributions of sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SizeDistribution {
    /// Always the mean.
    Constant,
    /// Without memory.
    #[default]
    Exponential,
    /// With a heavy tail.
    Pareto,
}

impl ArrivalsSpec {
    /// Pareto's α.
    pub(crate) fn shape(&self) -> f64 {
        self.shape.unwrap_or(1.2)
    }
}

impl Scenario {
    /// Also says how many flows the entry stands for, on average.
    pub(super) fn validate_transfers(&self, at: &str, flow: &FlowSpec) -> Result<f64, ScenarioError> {
        let bytes_ok = |bytes| (1..=MAX_TRANSFER_BYTES).contains(&bytes);
        let rule = "must be within 1 and 1e15";
        self.check(&format!("{at}.transfer_bytes"), flow.transfer_bytes.is_none_or(bytes_ok), rule)?;
        let Some(arrivals) = flow.arrivals else { return Ok(f64::from(flow.count)) };
        let at = format!("{at}.arrivals");
        let one = flow.transfer_bytes.is_none();
        self.check(&at, one, "give at most one of transfer_bytes and arrivals")?;
        let agent = flow.scheme == AGENT_SCHEME;
        self.check(&at, !agent, "flows that are steered from outside cannot arrive at random")?;
        let rate_ok = (1e-6..=1e6).contains(&arrivals.rate_per_s);
        self.check(&format!("{at}.rate_per_s"), rate_ok, "must be within 1e-6 and 1e6")?;
        self.check(&format!("{at}.mean_bytes"), bytes_ok(arrivals.mean_bytes), rule)?;
        let pareto = arrivals.distribution == SizeDistribution::Pareto;
        self.check(&format!("{at}.shape"), pareto || arrivals.shape.is_none(), "only pareto has it")?;
        let shape_ok = (1.01..=100.0).contains(&arrivals.shape());
        self.check(&format!("{at}.shape"), shape_ok, "must be within 1.01 and 100")?;
        let seconds = flow.stop_s.unwrap_or(self.duration_s).min(self.duration_s) - flow.start_s;
        Ok(f64::from(flow.count) * arrivals.rate_per_s * seconds)
    }
}
