//! The scenario as JSON, which Python passes in. Unknown keys are errors.

mod arrivals;
mod ecn;
mod queue;
mod resume;
mod reverse;

use serde::Deserialize;

pub use arrivals::{ArrivalsSpec, SizeDistribution};
pub use ecn::{EcnEnds, EcnSpec, EcnSupport};
pub use queue::QueueSpec;
pub use resume::ResumeSpec;
pub use reverse::{FlowDirection, ReverseSpec};

use crate::Nanos;

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

/// A scenario: links, flows and a duration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name, for messages.
    #[serde(default = "default_name")]
    pub name: String,
    /// Duration in s.
    pub duration_s: f64,
    /// Seed of all random draws.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Host timing noise: maximum random delay added to each ACK, in µs.
    #[serde(default = "default_host_jitter_us")]
    pub host_jitter_us: f64,
    /// Whether TCP flows start with a handshake. Otherwise connections already exist.
    #[serde(default)]
    pub handshake: bool,
    /// Links, sorted by name.
    pub links: std::collections::BTreeMap<String, LinkSpec>,
    /// Flows.
    pub flows: Vec<FlowSpec>,
    /// Timed changes.
    #[serde(default)]
    pub events: Vec<EventSpec>,
}

/// A timed change.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventSpec {
    /// Time in s.
    pub at_s: f64,
    /// The reroute.
    pub reroute: RerouteSpec,
}

/// Moves flows to another route. Packets on the old route still arrive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RerouteSpec {
    /// Indices of the scenario's `flows`; an index covers all `count` flows of the entry.
    pub flows: Vec<usize>,
    /// Link names from sender to receiver.
    pub route: Vec<String>,
}

/// A one-way link. Its reverse path has the same delay, or that and the outages of the trace's other direction, and
/// no queue unless `reverse` is set.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Capacity in Mbit/s of IP packets; replaces a trace's capacity.
    #[serde(default)]
    pub rate_mbps: Option<f64>,
    /// One-way propagation in ms.
    #[serde(default)]
    pub delay_ms: Option<f64>,
    /// Key of the path trace.
    #[serde(default)]
    pub trace: Option<String>,
    /// Start within the trace, in s.
    #[serde(default)]
    pub offset_s: f64,
    /// Independent loss probability, in addition to the trace's.
    #[serde(default)]
    pub loss: f64,
    /// Token bucket size in bytes: the burst that passes at once after idle time. 0 means no bucket.
    #[serde(default)]
    pub burst_bytes: u32,
    /// Effect of the trace's outages on the queues of both directions.
    #[serde(default)]
    pub outage: OutageEffect,
    /// The link's queue.
    #[serde(default)]
    pub queue: QueueSpec,
    /// Capacity and queue of the reverse path; uncongested if absent.
    #[serde(default)]
    pub reverse: Option<ReverseSpec>,
}

/// The fate of packets queued during an outage; packets in flight are always lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutageEffect {
    /// They wait until the outage ends.
    #[default]
    Hold,
    /// They are lost.
    Drop,
}

/// A flow, or `count` equal flows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// Congestion control scheme, a policy's name, or [`AGENT_SCHEME`].
    pub scheme: String,
    /// Start in s.
    #[serde(default)]
    pub start_s: f64,
    /// Stop in s; default: the scenario's end.
    #[serde(default)]
    pub stop_s: Option<f64>,
    /// Link names from sender to receiver; for a backward flow, from receiver to sender.
    pub route: Vec<String>,
    /// Direction in which its data crosses them.
    #[serde(default)]
    pub direction: FlowDirection,
    /// Extra access delay per direction, in ms.
    #[serde(default)]
    pub extra_delay_ms: f64,
    /// Number of equal flows.
    #[serde(default = "default_count")]
    pub count: u32,
    /// The ECN that the flow's ends support.
    #[serde(default)]
    pub ecn: EcnSpec,
    /// Linux's net.ipv4.tcp_rmem: minimum, default, maximum receive buffer in bytes; unlimited if absent.
    #[serde(default)]
    pub tcp_rmem: Option<[u64; 3]>,
    /// Linux's net.ipv4.tcp_wmem: minimum, default, maximum send buffer in bytes; unlimited if absent.
    #[serde(default)]
    pub tcp_wmem: Option<[u64; 3]>,
    /// Transfer size in bytes: the flow stops when all are acknowledged. Backlogged if absent.
    #[serde(default)]
    pub transfer_bytes: Option<u64>,
    /// Random transfers that arrive between `start_s` and `stop_s` and run until completion.
    #[serde(default)]
    pub arrivals: Option<ArrivalsSpec>,
    /// Rate of the scheme `udp` or of a TCP flow's application, in Mbit/s of IP packets.
    #[serde(default)]
    pub rate_mbps: Option<f64>,
    /// On/off bursts at that rate.
    #[serde(default)]
    pub on_off: Option<OnOffSpec>,
    /// What an earlier connection over the route has left, for schemes that resume.
    #[serde(default)]
    pub resume: Option<ResumeSpec>,
}

/// An on/off source.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnOffSpec {
    /// Mean on time in s.
    pub on_s: f64,
    /// Mean off time in s.
    pub off_s: f64,
    /// Distribution of the on and off times.
    #[serde(default)]
    pub distribution: Distribution,
}

/// Distributions of random times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Always the mean.
    Constant,
    /// Exponential.
    #[default]
    Exponential,
}

fn default_name() -> String {
    "scenario".to_owned()
}

const fn default_seed() -> u64 {
    1
}

/// Typical noise from interrupts and scheduling on an idle Linux host; enough to keep flows out of lockstep.
const fn default_host_jitter_us() -> f64 {
    20.0
}

const fn default_count() -> u32 {
    1
}

const MAX_FLOWS: f64 = 1e6;
const MAX_EVENTS: usize = 60_000;
pub(crate) const MAX_TRANSFER_BYTES: u64 = 1_000_000_000_000_000;
/// A century, so that times in nanoseconds fit in 64 bits.
const MAX_SECONDS: f64 = 3.2e9;

impl Scenario {
    /// Parse and validate JSON.
    ///
    /// # Errors
    /// Invalid JSON, an unknown key, a value out of range, or a route with an unknown link.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = serde_json::from_str(text).map_err(|error| {
            ScenarioError::new("scenario", format!("line {} column {}", error.line(), error.column()), {
                let message = error.to_string();
                message.split(" at line ").next().unwrap_or_default().to_owned()
            })
        })?;
        scenario.validate()?;
        Ok(scenario)
    }

    fn validate(&self) -> Result<(), ScenarioError> {
        self.check(
            "duration_s",
            self.duration_s > 0.0 && self.duration_s < MAX_SECONDS,
            "must be above 0 and below 3.2e9",
        )?;
        let jitter_ok = (0.0..=1e6).contains(&self.host_jitter_us);
        self.check("host_jitter_us", jitter_ok, "must be within 0 and 1e6")?;
        self.check("links", !self.links.is_empty(), "at least one is needed")?;
        self.check("flows", !self.flows.is_empty(), "at least one is needed")?;
        for (name, link) in &self.links {
            self.validate_link(&format!("links.{name}"), link)?;
        }
        let mut flows = 0.0;
        for (index, flow) in self.flows.iter().enumerate() {
            flows += self.validate_flow(&format!("flows.{index}"), flow)?;
        }
        self.check("flows", flows <= MAX_FLOWS, "at most 1e6 flows")?;
        self.check("events", self.events.len() <= MAX_EVENTS, "at most 60000 events")?;
        for (index, event) in self.events.iter().enumerate() {
            let at = format!("events.{index}");
            let time_ok = event.at_s >= 0.0 && event.at_s < MAX_SECONDS;
            self.check(&format!("{at}.at_s"), time_ok, "must be at least 0 and below 3.2e9")?;
            let flows_ok = event.reroute.flows.iter().all(|&flow| flow < self.flows.len());
            self.check(&format!("{at}.reroute.flows"), flows_ok, "must be indices of flows")?;
            let route = &event.reroute.route;
            self.validate_route(&format!("{at}.reroute.route"), route)?;
            for &flow in &event.reroute.flows {
                self.validate_direction(&format!("{at}.reroute.route"), &self.flows[flow], route)?;
            }
        }
        Ok(())
    }

    fn validate_link(&self, at: &str, link: &LinkSpec) -> Result<(), ScenarioError> {
        self.validate_rate(at, link.rate_mbps)?;
        let delay_ok = link.delay_ms.is_none_or(|delay| (0.0..=1e7).contains(&delay));
        self.check(&format!("{at}.delay_ms"), delay_ok, "must be within 0 and 1e7")?;
        self.check(&format!("{at}.loss"), (0.0..=1.0).contains(&link.loss), "must be within 0 and 1")?;
        let offset_ok = (0.0..MAX_SECONDS).contains(&link.offset_s);
        self.check(&format!("{at}.offset_s"), offset_ok, "must be at least 0 and below 3.2e9")?;
        let one = link.delay_ms.is_some() != link.trace.is_some();
        self.check(at, one, "give exactly one of delay_ms and trace")?;
        let rate_given = link.trace.is_some() || link.rate_mbps.is_some();
        self.check(&format!("{at}.rate_mbps"), rate_given, "a link without a trace needs it")?;
        let bucket_ok = link.burst_bytes == 0 || link.trace.is_none();
        self.check(&format!("{at}.burst_bytes"), bucket_ok, "a link with a trace has no token bucket")?;
        self.validate_outage(&format!("{at}.outage"), link)?;
        self.validate_queue(&format!("{at}.queue"), &link.queue)?;
        self.validate_reverse(&format!("{at}.reverse"), link)
    }

    fn validate_outage(&self, at: &str, link: &LinkSpec) -> Result<(), ScenarioError> {
        let holds = link.outage == OutageEffect::Hold;
        self.check(at, holds || link.trace.is_some(), "a link without a trace has no outages")?;
        let mut queues = link.reverse.iter().map(|reverse| &reverse.queue).chain([&link.queue]);
        let shaped = queues.any(|queue| queue.bandwidth_mbps.is_some());
        self.check(at, holds || !shaped, "cake's shaper holds packets back through an outage")
    }

    fn validate_rate(&self, at: &str, rate_mbps: Option<f64>) -> Result<(), ScenarioError> {
        let ok = rate_mbps.is_none_or(|rate| rate > 1e-6 && rate < 1e7);
        self.check(&format!("{at}.rate_mbps"), ok, "must be above 1e-6 and below 1e7")
    }

    fn validate_flow(&self, at: &str, flow: &FlowSpec) -> Result<f64, ScenarioError> {
        self.validate_route(&format!("{at}.route"), &flow.route)?;
        self.validate_direction(&format!("{at}.direction"), flow, &flow.route)?;
        let start_ok = flow.start_s >= 0.0 && flow.start_s < self.duration_s;
        self.check(&format!("{at}.start_s"), start_ok, "must be at least 0 and below duration_s")?;
        let stop_ok = flow.stop_s.is_none_or(|stop| stop > flow.start_s && stop < MAX_SECONDS);
        self.check(&format!("{at}.stop_s"), stop_ok, "must be after start_s and below 3.2e9")?;
        let delay_ok = (0.0..=1e7).contains(&flow.extra_delay_ms);
        self.check(&format!("{at}.extra_delay_ms"), delay_ok, "must be within 0 and 1e7")?;
        self.check(&format!("{at}.count"), flow.count > 0, "must be at least 1")?;
        self.validate_source(at, flow)?;
        self.validate_transfers(at, flow)
    }

    fn validate_source(&self, at: &str, flow: &FlowSpec) -> Result<(), ScenarioError> {
        let udp = flow.scheme == UDP_SCHEME;
        for (name, given) in
            [("transfer_bytes", flow.transfer_bytes.is_some()), ("arrivals", flow.arrivals.is_some())]
        {
            self.check(&format!("{at}.{name}"), !(given && udp), "udp sends until stop_s")?;
            let either = !given || flow.rate_mbps.is_none();
            self.check(&format!("{at}.{name}"), either, "cannot be combined with rate_mbps")?;
        }
        self.validate_buffers(at, flow)?;
        self.validate_resume(&format!("{at}.resume"), flow)?;
        self.check(
            &format!("{at}.ecn"),
            !udp || flow.ecn == EcnSpec::default(),
            "udp does not answer marks",
        )?;
        let rate_ok = flow.rate_mbps.map_or(!udp, |rate| rate > 1e-3 && rate < 1e6);
        let rule =
            if udp { "udp needs one above 1e-3 and below 1e6" } else { "must be above 1e-3 and below 1e6" };
        self.check(&format!("{at}.rate_mbps"), rate_ok, rule)?;
        let Some(on_off) = flow.on_off else { return Ok(()) };
        self.check(&format!("{at}.on_off"), flow.rate_mbps.is_some(), "bursts need rate_mbps")?;
        for (name, value) in [("on_s", on_off.on_s), ("off_s", on_off.off_s)] {
            let ok = (1e-3..=1e6).contains(&value);
            self.check(&format!("{at}.on_off.{name}"), ok, "must be within 1e-3 and 1e6")?;
        }
        Ok(())
    }

    fn validate_buffers(&self, at: &str, flow: &FlowSpec) -> Result<(), ScenarioError> {
        for (name, buffer) in [("tcp_rmem", flow.tcp_rmem), ("tcp_wmem", flow.tcp_wmem)] {
            let Some([min, default, max]) = buffer else { continue };
            let field = format!("{at}.{name}");
            self.check(&field, flow.scheme != UDP_SCHEME, "udp has no such buffer")?;
            let ordered = min > 0 && min <= default && default <= max && max < 1 << 31;
            self.check(&field, ordered, "must rise from 1 to below 2^31: minimum, default, maximum")?;
            self.check(&field, default >= 4_096, "the default must be at least 4096")?;
        }
        let either = flow.tcp_wmem.is_none() || flow.rate_mbps.is_none();
        self.check(
            &format!("{at}.tcp_wmem"),
            either,
            "cannot be combined with rate_mbps: such an application does not wait for space",
        )
    }

    fn validate_route(&self, at: &str, route: &[String]) -> Result<(), ScenarioError> {
        self.check(at, !route.is_empty(), "at least one link is needed")?;
        self.check(at, route.len() <= 200, "at most 200 links")?;
        let Some(missing) = route.iter().find(|link| !self.links.contains_key(*link)) else { return Ok(()) };
        let known = self.links.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let rule = format!("no link is named {missing:?} (there are: {known})");
        Err(ScenarioError::new(&self.name, at, rule))
    }

    pub(crate) fn check(&self, field: &str, holds: bool, rule: &str) -> Result<(), ScenarioError> {
        if holds { Ok(()) } else { Err(ScenarioError::new(&self.name, field, rule)) }
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
        assert_eq!(error, "scenario: links.a.delay_ms: must be within 0 and 1e7");
    }
}
