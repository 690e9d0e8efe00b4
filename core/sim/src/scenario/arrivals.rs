//! Random arrivals of transfers in a scenario.

use serde::Deserialize;

use crate::scenario::{AGENT_SCHEME, FlowSpec, MAX_TRANSFER_BYTES, Scenario, ScenarioError};

/// Random transfers: each becomes a flow.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrivalsSpec {
    /// Mean arrivals per second (Poisson process).
    pub rate_per_s: f64,
    /// Mean size in bytes.
    pub mean_bytes: u64,
    /// Distribution of sizes.
    #[serde(default)]
    pub distribution: SizeDistribution,
    /// Pareto's α, above 1; a smaller value has a heavier tail. Default 1.2.
    #[serde(default)]
    pub shape: Option<f64>,
}

/// Distributions of sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SizeDistribution {
    /// Always the mean.
    Constant,
    /// Exponential.
    #[default]
    Exponential,
    /// Heavy-tailed.
    Pareto,
}

impl ArrivalsSpec {
    pub(crate) fn shape(&self) -> f64 {
        self.shape.unwrap_or(1.2)
    }
}

impl Scenario {
    /// Validate transfers and return the expected number of flows of the entry.
    pub(super) fn validate_transfers(&self, at: &str, flow: &FlowSpec) -> Result<f64, ScenarioError> {
        let bytes_ok = |bytes| (1..=MAX_TRANSFER_BYTES).contains(&bytes);
        let rule = "must be within 1 and 1e15";
        self.check(&format!("{at}.transfer_bytes"), flow.transfer_bytes.is_none_or(bytes_ok), rule)?;
        let Some(arrivals) = flow.arrivals else { return Ok(f64::from(flow.count)) };
        let at = format!("{at}.arrivals");
        let one = flow.transfer_bytes.is_none();
        self.check(&at, one, "give at most one of transfer_bytes and arrivals")?;
        let agent = flow.scheme == AGENT_SCHEME;
        self.check(&at, !agent, "agent flows cannot arrive at random")?;
        let rate_ok = (1e-6..=1e6).contains(&arrivals.rate_per_s);
        self.check(&format!("{at}.rate_per_s"), rate_ok, "must be within 1e-6 and 1e6")?;
        self.check(&format!("{at}.mean_bytes"), bytes_ok(arrivals.mean_bytes), rule)?;
        let pareto = arrivals.distribution == SizeDistribution::Pareto;
        self.check(&format!("{at}.shape"), pareto || arrivals.shape.is_none(), "only pareto has a shape")?;
        let shape_ok = (1.01..=100.0).contains(&arrivals.shape());
        self.check(&format!("{at}.shape"), shape_ok, "must be within 1.01 and 100")?;
        let seconds = flow.stop_s.unwrap_or(self.duration_s).min(self.duration_s) - flow.start_s;
        Ok(f64::from(flow.count) * arrivals.rate_per_s * seconds)
    }
}
