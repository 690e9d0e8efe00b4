//! The queue of a link: discipline, size and parameters, with the names of tc(8).

use leo_link::QueueKind;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::scenario::{Scenario, ScenarioError};

/// A queue with at most one size. Unspecified parameters use Linux's defaults; a drop-tail queue has 1 BDP.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueueSpec {
    /// The discipline.
    #[serde(default, deserialize_with = "kind")]
    pub kind: QueueKind,
    /// Size in bandwidth-delay products.
    #[serde(default)]
    pub bdp: Option<f64>,
    /// Size in packets.
    #[serde(default)]
    pub packets: Option<u64>,
    /// Size in bytes.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Target queueing delay in ms.
    #[serde(default)]
    pub target_ms: Option<f64>,
    /// CoDel: how long the delay must exceed the target, in ms.
    #[serde(default)]
    pub interval_ms: Option<f64>,
    /// PIE: update interval of the drop probability, in ms.
    #[serde(default)]
    pub tupdate_ms: Option<f64>,
    /// PIE: weight of the delay's deviation from the target.
    #[serde(default)]
    pub alpha: Option<u32>,
    /// PIE: weight of the delay's change.
    #[serde(default)]
    pub beta: Option<u32>,
    /// DualPI2: weight of the delay's deviation from the target, in Hz.
    #[serde(default)]
    pub alpha_hz: Option<f64>,
    /// DualPI2: weight of the delay's change, in Hz.
    #[serde(default)]
    pub beta_hz: Option<f64>,
    /// DualPI2: marks in the L queue per square root of drops in the C queue.
    #[serde(default)]
    pub coupling: Option<u32>,
    /// DualPI2: the L queue marks packets that waited longer, in ms.
    #[serde(default)]
    pub step_ms: Option<f64>,
    /// DualPI2: the C queue's share of the capacity while both are busy, in percent.
    #[serde(default)]
    pub classic_percent: Option<u32>,
    /// DualPI2: all ECN-capable packets belong into the L queue.
    #[serde(default)]
    pub any_ect: Option<bool>,
    /// DualPI2: drop on overload, not only when full.
    #[serde(default)]
    pub drop_overload: Option<bool>,
    /// Mark packets of ECN flows instead of dropping them.
    #[serde(default)]
    pub ecn: Option<bool>,
    /// Number of flow queues.
    #[serde(default)]
    pub flows: Option<u32>,
    /// Bytes that a flow queue sends per round.
    #[serde(default)]
    pub quantum_bytes: Option<u32>,
    /// Memory of all flow queues, in bytes.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// SFQ: packets per flow queue.
    #[serde(default)]
    pub depth_packets: Option<u64>,
    /// CAKE: shaper rate in Mbit/s.
    #[serde(default)]
    pub bandwidth_mbps: Option<f64>,
    /// CAKE: interval of its queue management, in ms.
    #[serde(default)]
    pub rtt_ms: Option<f64>,
}

/// Return the parameters of a discipline besides its size.
const fn knobs(kind: QueueKind) -> &'static [&'static str] {
    match kind {
        QueueKind::Droptail | QueueKind::HeadDrop | QueueKind::Gateway => &[],
        QueueKind::Sfq => &["flows", "quantum_bytes", "depth_packets"],
        QueueKind::Codel => &["target_ms", "interval_ms", "ecn"],
        QueueKind::FqCodel => &["target_ms", "interval_ms", "ecn", "flows", "quantum_bytes", "memory_bytes"],
        QueueKind::Pie => &["target_ms", "tupdate_ms", "alpha", "beta", "ecn"],
        QueueKind::FqPie => {
            &["target_ms", "tupdate_ms", "alpha", "beta", "ecn", "flows", "quantum_bytes", "memory_bytes"]
        }
        QueueKind::Cake => &["bandwidth_mbps", "rtt_ms", "memory_bytes"],
        QueueKind::DualPi2 => &[
            "target_ms",
            "tupdate_ms",
            "alpha_hz",
            "beta_hz",
            "coupling",
            "step_ms",
            "classic_percent",
            "any_ect",
            "drop_overload",
        ],
    }
}

fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<QueueKind, D::Error> {
    let name = String::deserialize(deserializer)?;
    QueueKind::by_name(&name).ok_or_else(|| {
        let names = QueueKind::ALL.map(|(name, _)| name).join(", ");
        D::Error::custom(format!("queue kind {name:?}: must be one of {names}"))
    })
}

impl QueueSpec {
    /// Iterate over the names of the given parameters.
    fn given(&self) -> impl Iterator<Item = &'static str> {
        [
            ("target_ms", self.target_ms.is_some()),
            ("interval_ms", self.interval_ms.is_some()),
            ("tupdate_ms", self.tupdate_ms.is_some()),
            ("alpha", self.alpha.is_some()),
            ("beta", self.beta.is_some()),
            ("alpha_hz", self.alpha_hz.is_some()),
            ("beta_hz", self.beta_hz.is_some()),
            ("coupling", self.coupling.is_some()),
            ("step_ms", self.step_ms.is_some()),
            ("classic_percent", self.classic_percent.is_some()),
            ("any_ect", self.any_ect.is_some()),
            ("drop_overload", self.drop_overload.is_some()),
            ("ecn", self.ecn.is_some()),
            ("flows", self.flows.is_some()),
            ("quantum_bytes", self.quantum_bytes.is_some()),
            ("memory_bytes", self.memory_bytes.is_some()),
            ("depth_packets", self.depth_packets.is_some()),
            ("bandwidth_mbps", self.bandwidth_mbps.is_some()),
            ("rtt_ms", self.rtt_ms.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, given)| given.then_some(name))
    }
}

impl Scenario {
    pub(super) fn validate_queue(&self, at: &str, queue: &QueueSpec) -> Result<(), ScenarioError> {
        let sizes = [queue.bdp.is_some(), queue.packets.is_some(), queue.bytes.is_some()];
        let one_size = sizes.iter().filter(|&&given| given).count() <= 1;
        self.check(at, one_size, "give one of bdp, packets and bytes")?;
        let bdp_ok = queue.bdp.is_none_or(|bdp| bdp > 0.0 && bdp < 1e6);
        self.check(&format!("{at}.bdp"), bdp_ok, "must be above 0 and below 1e6")?;
        self.check(&format!("{at}.packets"), queue.packets != Some(0), "must be at least 1")?;
        let holds_packet = |bytes: Option<u64>| bytes.is_none_or(|bytes| bytes >= 1500);
        let rule = "must hold a packet of 1500 bytes";
        self.check(&format!("{at}.bytes"), holds_packet(queue.bytes), rule)?;
        self.check(&format!("{at}.memory_bytes"), holds_packet(queue.memory_bytes), rule)?;
        for name in queue.given() {
            let rule = format!("{} has no such parameter", queue.kind.name());
            self.check(&format!("{at}.{name}"), knobs(queue.kind).contains(&name), &rule)?;
        }
        let times = [
            ("target_ms", queue.target_ms),
            ("interval_ms", queue.interval_ms),
            ("tupdate_ms", queue.tupdate_ms),
            ("rtt_ms", queue.rtt_ms),
            ("step_ms", queue.step_ms),
        ];
        for (name, value) in times {
            let ok = value.is_none_or(|value| (0.001..=1e6).contains(&value));
            self.check(&format!("{at}.{name}"), ok, "must be within 0.001 and 1e6")?;
        }
        let weight_ok = |value: Option<u32>| value.is_none_or(|value| value <= 32);
        self.check(&format!("{at}.alpha"), weight_ok(queue.alpha), "must be at most 32")?;
        self.check(&format!("{at}.beta"), weight_ok(queue.beta), "must be at most 32")?;
        let gain_ok = |value: Option<f64>| value.is_none_or(|value| value > 0.0 && value <= 1e3);
        self.check(&format!("{at}.alpha_hz"), gain_ok(queue.alpha_hz), "must be above 0 and at most 1000")?;
        self.check(&format!("{at}.beta_hz"), gain_ok(queue.beta_hz), "must be above 0 and at most 1000")?;
        let coupling_ok = queue.coupling.is_none_or(|factor| (1..=255).contains(&factor));
        self.check(&format!("{at}.coupling"), coupling_ok, "must be within 1 and 255")?;
        let percent_ok = queue.classic_percent.is_none_or(|percent| percent <= 100);
        self.check(&format!("{at}.classic_percent"), percent_ok, "must be at most 100")?;
        let flows_ok = queue.flows.is_none_or(|flows| (1..=65_536).contains(&flows));
        self.check(&format!("{at}.flows"), flows_ok, "must be within 1 and 65536")?;
        let quantum_ok = queue.quantum_bytes.is_none_or(|bytes| (64..=1 << 20).contains(&bytes));
        self.check(&format!("{at}.quantum_bytes"), quantum_ok, "must be within 64 and 1048576")?;
        self.check(&format!("{at}.depth_packets"), queue.depth_packets != Some(0), "must be at least 1")?;
        let bandwidth_ok = queue.bandwidth_mbps.is_none_or(|rate| rate > 1e-3 && rate < 1e7);
        self.check(&format!("{at}.bandwidth_mbps"), bandwidth_ok, "must be above 1e-3 and below 1e7")
    }
}
