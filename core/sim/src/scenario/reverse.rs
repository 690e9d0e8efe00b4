//! The way back: what congests it, and flows whose data takes it.

use serde::Deserialize;

use super::{FlowSpec, LinkSpec, QueueSpec, Scenario, ScenarioError};

/// A link's other direction, with a transmitter and a queue of its own. Its delay and outages are the link's.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReverseSpec {
    /// Capacity in Mbit/s of IP packets; with a trace it replaces the trace's of that direction.
    #[serde(default)]
    pub rate_mbps: Option<f64>,
    /// Independent loss probability, on top of the trace's.
    #[serde(default)]
    pub loss: f64,
    /// The queue in front of it.
    #[serde(default)]
    pub queue: QueueSpec,
}

/// Which way a flow's data crosses the links of its route; acknowledgements go the other way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowDirection {
    /// Along the links, in the order of the route.
    #[default]
    Forward,
    /// Over their reverse directions, from the route's last link to its first.
    Backward,
}

impl Scenario {
    pub(super) fn validate_reverse(&self, at: &str, link: &LinkSpec) -> Result<(), ScenarioError> {
        let Some(reverse) = &link.reverse else { return Ok(()) };
        self.validate_rate(at, reverse.rate_mbps)?;
        self.check(&format!("{at}.loss"), (0.0..=1.0).contains(&reverse.loss), "must be within 0 and 1")?;
        let rate_given = link.trace.is_some() || reverse.rate_mbps.is_some();
        self.check(&format!("{at}.rate_mbps"), rate_given, "a link without a trace needs it")?;
        self.validate_queue(&format!("{at}.queue"), &reverse.queue)
    }

    /// Over links without a queue on the way back nothing would ever slow a backward flow down.
    pub(super) fn validate_direction(
        &self,
        at: &str,
        flow: &FlowSpec,
        route: &[String],
    ) -> Result<(), ScenarioError> {
        let limited =
            route.iter().any(|link| self.links.get(link).is_some_and(|link| link.reverse.is_some()));
        let fine = flow.direction == FlowDirection::Forward || limited;
        self.check(at, fine, "a backward flow needs a link that has reverse")
    }
}
