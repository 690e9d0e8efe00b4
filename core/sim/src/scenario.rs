//! The scenario as JSON, which Python passes in. Unknown keys are errors.

mod constellation;
mod ecn;
// Written by `python -m configs.reference`.
#[rustfmt::skip]
#[expect(missing_docs, reason = "docs/scenario.md has the meaning of each field")]
mod fields;
mod part;
mod rules;

pub use constellation::{ConstellationSpec, TransmitterSpec, VanishedLinks};
pub use ecn::EcnSpec;
pub use fields::*;
pub use part::Broken;

use crate::Nanos;
pub(crate) use part::{Part, parse};

/// Scheme name of flows that the caller steers.
pub const AGENT_SCHEME: &str = "agent";

/// Scheme name of constant-rate, unresponsive flows.
pub const UDP_SCHEME: &str = "udp";
/// A sentence about it, as [`leo_cc::TABLE`] has for the others.
pub const UDP_ABOUT: &str =
    "No congestion control: sends UDP at its rate_mbps, all the time or in bursts (on_off).";

/// Invalid input: one line that names source, field and rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}: {field}: {rule}")]
pub struct ScenarioError {
    source_name: String,
    field: String,
    rule: String,
}

impl ScenarioError {
    pub(crate) fn new(scenario: &str, field: impl Into<String>, rule: impl Into<String>) -> Self {
        // Names and keys come from the input, but the message must stay one line.
        let one_line = |text: String| text.replace(char::is_control, " ");
        Self {
            source_name: one_line(scenario.to_owned()),
            field: one_line(field.into()),
            rule: one_line(rule.into()),
        }
    }
}

/// Scheme name of calls under Google congestion control.
pub const GCC_SCHEME: &str = "gcc";

/// Whether flows of the scheme send UDP.
pub(crate) fn sends_datagrams(scheme: &str) -> bool {
    [UDP_SCHEME, GCC_SCHEME].contains(&scheme)
}

impl Scenario {
    /// Parse and check JSON.
    ///
    /// # Errors
    /// Invalid JSON, an unknown key, a value out of range, or a route with an unknown link.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = part::parse(text).map_err(|broken| broken.of("scenario"))?;
        scenario.validate().map_err(|broken| broken.of(&scenario.name))?;
        Ok(scenario)
    }

    pub(crate) fn check(&self, field: &str, holds: bool, rule: &str) -> Result<(), ScenarioError> {
        part::check(field, holds, rule).map_err(|broken| broken.of(&self.name))
    }
}

impl ArrivalsSpec {
    pub(crate) fn shape(&self) -> f64 {
        self.shape.unwrap_or(1.2)
    }
}

impl From<ResumeSpec> for leo_cc::Saved {
    fn from(spec: ResumeSpec) -> Self {
        Self { window: spec.cwnd_packets, rtt: nanos(spec.rtt_ms, 1e6) }
    }
}

/// Convert seconds or milliseconds to nanoseconds, rounded to nearest.
pub(crate) fn nanos(value: f64, per_unit: f64) -> Nanos {
    (value * per_unit).round() as Nanos
}
