//! The path and its flows as only a simulator or testbed knows them: for rewards and critics, not policies.

use crate::{RateWindow, Report};

/// The bottleneck and the path at the end of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct World {
    /// Capacity of the bottleneck, in bytes/s. In an outage, the rate without the outage; of a link that sends in
    /// frames, their mean rate.
    pub capacity_bytes_per_s: f64,
    /// Current propagation over the links, both ways, in ns, without queueing and a flow's extra delay.
    pub base_rtt_ns: u64,
    /// Buffer of the bottleneck, in bytes.
    pub buffer_bytes: u64,
}

impl World {
    /// Round-trip propagation for a flow with this extra one-way delay, in µs.
    pub fn base_rtt_us(&self, extra_delay_ns: u64) -> f64 {
        (self.base_rtt_ns as f64 + 2.0 * extra_delay_ns as f64) / 1e3
    }

    /// One-way propagation over the links, in ns: the mean of both directions.
    pub fn base_delay_ns(&self) -> f64 {
        self.base_rtt_ns as f64 / 2.0
    }

    /// The buffer in multiples of capacity × round-trip propagation, or 0 if that is 0.
    pub fn buffer_bdp(&self) -> f64 {
        crate::report::ratio(
            self.buffer_bytes as f64,
            self.capacity_bytes_per_s * self.base_rtt_ns as f64 / 1e9,
        )
    }
}

/// Intervals in the rewards' averages and deviations: w in Astraea's equations.
pub const HISTORY_INTERVALS: usize = 5;

/// One flow: its latest report and a history of [`HISTORY_INTERVALS`] intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowState {
    /// The latest report.
    pub report: Report,
    /// One-way access delay of this flow in addition to the links', in ns.
    pub extra_delay_ns: u64,
    /// Flows on this flow's path, including itself; 0 if unknown.
    pub flows_on_path: u32,
    rates: RateWindow,
    throughput_bytes_per_s: [f64; HISTORY_INTERVALS],
    cwnd_packets: [f64; HISTORY_INTERVALS],
    intervals: u64,
}

impl FlowState {
    /// Create a new flow with this extra one-way delay.
    pub fn new(extra_delay_ns: u64) -> Self {
        Self { extra_delay_ns, ..Self::default() }
    }

    /// Add the report of the interval that just ended.
    pub fn observe(&mut self, report: &Report) {
        let slot = (self.intervals % HISTORY_INTERVALS as u64) as usize;
        self.throughput_bytes_per_s[slot] = report.avg_throughput as f64;
        self.cwnd_packets[slot] = f64::from(report.cwnd);
        self.intervals += 1;
        self.rates.push(report);
        self.report = *report;
    }

    /// Sums over the last intervals with a delivery.
    pub const fn rates(&self) -> &RateWindow {
        &self.rates
    }

    /// Throughput of up to [`HISTORY_INTERVALS`] last intervals, in bytes/s, unordered.
    pub fn recent_throughput_bytes_per_s(&self) -> &[f64] {
        &self.throughput_bytes_per_s[..self.recent()]
    }

    /// Windows at the end of up to [`HISTORY_INTERVALS`] last intervals, in packets, unordered.
    pub fn recent_cwnd_packets(&self) -> &[f64] {
        &self.cwnd_packets[..self.recent()]
    }

    fn recent(&self) -> usize {
        self.intervals.min(HISTORY_INTERVALS as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_is_counted_in_round_trips_of_the_capacity() {
        // Astraea's evaluation world: 100 Mbit/s, 15 ms one way, 375,000 B are 1 BDP.
        let world = World { capacity_bytes_per_s: 12.5e6, base_rtt_ns: 30_000_000, buffer_bytes: 375_000 };
        assert_eq!(world.buffer_bdp(), 1.0);
        assert_eq!(World::default().buffer_bdp(), 0.0);
        assert_eq!(world.base_rtt_us(5_000_000), 40_000.0);
    }

    #[test]
    fn a_flow_remembers_its_last_five_intervals() {
        let mut flow = FlowState::new(3);
        assert!(flow.recent_throughput_bytes_per_s().is_empty());
        for i in 1..=7 {
            flow.observe(&Report { avg_throughput: i, cwnd: 10 * i as u32, ..Report::default() });
            assert_eq!(flow.recent_cwnd_packets().len(), HISTORY_INTERVALS.min(i as usize));
        }
        let mut throughput = flow.recent_throughput_bytes_per_s().to_vec();
        throughput.sort_by(f64::total_cmp);
        assert_eq!(throughput, [3.0, 4.0, 5.0, 6.0, 7.0]);
        let mut cwnd = flow.recent_cwnd_packets().to_vec();
        cwnd.sort_by(f64::total_cmp);
        assert_eq!(cwnd, [30.0, 40.0, 50.0, 60.0, 70.0]);
        assert_eq!((flow.report.avg_throughput, flow.extra_delay_ns), (7, 3));
    }
}
