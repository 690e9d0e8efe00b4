//! The reverse path: its congestion, and flows that send data over it.

use serde::Deserialize;

use super::{FlowSpec, LinkSpec, QueueSpec, Scenario, ScenarioError};

/// A link's reverse direction with its own transmitter and queue. Delay and outages are the link's or its trace's.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReverseSpec {
    /// Capacity in Mbit/s of IP packets; replaces the trace's downlink capacity.
    #[serde(default)]
    pub rate_mbps: Option<f64>,
    /// Independent loss probability, in addition to the trace's.
    #[serde(default)]
    pub loss: f64,
    /// The queue.
    #[serde(default)]
    pub queue: QueueSpec,
}

/// Direction of a flow's data over the links of its route; ACKs travel the other way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowDirection {
    /// Over the links, in the order of the route.
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

    /// Refuse backward flows over links without `reverse`: no queue would ever limit them.
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
