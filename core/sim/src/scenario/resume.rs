//! State that a flow's sender kept of an earlier connection (RFC 9959).

use leo_cc::Saved;
use serde::Deserialize;

use super::{FlowSpec, Scenario, ScenarioError, UDP_SCHEME, nanos};

/// Saved parameters of a path.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResumeSpec {
    /// Packets that the connection sent in an RTT.
    pub cwnd_packets: u32,
    /// Its smallest RTT in ms.
    pub rtt_ms: f64,
}

impl From<ResumeSpec> for Saved {
    fn from(spec: ResumeSpec) -> Self {
        Self { window: spec.cwnd_packets, rtt: nanos(spec.rtt_ms, 1e6) }
    }
}

impl Scenario {
    pub(super) fn validate_resume(&self, at: &str, flow: &FlowSpec) -> Result<(), ScenarioError> {
        let Some(resume) = flow.resume else { return Ok(()) };
        self.check(at, flow.scheme != UDP_SCHEME, "udp has no window")?;
        let window_ok = (1..=1 << 24).contains(&resume.cwnd_packets);
        self.check(&format!("{at}.cwnd_packets"), window_ok, "must be within 1 and 16777216")?;
        let rtt_ok = resume.rtt_ms > 0.0 && resume.rtt_ms <= 1e7;
        self.check(&format!("{at}.rtt_ms"), rtt_ok, "must be above 0 and at most 1e7")
    }
}
