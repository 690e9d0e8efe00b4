//! The bottleneck hop of the path and its utilisation (LeoTCP, section III-C, "Target Utilisation").

use crate::{Hop, NANOS_PER_S, Nanos};

/// The bottleneck that one packet met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bottleneck {
    /// Utilisation of the most utilised hop; `None` for the first packet on a path.
    pub utilisation: Option<f64>,
    /// The sample's weight in the EWMA.
    pub weight: f64,
    /// Wire bytes per second.
    pub rate: f64,
    pub flows: u32,
    pub average_rtt: Nanos,
    /// Queueing delay of all hops in ns: the sum of rxQlen / bw.
    pub waited: f64,
    /// This is the first packet on its path.
    pub path_changed: bool,
}

/// The sender's RTT for computing utilisation.
#[derive(Clone, Copy, Debug)]
pub enum FlowRtt {
    /// Used until a switch knows its average RTT.
    UntilAverage(Nanos),
    /// Used instead of the switches' average RTTs.
    InsteadOfAverage(Nanos),
}

/// The path's last packet, hop by hop.
#[derive(Clone, Debug, Default)]
pub struct PathMonitor {
    /// Departure and bytes sent of each hop.
    previous: Vec<(Nanos, u64)>,
    /// 0 before the first packet.
    path: u64,
    changed_at: Nanos,
}

impl PathMonitor {
    /// Return the bottleneck; `None` if the packet took an old path or is older than the last one.
    pub fn observe(&mut self, now: Nanos, hops: &[Hop], rtt: FlowRtt, srtt: Nanos) -> Option<Bottleneck> {
        let last = hops.last()?;
        let path = path_id(hops);
        let path_changed = path != self.path;
        if path_changed {
            // "the sender updates its stored pathID, but only once per sRTT interval to avoid reacting to reordering"
            if self.path != 0 && now < self.changed_at.saturating_add(srtt) {
                return None;
            }
            self.path = path;
            self.changed_at = now;
        } else if self.previous.last().is_some_and(|&(departed_at, _)| last.departed_at <= departed_at) {
            // "LeoTCP leverages the timestamp fields embedded in INT headers to ensure that only current per-hop
            // telemetry is used"
            return None;
        }
        if self.previous.len() != hops.len() {
            self.previous.resize(hops.len(), (0, 0));
        }
        let mut worst: Option<Bottleneck> = None;
        let mut waited = 0.0;
        for (hop, previous) in hops.iter().zip(&mut self.previous) {
            let rate = hop.rate.max(1) as f64;
            waited += f64::from(hop.queue_found) / rate * NANOS_PER_S;
            let average_rtt = match rtt {
                FlowRtt::UntilAverage(_) if hop.average_rtt > 0 => hop.average_rtt,
                FlowRtt::UntilAverage(rtt) | FlowRtt::InsteadOfAverage(rtt) => rtt,
            };
            let since = hop.departed_at.saturating_sub(previous.0) as f64;
            let sent = hop.sent_bytes.saturating_sub(previous.1) as f64;
            *previous = (hop.departed_at, hop.sent_bytes);
            let is_measurable = !path_changed && since > 0.0 && average_rtt > 0;
            // Equations 1 and 2
            let utilisation = is_measurable.then(|| {
                let in_queue = f64::from(hop.queue_left) * NANOS_PER_S / (rate * average_rtt as f64);
                in_queue + sent * NANOS_PER_S / since / rate
            });
            let is_worse = worst.is_none_or(|worst| match (utilisation, worst.utilisation) {
                (Some(here), Some(there)) => here > there,
                (None, None) => rate < worst.rate,
                (here, _) => here.is_some(),
            });
            if is_worse {
                // HPCC (Li et al., SIGCOMM 2019), algorithm 1: weigh a sample by the share of an RTT that it covers.
                let weight = if is_measurable { (since / average_rtt as f64).min(1.0) } else { 1.0 };
                let Hop { flows, .. } = *hop;
                worst = Some(Bottleneck {
                    utilisation,
                    weight,
                    rate,
                    flows,
                    average_rtt: hop.average_rtt,
                    waited: 0.0,
                    path_changed,
                });
            }
        }
        worst.map(|worst| Bottleneck { waited, ..worst })
    }
}

/// "XOR of per-hop switch IDs to detect path changes"; never 0.
fn path_id(hops: &[Hop]) -> u64 {
    // Spread the numbers, because XOR confuses small ones: 1 ^ 2 = 3.
    let id = |hop: &Hop| (u64::from(hop.link) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hops.iter().fold(hops.len() as u64, |path, hop| path ^ id(hop)).max(1)
}
