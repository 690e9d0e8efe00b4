//! The fields of a scenario, written by `python -m configs.reference` from `configs/scenario.py`.

use std::collections::BTreeMap;

use leo_link::QueueKind;
use serde::Deserialize;

use super::ecn::EcnSpec;
use super::part::{Broken, Part, check, read, within};

pub const MOST_FLOWS: u64 = 100_000;
pub const MOST_TRANSFER_BYTES: u64 = 1_000_000_000_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)] #[serde(rename_all = "snake_case")]
pub enum OutageEffect { #[default] Hold, Drop }

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)] #[serde(rename_all = "snake_case")]
pub enum FlowDirection { #[default] Forward, Backward }

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)] #[serde(rename_all = "snake_case")]
pub enum Distribution { Constant, #[default] Exponential }

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)] #[serde(rename_all = "snake_case")]
pub enum SizeDistribution { Constant, #[default] Exponential, Pareto }

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)] #[serde(rename_all = "snake_case")]
pub enum AdaptationRule { #[default] Bba, Bola, Rate, Mpc, RobustMpc }

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)] #[serde(rename_all = "snake_case")]
pub enum HttpVersion { #[default] Http1, Http2 }

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)] #[serde(rename_all = "snake_case")]
pub enum EcnSupport { None, Classic, Accurate }

#[derive(Clone, Debug, PartialEq, Deserialize)] #[serde(deny_unknown_fields)]
pub struct Scenario {
    #[serde(default = "Scenario::default_name")] pub name: String,
    pub duration_s: f64,
    #[serde(default = "Scenario::default_seed")] pub seed: u64,
    #[serde(default = "Scenario::default_host_jitter_us")] pub host_jitter_us: f64,
    #[serde(default)] pub handshake: bool,
    #[serde(default)] pub telemetry_header_bytes: u32,
    #[serde(default)] pub telemetry_hop_bytes: u32,
    pub links: BTreeMap<String, LinkSpec>,
    pub flows: Vec<FlowSpec>,
    #[serde(default)] pub events: Vec<EventSpec>,
}
impl Scenario {
    fn default_name() -> String { "scenario".to_owned() }
    fn default_seed() -> u64 { 1 }
    fn default_host_jitter_us() -> f64 { 20.0 }
}
impl Part for Scenario { fn validate(&self) -> Result<(), Broken> {
    check("duration_s", self.duration_s > 0.0 && self.duration_s < 3_200_000_000.0, "must be a number above 0 and below 3,200,000,000")?;
    check("host_jitter_us", (0.0..=1_000_000.0).contains(&self.host_jitter_us), "must be a number from 0 to 1,000,000")?;
    check("telemetry_header_bytes", self.telemetry_header_bytes <= 256, "must be a whole number from 0 to 256")?;
    check("telemetry_hop_bytes", self.telemetry_hop_bytes <= 256, "must be a whole number from 0 to 256")?;
    check("links", !self.links.is_empty(), "its length must be at least 1")?;
    self.links.iter().try_for_each(|(key, part)| within(&format!("links.{key}"), part.validate()))?;
    check("flows", !self.flows.is_empty(), "its length must be at least 1")?;
    self.flows.iter().enumerate().try_for_each(|(key, part)| within(&format!("flows.{key}"), part.validate()))?;
    check("events", self.events.len() <= 60_000, "its length must be at most 60,000")?;
    self.events.iter().enumerate().try_for_each(|(key, part)| within(&format!("events.{key}"), part.validate()))?;
    self.rules()
}}

#[derive(Clone, Debug, PartialEq, Deserialize, Default)] #[serde(deny_unknown_fields)]
pub struct LinkSpec {
    pub rate_mbps: Option<f64>,
    pub delay_ms: Option<f64>,
    pub trace: Option<String>,
    #[serde(default)] pub offset_s: f64,
    #[serde(default)] pub loss: f64,
    #[serde(default)] pub burst_bytes: u32,
    #[serde(default)] pub outage: OutageEffect,
    #[serde(default)] pub queue: QueueSpec,
    pub reverse: Option<ReverseSpec>,
}
impl Part for LinkSpec { fn validate(&self) -> Result<(), Broken> {
    check("rate_mbps", self.rate_mbps.is_none_or(|n| n > 1e-06 && n < 10_000_000.0), "must be a number above 1e-6 and below 10,000,000")?;
    check("delay_ms", self.delay_ms.is_none_or(|n| (0.0..=10_000_000.0).contains(&n)), "must be a number from 0 to 10,000,000")?;
    check("offset_s", (0.0..3_200_000_000.0).contains(&self.offset_s), "must be a number at least 0 and below 3,200,000,000")?;
    check("loss", (0.0..=1.0).contains(&self.loss), "must be a number from 0 to 1")?;
    within("queue", self.queue.validate())?;
    self.reverse.iter().try_for_each(|part| within("reverse", part.validate()))?;
    self.rules()
}}

#[derive(Clone, Debug, PartialEq, Deserialize, Copy, Default)] #[serde(deny_unknown_fields)]
pub struct QueueSpec {
    #[serde(default)] pub kind: QueueKind,
    pub bdp: Option<f64>,
    pub packets: Option<u64>,
    pub bytes: Option<u64>,
    pub target_ms: Option<f64>,
    pub interval_ms: Option<f64>,
    pub tupdate_ms: Option<f64>,
    pub alpha: Option<u32>,
    pub beta: Option<u32>,
    pub alpha_hz: Option<f64>,
    pub beta_hz: Option<f64>,
    pub coupling: Option<u32>,
    pub step_ms: Option<f64>,
    pub classic_percent: Option<u32>,
    pub any_ect: Option<bool>,
    pub drop_overload: Option<bool>,
    pub ecn: Option<bool>,
    pub flows: Option<u32>,
    pub quantum_bytes: Option<u32>,
    pub memory_bytes: Option<u64>,
    pub depth_packets: Option<u64>,
    pub bandwidth_mbps: Option<f64>,
    pub rtt_ms: Option<f64>,
}
impl Part for QueueSpec { fn validate(&self) -> Result<(), Broken> {
    check("bdp", self.bdp.is_none_or(|n| n > 0.0 && n < 1_000_000.0), "must be a number above 0 and below 1,000,000")?;
    check("packets", self.packets.is_none_or(|n| n >= 1), "must be a whole number at least 1 and below 2^64")?;
    check("bytes", self.bytes.is_none_or(|n| n >= 1_500), "must be a whole number at least 1,500 and below 2^64")?;
    check("target_ms", self.target_ms.is_none_or(|n| (0.001..=1_000_000.0).contains(&n)), "must be a number from 0.001 to 1,000,000")?;
    check("interval_ms", self.interval_ms.is_none_or(|n| (0.001..=1_000_000.0).contains(&n)), "must be a number from 0.001 to 1,000,000")?;
    check("tupdate_ms", self.tupdate_ms.is_none_or(|n| (0.001..=1_000_000.0).contains(&n)), "must be a number from 0.001 to 1,000,000")?;
    check("alpha", self.alpha.is_none_or(|n| n <= 32), "must be a whole number from 0 to 32")?;
    check("beta", self.beta.is_none_or(|n| n <= 32), "must be a whole number from 0 to 32")?;
    check("alpha_hz", self.alpha_hz.is_none_or(|n| n > 0.0 && n <= 1_000.0), "must be a number above 0 and at most 1,000")?;
    check("beta_hz", self.beta_hz.is_none_or(|n| n > 0.0 && n <= 1_000.0), "must be a number above 0 and at most 1,000")?;
    check("coupling", self.coupling.is_none_or(|n| (1..=255).contains(&n)), "must be a whole number from 1 to 255")?;
    check("step_ms", self.step_ms.is_none_or(|n| (0.001..=1_000_000.0).contains(&n)), "must be a number from 0.001 to 1,000,000")?;
    check("classic_percent", self.classic_percent.is_none_or(|n| n <= 100), "must be a whole number from 0 to 100")?;
    check("flows", self.flows.is_none_or(|n| (1..=65_536).contains(&n)), "must be a whole number from 1 to 65,536")?;
    check("quantum_bytes", self.quantum_bytes.is_none_or(|n| (64..=1_048_576).contains(&n)), "must be a whole number from 64 to 1,048,576")?;
    check("memory_bytes", self.memory_bytes.is_none_or(|n| n >= 1_500), "must be a whole number at least 1,500 and below 2^64")?;
    check("depth_packets", self.depth_packets.is_none_or(|n| n >= 1), "must be a whole number at least 1 and below 2^64")?;
    check("bandwidth_mbps", self.bandwidth_mbps.is_none_or(|n| n > 0.001 && n < 10_000_000.0), "must be a number above 0.001 and below 10,000,000")?;
    check("rtt_ms", self.rtt_ms.is_none_or(|n| (0.001..=1_000_000.0).contains(&n)), "must be a number from 0.001 to 1,000,000")?;
    self.check_knob("target_ms", self.target_ms.is_none() || matches!(self.kind, QueueKind::Codel | QueueKind::FqCodel | QueueKind::Pie | QueueKind::FqPie | QueueKind::DualPi2))?;
    self.check_knob("interval_ms", self.interval_ms.is_none() || matches!(self.kind, QueueKind::Codel | QueueKind::FqCodel))?;
    self.check_knob("tupdate_ms", self.tupdate_ms.is_none() || matches!(self.kind, QueueKind::Pie | QueueKind::FqPie | QueueKind::DualPi2))?;
    self.check_knob("alpha", self.alpha.is_none() || matches!(self.kind, QueueKind::Pie | QueueKind::FqPie))?;
    self.check_knob("beta", self.beta.is_none() || matches!(self.kind, QueueKind::Pie | QueueKind::FqPie))?;
    self.check_knob("alpha_hz", self.alpha_hz.is_none() || matches!(self.kind, QueueKind::DualPi2))?;
    self.check_knob("beta_hz", self.beta_hz.is_none() || matches!(self.kind, QueueKind::DualPi2))?;
    self.check_knob("coupling", self.coupling.is_none() || matches!(self.kind, QueueKind::DualPi2))?;
    self.check_knob("step_ms", self.step_ms.is_none() || matches!(self.kind, QueueKind::DualPi2))?;
    self.check_knob("classic_percent", self.classic_percent.is_none() || matches!(self.kind, QueueKind::DualPi2))?;
    self.check_knob("any_ect", self.any_ect.is_none() || matches!(self.kind, QueueKind::DualPi2))?;
    self.check_knob("drop_overload", self.drop_overload.is_none() || matches!(self.kind, QueueKind::DualPi2))?;
    self.check_knob("ecn", self.ecn.is_none() || matches!(self.kind, QueueKind::Codel | QueueKind::FqCodel | QueueKind::Pie | QueueKind::FqPie))?;
    self.check_knob("flows", self.flows.is_none() || matches!(self.kind, QueueKind::Sfq | QueueKind::FqCodel | QueueKind::FqPie))?;
    self.check_knob("quantum_bytes", self.quantum_bytes.is_none() || matches!(self.kind, QueueKind::Sfq | QueueKind::FqCodel | QueueKind::FqPie))?;
    self.check_knob("memory_bytes", self.memory_bytes.is_none() || matches!(self.kind, QueueKind::FqCodel | QueueKind::FqPie | QueueKind::Cake))?;
    self.check_knob("depth_packets", self.depth_packets.is_none() || matches!(self.kind, QueueKind::Sfq))?;
    self.check_knob("bandwidth_mbps", self.bandwidth_mbps.is_none() || matches!(self.kind, QueueKind::Cake))?;
    self.check_knob("rtt_ms", self.rtt_ms.is_none() || matches!(self.kind, QueueKind::Cake))?;
    self.rules()
}}

#[derive(Clone, Debug, PartialEq, Deserialize, Default)] #[serde(deny_unknown_fields)]
pub struct ReverseSpec {
    pub rate_mbps: Option<f64>,
    #[serde(default)] pub loss: f64,
    #[serde(default)] pub queue: QueueSpec,
}
impl Part for ReverseSpec { fn validate(&self) -> Result<(), Broken> {
    check("rate_mbps", self.rate_mbps.is_none_or(|n| n > 1e-06 && n < 10_000_000.0), "must be a number above 1e-6 and below 10,000,000")?;
    check("loss", (0.0..=1.0).contains(&self.loss), "must be a number from 0 to 1")?;
    within("queue", self.queue.validate())?;
    Ok(())
}}

#[derive(Clone, Debug, PartialEq, Deserialize)] #[serde(deny_unknown_fields)]
pub struct FlowSpec {
    pub scheme: String,
    #[serde(default)] pub start_s: f64,
    pub stop_s: Option<f64>,
    pub route: Vec<String>,
    #[serde(default)] pub direction: FlowDirection,
    #[serde(default)] pub extra_delay_ms: f64,
    #[serde(default = "FlowSpec::default_count")] pub count: u32,
    #[serde(default)] pub ecn: EcnSpec,
    pub tcp_rmem: Option<[u32; 3]>,
    pub tcp_wmem: Option<[u32; 3]>,
    pub transfer_bytes: Option<u64>,
    pub arrivals: Option<ArrivalsSpec>,
    pub rate_mbps: Option<f64>,
    pub on_off: Option<OnOffSpec>,
    pub resume: Option<ResumeSpec>,
    pub workload: Option<WorkloadSpec>,
}
impl FlowSpec {
    fn default_count() -> u32 { 1 }
}
impl Part for FlowSpec { fn validate(&self) -> Result<(), Broken> {
    check("start_s", (0.0..3_200_000_000.0).contains(&self.start_s), "must be a number at least 0 and below 3,200,000,000")?;
    check("stop_s", self.stop_s.is_none_or(|n| n > 0.0 && n < 3_200_000_000.0), "must be a number above 0 and below 3,200,000,000")?;
    check("route", (1..=200).contains(&self.route.len()), "its length must be from 1 to 200")?;
    check("extra_delay_ms", (0.0..=10_000_000.0).contains(&self.extra_delay_ms), "must be a number from 0 to 10,000,000")?;
    check("count", (1..=100_000).contains(&self.count), "must be a whole number from 1 to 100,000")?;
    check("tcp_rmem", self.tcp_rmem.is_none_or(|all| all.iter().all(|&n| (1..2_147_483_648).contains(&n))), "must be whole numbers at least 1 and below 2^31")?;
    check("tcp_wmem", self.tcp_wmem.is_none_or(|all| all.iter().all(|&n| (1..2_147_483_648).contains(&n))), "must be whole numbers at least 1 and below 2^31")?;
    check("transfer_bytes", self.transfer_bytes.is_none_or(|n| (1..=1_000_000_000_000_000).contains(&n)), "must be a whole number from 1 to 1,000,000,000,000,000")?;
    self.arrivals.iter().try_for_each(|part| within("arrivals", part.validate()))?;
    check("rate_mbps", self.rate_mbps.is_none_or(|n| n > 0.001 && n < 1_000_000.0), "must be a number above 0.001 and below 1,000,000")?;
    self.on_off.iter().try_for_each(|part| within("on_off", part.validate()))?;
    self.resume.iter().try_for_each(|part| within("resume", part.validate()))?;
    self.workload.iter().try_for_each(|part| within("workload", part.validate()))?;
    self.rules()
}}

#[derive(Clone, Debug, PartialEq, Deserialize, Copy)] #[serde(deny_unknown_fields)]
pub struct EcnEndsSpec {
    pub sender: EcnSupport,
    pub receiver: EcnSupport,
}
impl Part for EcnEndsSpec { fn validate(&self) -> Result<(), Broken> {
    Ok(())
}}

#[derive(Clone, Debug, PartialEq, Deserialize, Copy)] #[serde(deny_unknown_fields)]
pub struct ArrivalsSpec {
    pub rate_per_s: f64,
    pub mean_bytes: u64,
    #[serde(default)] pub distribution: SizeDistribution,
    pub shape: Option<f64>,
}
impl Part for ArrivalsSpec { fn validate(&self) -> Result<(), Broken> {
    check("rate_per_s", (1e-06..=1_000_000.0).contains(&self.rate_per_s), "must be a number from 1e-6 to 1,000,000")?;
    check("mean_bytes", (1..=1_000_000_000_000_000).contains(&self.mean_bytes), "must be a whole number from 1 to 1,000,000,000,000,000")?;
    check("shape", self.shape.is_none_or(|n| (1.01..=100.0).contains(&n)), "must be a number from 1.01 to 100")?;
    self.rules()
}}

#[derive(Clone, Debug, PartialEq, Deserialize, Copy)] #[serde(deny_unknown_fields)]
pub struct OnOffSpec {
    pub on_s: f64,
    pub off_s: f64,
    #[serde(default)] pub distribution: Distribution,
}
impl Part for OnOffSpec { fn validate(&self) -> Result<(), Broken> {
    check("on_s", (0.001..=1_000_000.0).contains(&self.on_s), "must be a number from 0.001 to 1,000,000")?;
    check("off_s", (0.001..=1_000_000.0).contains(&self.off_s), "must be a number from 0.001 to 1,000,000")?;
    Ok(())
}}

#[derive(Clone, Debug, PartialEq, Deserialize, Copy)] #[serde(deny_unknown_fields)]
pub struct ResumeSpec {
    pub cwnd_packets: u32,
    pub rtt_ms: f64,
}
impl Part for ResumeSpec { fn validate(&self) -> Result<(), Broken> {
    check("cwnd_packets", (1..=16_777_216).contains(&self.cwnd_packets), "must be a whole number from 1 to 16,777,216")?;
    check("rtt_ms", self.rtt_ms > 0.0 && self.rtt_ms <= 10_000_000.0, "must be a number above 0 and at most 10,000,000")?;
    Ok(())
}}

#[derive(Clone, Debug, PartialEq, Deserialize, Default)] #[serde(deny_unknown_fields)]
pub struct WorkloadSpec {
    pub video: Option<VideoSpec>,
    pub page: Option<PageSpec>,
    pub call: Option<CallSpec>,
}
impl Part for WorkloadSpec { fn validate(&self) -> Result<(), Broken> {
    self.video.iter().try_for_each(|part| within("video", part.validate()))?;
    self.page.iter().try_for_each(|part| within("page", part.validate()))?;
    self.call.iter().try_for_each(|part| within("call", part.validate()))?;
    self.rules()
}}

#[derive(Clone, Debug, PartialEq, Deserialize, Default)] #[serde(deny_unknown_fields)]
pub struct VideoSpec {
    #[serde(default)] pub adaptation: AdaptationRule,
    pub bitrates_kbps: Option<Vec<f64>>,
    #[serde(default = "VideoSpec::default_chunk_s")] pub chunk_s: f64,
    #[serde(default = "VideoSpec::default_buffer_s")] pub buffer_s: f64,
    #[serde(default = "VideoSpec::default_reservoir_s")] pub reservoir_s: f64,
    #[serde(default = "VideoSpec::default_cushion_s")] pub cushion_s: f64,
}
impl VideoSpec {
    fn default_chunk_s() -> f64 { 4.0 }
    fn default_buffer_s() -> f64 { 30.0 }
    fn default_reservoir_s() -> f64 { 5.0 }
    fn default_cushion_s() -> f64 { 10.0 }
}
impl Part for VideoSpec { fn validate(&self) -> Result<(), Broken> {
    check("chunk_s", (0.1..=60.0).contains(&self.chunk_s), "must be a number from 0.1 to 60")?;
    check("buffer_s", (0.1..=3_600.0).contains(&self.buffer_s), "must be a number from 0.1 to 3,600")?;
    check("reservoir_s", (0.0..=3_600.0).contains(&self.reservoir_s), "must be a number from 0 to 3,600")?;
    check("cushion_s", (0.1..=3_600.0).contains(&self.cushion_s), "must be a number from 0.1 to 3,600")?;
    self.rules()
}}

#[derive(Clone, Debug, PartialEq, Deserialize, Default)] #[serde(deny_unknown_fields)]
pub struct PageSpec {
    #[serde(default)] pub http: HttpVersion,
    pub graph: Option<String>,
    #[serde(default)] pub objects: Vec<PageObjectSpec>,
}
impl Part for PageSpec { fn validate(&self) -> Result<(), Broken> {
    check("objects", self.objects.len() <= 10_000, "its length must be at most 10,000")?;
    self.objects.iter().enumerate().try_for_each(|(key, part)| within(&format!("objects.{key}"), part.validate()))?;
    self.rules()
}}

#[derive(Clone, Debug, PartialEq, Deserialize)] #[serde(deny_unknown_fields)]
pub struct PageObjectSpec {
    pub bytes: u32,
    #[serde(default)] pub after: Vec<usize>,
    #[serde(default)] pub client_ms: f64,
    #[serde(default)] pub server_ms: f64,
}
impl Part for PageObjectSpec { fn validate(&self) -> Result<(), Broken> {
    check("bytes", (1..=1_000_000_000).contains(&self.bytes), "must be a whole number from 1 to 1,000,000,000")?;
    check("client_ms", (0.0..=1_000_000.0).contains(&self.client_ms), "must be a number from 0 to 1,000,000")?;
    check("server_ms", (0.0..=1_000_000.0).contains(&self.server_ms), "must be a number from 0 to 1,000,000")?;
    Ok(())
}}

#[derive(Clone, Debug, PartialEq, Deserialize, Copy, Default)] #[serde(deny_unknown_fields)]
pub struct CallSpec {
    #[serde(default = "CallSpec::default_frames_per_s")] pub frames_per_s: u32,
    #[serde(default = "CallSpec::default_start_mbps")] pub start_mbps: f64,
    #[serde(default = "CallSpec::default_min_mbps")] pub min_mbps: f64,
    #[serde(default = "CallSpec::default_max_mbps")] pub max_mbps: f64,
}
impl CallSpec {
    fn default_frames_per_s() -> u32 { 30 }
    fn default_start_mbps() -> f64 { 0.3 }
    fn default_min_mbps() -> f64 { 0.03 }
    fn default_max_mbps() -> f64 { 2.5 }
}
impl Part for CallSpec { fn validate(&self) -> Result<(), Broken> {
    check("frames_per_s", (1..=240).contains(&self.frames_per_s), "must be a whole number from 1 to 240")?;
    check("start_mbps", (0.01..=1_000.0).contains(&self.start_mbps), "must be a number from 0.01 to 1,000")?;
    check("min_mbps", (0.01..=1_000.0).contains(&self.min_mbps), "must be a number from 0.01 to 1,000")?;
    check("max_mbps", (0.01..=1_000.0).contains(&self.max_mbps), "must be a number from 0.01 to 1,000")?;
    self.rules()
}}

#[derive(Clone, Debug, PartialEq, Deserialize)] #[serde(deny_unknown_fields)]
pub struct EventSpec {
    pub at_s: f64,
    pub reroute: RerouteSpec,
}
impl Part for EventSpec { fn validate(&self) -> Result<(), Broken> {
    check("at_s", (0.0..3_200_000_000.0).contains(&self.at_s), "must be a number at least 0 and below 3,200,000,000")?;
    within("reroute", self.reroute.validate())?;
    Ok(())
}}

#[derive(Clone, Debug, PartialEq, Deserialize)] #[serde(deny_unknown_fields)]
pub struct RerouteSpec {
    pub flows: Vec<usize>,
    pub route: Vec<String>,
}
impl Part for RerouteSpec { fn validate(&self) -> Result<(), Broken> {
    check("flows", !self.flows.is_empty(), "its length must be at least 1")?;
    check("route", (1..=200).contains(&self.route.len()), "its length must be from 1 to 200")?;
    Ok(())
}}

/// Parse and check the JSON of a part that has rules between its fields.
pub fn check_part(part: &str, json: &str) -> Result<(), Broken> {
    match part {
        "Scenario" => read::<Scenario>(json),
        "Link" => read::<LinkSpec>(json),
        "Queue" => read::<QueueSpec>(json),
        "Flow" => read::<FlowSpec>(json),
        "Arrivals" => read::<ArrivalsSpec>(json),
        "Workload" => read::<WorkloadSpec>(json),
        "Video" => read::<VideoSpec>(json),
        "Page" => read::<PageSpec>(json),
        "Call" => read::<CallSpec>(json),
        _ => Err(Broken::new("", format!("{part} has no rules"))),
    }
}
