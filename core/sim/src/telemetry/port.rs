//! The measurements of a switch port: number of flows and mean RTT (LeoTCP, section III-B).

use leo_cc::Header;
use leo_link::Nanos;

/// Interval before an RTT is known, from the authors' model.
const FIRST_INTERVAL: Nanos = 10_000_000;

/// A port, which measures over intervals of one mean RTT.
#[derive(Clone, Debug)]
pub struct Port {
    interval_ends: Nanos,
    interval: u32,
    /// Sums of rtt / window and rtt² / window over the interval's packets, in ns.
    sum: f64,
    sum_squared: f64,
    /// Flows in this interval.
    counted: u32,
    /// Last interval of each flow.
    last_interval: Box<[u32]>,
    /// Results of the previous interval, which packets collect.
    flows: u32,
    average_rtt: Nanos,
}

impl Port {
    /// Create a port for a simulation of `flows` flows.
    pub fn new(flows: usize) -> Self {
        Self {
            interval_ends: 0,
            interval: 0,
            sum: 0.0,
            sum_squared: 0.0,
            counted: 0,
            last_interval: vec![0; flows].into(),
            flows: 0,
            average_rtt: 0,
        }
    }

    /// Count a packet of `flow` and return the number of active flows and their mean RTT.
    pub fn observe(&mut self, now: Nanos, flow: u32, header: Header) -> (u32, Nanos) {
        if now >= self.interval_ends {
            self.publish(now);
        }
        if header.base_rtt > 0 {
            // A flow sends window / rtt packets per second, so rtt / window adds up to the same sum for each.
            let share = header.base_rtt as f64 / f64::from(header.window.max(1));
            self.sum += share;
            self.sum_squared += share * header.base_rtt as f64;
        }
        let last_interval = &mut self.last_interval[flow as usize];
        if *last_interval != self.interval {
            *last_interval = self.interval;
            self.counted += 1;
        }
        (self.flows, self.average_rtt)
    }

    /// "a timer set to the most recently observed average RTT triggers periodic updates of flowCnt and avgRTT"
    fn publish(&mut self, now: Nanos) {
        if self.sum > 0.0 {
            self.average_rtt = (self.sum_squared / self.sum) as Nanos;
            self.flows = self.counted;
        }
        (self.sum, self.sum_squared, self.counted) = (0.0, 0.0, 0);
        self.interval = self.interval.wrapping_add(1).max(1);
        let length = if self.average_rtt > 0 { self.average_rtt } else { FIRST_INTERVAL };
        self.interval_ends = now + length;
    }
}
