//! The min RTT and when to probe for it (draft-ietf-ccwg-bbr-06 §5.3.4.3).

use crate::{Nanos, SECOND};

/// BBR.MinRTTFilterLen and BBR.ProbeRTTInterval.
const FILTER: Nanos = 10 * SECOND;
const PROBE_INTERVAL: Nanos = 5 * SECOND;

/// A minimum over ten seconds, refreshed at least every five.
#[derive(Clone, Debug, Default)]
pub struct MinRtt {
    /// BBR.min_rtt; `Nanos::MAX` before a sample.
    pub value: Nanos,
    at: Nanos,
    recent: Nanos,
    pub recent_at: Nanos,
}

impl MinRtt {
    /// OnInit: "BBR.min_rtt = C.srtt ? C.srtt : Infinity"
    pub const fn new(now: Nanos, srtt: Nanos) -> Self {
        let value = if srtt > 0 { srtt } else { Nanos::MAX };
        Self { value, at: now, recent: Nanos::MAX, recent_at: now }
    }

    /// UpdateMinRTT; return whether it is time to probe.
    pub fn update(&mut self, now: Nanos, rtt: Option<Nanos>) -> bool {
        let probe = now > self.recent_at + PROBE_INTERVAL;
        if let Some(rtt) = rtt.filter(|&rtt| rtt < self.recent || probe) {
            self.recent = rtt.max(1);
            self.recent_at = now;
        }
        if self.recent < self.value || now > self.at + FILTER {
            self.value = self.recent;
            self.at = self.recent_at;
        }
        probe
    }
}
