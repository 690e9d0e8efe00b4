//! A constellation as JSON, which Python passes in: nodes, links by kind, flows from station to station.

use serde::Deserialize;

use super::part::{Broken, Part, check, within};
use super::{FlowSpec, MOST_FLOWS, QueueSpec, ScenarioError, part};
use crate::oracle::ORACLE_SCHEME;

/// What happens to packets that wait or travel on a link when it vanishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VanishedLinks {
    /// They still arrive, as in Hypatia.
    Deliver,
    /// They are lost.
    Lose,
}

/// Capacity, loss and queue of all links of a kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransmitterSpec {
    /// Capacity in Mbit/s; none: uncongested.
    pub rate_mbps: Option<f64>,
    /// Independent random loss per packet.
    #[serde(default)]
    pub loss: f64,
    /// The queue in front of it.
    #[serde(default)]
    pub queue: QueueSpec,
}

/// Routes that avoid loaded links.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByLoadSpec {
    /// Time between two measurements of the load.
    pub period_ms: f64,
    /// Cost of a full link over that of an idle one.
    pub most: f64,
}

/// Nodes, links and flows of a constellation. The topology over time comes apart.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConstellationSpec {
    /// Name in messages.
    pub name: String,
    /// Length of the run.
    pub duration_s: f64,
    /// Seed of every random draw.
    pub seed: u64,
    /// Each packet that a station sends is delayed by up to this much.
    pub host_jitter_us: f64,
    /// Whether TCP flows start with a handshake.
    pub handshake: bool,
    /// Bytes of the sender's telemetry header.
    pub telemetry_header_bytes: u32,
    /// Bytes of each link's telemetry record.
    pub telemetry_hop_bytes: u32,
    /// Number of satellites.
    pub satellites: u32,
    /// Names of the stations.
    pub stations: Vec<String>,
    /// Pairs of satellites that a laser can join.
    pub lasers: Vec<[u32; 2]>,
    /// Each direction of a laser.
    pub laser: TransmitterSpec,
    /// Each station's transmitter, or each of its links.
    pub uplink: TransmitterSpec,
    /// Each satellite's transmitter to the ground, or each of its links.
    pub downlink: TransmitterSpec,
    /// Whether a node has one transmitter for all its ground links.
    pub shared_ground: bool,
    /// What happens to packets on a link that vanishes.
    pub vanished_links: VanishedLinks,
    /// Link-disjoint paths of each pair of stations.
    #[serde(default = "single_path")]
    pub paths: u32,
    /// Costs of links by their load; none: their length.
    pub by_load: Option<ByLoadSpec>,
    /// The path of each entry of `flows`; none: by hash.
    #[serde(default)]
    pub flow_paths: Vec<Option<u32>>,
    /// Flows; the route names the sender's and the receiver's station.
    pub flows: Vec<FlowSpec>,
}

const fn single_path() -> u32 {
    1
}

impl ConstellationSpec {
    /// Parse and check JSON.
    ///
    /// # Errors
    /// Invalid JSON, an unknown key, a value out of range, or a flow from or to an unknown station.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        let spec: Self = part::parse(text).map_err(|broken| broken.of("network"))?;
        spec.validate().map_err(|broken| broken.of(&spec.name))?;
        Ok(spec)
    }
}

impl Part for TransmitterSpec {
    fn validate(&self) -> Result<(), Broken> {
        let range = self.rate_mbps.is_none_or(|rate| rate > 1e-6 && rate < 1e7);
        check("rate_mbps", range, "must be a number above 1e-6 and below 10,000,000")?;
        check("loss", (0.0..=1.0).contains(&self.loss), "must be a number from 0 to 1")?;
        check("queue.bdp", self.queue.bdp.is_none(), "routes change, so give packets or bytes")?;
        within("queue", self.queue.validate())
    }
}

impl Part for ConstellationSpec {
    fn validate(&self) -> Result<(), Broken> {
        let duration = self.duration_s > 0.0 && self.duration_s < 3.2e9;
        check("duration_s", duration, "must be a number above 0 and below 3,200,000,000")?;
        let jitter = (0.0..=1e6).contains(&self.host_jitter_us);
        check("host_jitter_us", jitter, "must be a number from 0 to 1,000,000")?;
        let nodes = self.stations.len() as u64 + u64::from(self.satellites);
        check("satellites", (1..=1_000_000).contains(&self.satellites), "must be from 1 to 1,000,000")?;
        check("stations", nodes < 2_000_000, "there may be at most 1,000,000")?;
        let ends = self.lasers.iter().all(|[a, b]| a != b && *a < self.satellites && *b < self.satellites);
        check("lasers", ends, "must join two of the satellites")?;
        for (name, transmitter) in
            [("laser", &self.laser), ("uplink", &self.uplink), ("downlink", &self.downlink)]
        {
            within(name, transmitter.validate())?;
            let queue = transmitter.queue.kind == leo_link::QueueKind::Droptail;
            let rule = "a transmitter that links share has a droptail queue";
            check(&format!("{name}.queue.kind"), queue || name == "laser" || !self.shared_ground, rule)?;
        }
        check("paths", (1..=100).contains(&self.paths), "must be from 1 to 100")?;
        if let Some(by_load) = self.by_load {
            let period = (1.0..=3.6e6).contains(&by_load.period_ms);
            check("by_load.period_ms", period, "must be a number from 1 to 3,600,000")?;
            let most = (1.0..=1e3).contains(&by_load.most);
            check("by_load.most", most, "must be a number from 1 to 1,000")?;
        }
        let known = self.flow_paths.iter().flatten().all(|&path| path < self.paths);
        check("flow_paths", known, "a flow's path must be less than paths")?;
        let flows: f64 = self.flows.iter().map(|flow| flow.expected(self.duration_s)).sum();
        check("flows", flows <= 1e6, "stand for more than 1,000,000 flows")?;
        check("flows", self.flows.len() as u64 <= 10 * MOST_FLOWS, "there may be at most 1,000,000 entries")?;
        for (index, flow) in self.flows.iter().enumerate() {
            within(&format!("flows.{index}"), self.check_flow(flow))?;
        }
        Ok(())
    }
}

impl ConstellationSpec {
    fn check_flow(&self, flow: &FlowSpec) -> Result<(), Broken> {
        flow.validate()?;
        let [from, to] = &flow.route[..] else {
            return Err(Broken::new("route", "must name two stations, the sender's and the receiver's"));
        };
        check("route", from != to, "must lead to another station")?;
        check("start_s", flow.start_s < self.duration_s, "must be before duration_s")?;
        check("stop_s", flow.stop_s.is_none_or(|stop| stop > flow.start_s), "must be after start_s")?;
        let knows_path = flow.scheme == ORACLE_SCHEME || leo_cc::announced_to(&flow.scheme).is_some();
        check("scheme", !knows_path, "a network announces no handovers to schemes, and has no oracle")?;
        check("workload", flow.workload.is_none(), "a network has no workloads")?;
        check("extra_delay_ms", flow.extra_delay_ms == 0.0, "the stations' places set the delays")
    }
}
