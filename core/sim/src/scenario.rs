//! The scenario as JSON, which Python passes in. Unknown keys are errors.

mod ecn;
// Written by `python -m configs.reference`.
#[rustfmt::skip]
#[expect(missing_docs, reason = "docs/scenario.md has the meaning of each field")]
mod fields;
mod part;
mod rules;

pub use ecn::EcnSpec;
pub use fields::*;
pub use part::Broken;

use crate::Nanos;
use part::Part;

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

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(text: &str) -> String {
        Scenario::from_json(text).expect_err("the scenario is wrong").to_string()
    }

    #[test]
    fn a_token_bucket_needs_a_link_whose_rate_is_constant() {
        let of = |link: &str| {
            format!(
                r#"{{"duration_s": 1, "links": {{"a": {link}}}, "flows": [{{"scheme": "reno", "route": ["a"]}}]}}"#
            )
        };
        let error = error_of(&of(r#"{"trace": "path", "burst_bytes": 1500}"#));
        assert!(error.contains("links.a.burst_bytes"), "{error}");
        assert!(Scenario::from_json(&of(r#"{"rate_mbps": 1, "delay_ms": 1, "burst_bytes": 1500}"#)).is_ok());
    }

    #[test]
    fn an_outage_that_drops_the_queue_needs_a_trace_and_no_shaper() {
        let of = |link: &str| {
            format!(
                r#"{{"duration_s": 1, "links": {{"a": {link}}}, "flows": [{{"scheme": "reno", "route": ["a"]}}]}}"#
            )
        };
        for link in [
            r#"{"rate_mbps": 1, "delay_ms": 1, "outage": "drop"}"#,
            r#"{"trace": "path", "outage": "drop", "queue": {"kind": "cake", "bandwidth_mbps": 5}}"#,
        ] {
            let error = error_of(&of(link));
            assert!(error.contains("links.a.outage"), "{error}");
        }
        assert!(Scenario::from_json(&of(r#"{"trace": "path", "outage": "drop"}"#)).is_ok());
    }

    #[test]
    fn an_unknown_key_is_named() {
        let error = error_of(r#"{"duration_s": 1, "links": {}, "flows": [], "lnks": {}}"#);
        assert!(error.contains("unknown field `lnks`"), "{error}");
    }

    #[test]
    fn a_route_over_a_missing_link_lists_the_links() {
        let error = error_of(
            r#"{"duration_s": 1, "links": {"a": {"rate_mbps": 1, "delay_ms": 1}},
                "flows": [{"scheme": "cubic", "route": ["b"]}]}"#,
        );
        assert_eq!(error, r#"scenario: flows.0.route: no link is named "b" (there are: a)"#);
    }

    #[test]
    fn negative_delay_is_refused() {
        let error = error_of(
            r#"{"duration_s": 1, "links": {"a": {"rate_mbps": 1, "delay_ms": -1}},
                "flows": [{"scheme": "cubic", "route": ["a"]}]}"#,
        );
        assert_eq!(error, "scenario: links.a.delay_ms: must be a number from 0 to 10,000,000");
    }
}
