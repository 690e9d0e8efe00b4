//! The interval report: everything that an agent learns about its flow in a monitor interval.

/// A flow's activity in a monitor interval, and its state at the end.
///
/// Means cover the interval; `min_rtt_us` and `max_throughput` cover the connection. Bytes are TCP payload.
/// The simulator's transport or the live kernel's eBPF program fills it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Report {
    /// End of the interval, in ns since the start of the run.
    pub time_ns: u64,
    /// Length of the interval, in ns.
    pub interval_ns: u64,
    /// Bytes newly acknowledged, cumulatively or selectively.
    pub delivered_bytes: u64,
    /// Bytes sent, retransmissions included.
    pub sent_bytes: u64,
    /// Bytes newly marked lost.
    pub lost_bytes: u64,
    /// Mean of the delivery-rate samples, in bytes/s; 0 without any.
    pub avg_throughput: u64,
    /// Mean of the RTT samples, in µs; 0 without any.
    pub avg_rtt_us: u32,
    /// Number of RTT samples.
    pub rtt_samples: u32,
    /// Smallest RTT of the connection, in µs; 0 before the first sample.
    pub min_rtt_us: u32,
    /// Smoothed RTT (RFC 6298), in µs; 0 before the first sample.
    pub srtt_us: u32,
    /// RTT variation (RFC 6298), in µs; 0 before the first sample.
    pub rttvar_us: u32,
    /// Congestion window, in packets.
    pub cwnd: u32,
    /// Packets sent and not yet acknowledged or given up.
    pub packets_out: u32,
    /// Retransmitted packets still in flight.
    pub retrans_out: u32,
    /// Payload of a full packet, in bytes.
    pub mss: u32,
    /// Pacing rate, in bytes/s; 0 when the flow is not paced.
    pub pacing_rate: u64,
    /// Running maximum of `avg_throughput`, in bytes/s; it never decays.
    pub max_throughput: u64,
    /// Slow start threshold of the scheme beneath the agent, in packets; the window where there is none.
    pub ssthresh: u32,
    /// RTT growth in seconds per second: slope of the least-squares line through the interval's samples.
    pub rtt_slope: f64,
}

impl Report {
    /// Names of the fields with units, in the order of [`Report::write_f64`].
    pub const FIELDS: [&'static str; 19] = [
        "time_ns",
        "interval_ns",
        "delivered_bytes",
        "sent_bytes",
        "lost_bytes",
        "avg_throughput_bytes_per_s",
        "avg_rtt_us",
        "rtt_samples",
        "min_rtt_us",
        "srtt_us",
        "rttvar_us",
        "cwnd_packets",
        "packets_out",
        "retrans_out",
        "mss_bytes",
        "pacing_rate_bytes_per_s",
        "max_throughput_bytes_per_s",
        "ssthresh_packets",
        "rtt_slope",
    ];

    /// Write the fields in the order of [`Report::FIELDS`]. Panics if `out` is not `FIELDS.len()` long.
    pub fn write_f64(&self, out: &mut [f64]) {
        out.copy_from_slice(&[
            self.time_ns as f64,
            self.interval_ns as f64,
            self.delivered_bytes as f64,
            self.sent_bytes as f64,
            self.lost_bytes as f64,
            self.avg_throughput as f64,
            f64::from(self.avg_rtt_us),
            f64::from(self.rtt_samples),
            f64::from(self.min_rtt_us),
            f64::from(self.srtt_us),
            f64::from(self.rttvar_us),
            f64::from(self.cwnd),
            f64::from(self.packets_out),
            f64::from(self.retrans_out),
            f64::from(self.mss),
            self.pacing_rate as f64,
            self.max_throughput as f64,
            f64::from(self.ssthresh),
            self.rtt_slope,
        ]);
    }

    /// Read the fields in the order of [`Report::FIELDS`]. Truncates fractions; negative numbers become 0.
    /// Panics if `fields` is not `FIELDS.len()` long.
    pub fn read_f64(fields: &[f64]) -> Self {
        assert_eq!(fields.len(), Self::FIELDS.len(), "fields of a report");
        let mut fields = fields.iter().copied();
        let mut next = || fields.next().unwrap_or_default();
        Self {
            time_ns: next() as u64,
            interval_ns: next() as u64,
            delivered_bytes: next() as u64,
            sent_bytes: next() as u64,
            lost_bytes: next() as u64,
            avg_throughput: next() as u64,
            avg_rtt_us: next() as u32,
            rtt_samples: next() as u32,
            min_rtt_us: next() as u32,
            srtt_us: next() as u32,
            rttvar_us: next() as u32,
            cwnd: next() as u32,
            packets_out: next() as u32,
            retrans_out: next() as u32,
            mss: next() as u32,
            pacing_rate: next() as u64,
            max_throughput: next() as u64,
            ssthresh: next() as u32,
            rtt_slope: next(),
        }
    }

    /// Bytes marked lost per second; 0 for an interval of length 0.
    pub fn loss_rate_bytes_per_s(&self) -> f64 {
        ratio(self.lost_bytes as f64 * 1e9, self.interval_ns as f64)
    }

    /// Mean RTT of the interval in µs, or without a sample the smoothed RTT.
    pub fn latency_us(&self) -> u32 {
        if self.avg_rtt_us > 0 { self.avg_rtt_us } else { self.srtt_us }
    }

    /// Rate at which the flow may send, in bytes/s: its pacing rate, else one window per smoothed RTT.
    pub fn sending_rate_bytes_per_s(&self) -> f64 {
        if self.pacing_rate > 0 {
            return self.pacing_rate as f64;
        }
        crate::action::window_rate_bytes_per_s(self.mss, self.cwnd, self.packets_out, self.srtt_us) as f64
    }
}

/// `numerator / denominator`, or 0 if the denominator is 0 (not known yet).
pub(crate) fn ratio(numerator: f64, denominator: f64) -> f64 {
    if denominator > 0.0 { numerator / denominator } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_written_at_the_place_of_its_name() {
        let report = Report {
            time_ns: 1,
            interval_ns: 2,
            delivered_bytes: 3,
            sent_bytes: 4,
            lost_bytes: 5,
            avg_throughput: 6,
            avg_rtt_us: 7,
            rtt_samples: 8,
            min_rtt_us: 9,
            srtt_us: 10,
            rttvar_us: 11,
            cwnd: 12,
            packets_out: 13,
            retrans_out: 14,
            mss: 15,
            pacing_rate: 16,
            max_throughput: 17,
            ssthresh: 18,
            rtt_slope: 19.0,
        };
        let mut out = [0.0; Report::FIELDS.len()];
        report.write_f64(&mut out);
        assert_eq!(out.to_vec(), (1..=19).map(f64::from).collect::<Vec<_>>());
        assert_eq!(Report::read_f64(&out), report);
        assert_eq!(Report::FIELDS[11], "cwnd_packets");
        assert_eq!(Report::FIELDS[16], "max_throughput_bytes_per_s");
    }

    #[test]
    fn losses_are_a_rate_over_the_interval() {
        let report = Report { lost_bytes: 3_000, interval_ns: 30_000_000, ..Report::default() };
        assert_eq!(report.loss_rate_bytes_per_s(), 100_000.0);
        assert_eq!(Report::default().loss_rate_bytes_per_s(), 0.0);
    }

    #[test]
    fn an_unpaced_flow_sends_a_window_an_rtt() {
        let report = Report { mss: 1_448, cwnd: 100, packets_out: 90, srtt_us: 50_000, ..Report::default() };
        assert_eq!(report.sending_rate_bytes_per_s(), 2_896_000.0);
        assert_eq!(Report { pacing_rate: 7, ..report }.sending_rate_bytes_per_s(), 7.0);
    }

    #[test]
    fn without_an_rtt_sample_the_smoothed_rtt_stands_in() {
        let report = Report { srtt_us: 60_000, ..Report::default() };
        assert_eq!(report.latency_us(), 60_000);
        assert_eq!(Report { avg_rtt_us: 50_000, ..report }.latency_us(), 50_000);
    }
}
