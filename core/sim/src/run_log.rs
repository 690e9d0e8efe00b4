//! The run log: a summary per flow and link, and time series in long form.

mod columns;

use leo_cc::CongestionControl;
use leo_link::{Link, LinkStats, NEVER, Nanos};
use leo_transport::{PACKET_BYTES, SEGMENT_BYTES, SenderStats};

use crate::flow::{Flow, Phase, RttLog};
use crate::packet::Packet;
pub use columns::{Cell, Column, FlowSeries, FlowSummary, LinkSeries, LinkSummary, TABLES};

/// All measurements of a run.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each field is what its type says")]
pub struct RunLog {
    pub flows: Vec<FlowSummary>,
    pub links: Vec<LinkSummary>,
    pub flow_series: FlowSeries,
    pub link_series: LinkSeries,
}

/// A flow's totals at the last row.
#[derive(Clone, Debug, Default)]
struct FlowMark {
    delivered: u64,
    stats: SenderStats,
    rtt: RttLog,
}

/// Records the series and computes the summary.
pub struct Recorder {
    interval: Nanos,
    next: Nanos,
    flow_marks: Vec<FlowMark>,
    link_marks: Vec<LinkStats>,
    flow_series: FlowSeries,
    link_series: LinkSeries,
}

const NS: f64 = 1e-9;
const NS_TO_MS: f64 = 1e-6;

impl Recorder {
    /// Record a row every `interval`; none if it is 0.
    pub fn new(interval: Nanos, flows: usize, links: usize) -> Self {
        Self {
            interval,
            next: if interval == 0 { NEVER } else { interval },
            flow_marks: vec![FlowMark::default(); flows],
            link_marks: vec![LinkStats::default(); links],
            flow_series: FlowSeries::default(),
            link_series: LinkSeries::default(),
        }
    }

    pub const fn next_row(&self) -> Nanos {
        self.next
    }

    /// Add a row for every running flow and every link of `logged`.
    pub fn record(
        &mut self,
        now: Nanos,
        flows: &[Flow],
        links: &mut [Link<Packet>],
        logged: &[(String, usize)],
    ) {
        let interval_s = self.interval as f64 * NS;
        for (index, (flow, mark)) in flows.iter().zip(&mut self.flow_marks).enumerate() {
            // Include flows that stop now and transfers that completed since the last row.
            let completed = flow.completed.is_some_and(|at| at + self.interval > now);
            let stops = flow.phase == Phase::Stopped && (flow.stop == now || completed);
            if flow.phase == Phase::Running || stops {
                self.flow_series.push(now, interval_s, index, flow, mark, links);
            }
        }
        for (index, ((_, link), mark)) in logged.iter().zip(&mut self.link_marks).enumerate() {
            self.link_series.push(now, interval_s, index, &mut links[*link], mark);
        }
        self.next = now + self.interval;
    }

    pub fn take(&mut self) -> (FlowSeries, LinkSeries) {
        (std::mem::take(&mut self.flow_series), std::mem::take(&mut self.link_series))
    }

    /// Return the log at `now`, with all rows that [`Self::take`] has not removed.
    pub fn finish(
        &self,
        now: Nanos,
        flows: &[Flow],
        links: &mut [Link<Packet>],
        logged: &[(String, usize)],
    ) -> RunLog {
        let summary = |(name, link): &(String, usize)| {
            let link = &mut links[*link];
            let stats = link.stats(now);
            LinkSummary {
                link: name.clone(),
                offered_packets: stats.offered,
                delivered_packets: stats.delivered,
                delivered_bytes: stats.delivered_bytes,
                dropped_packets: stats.dropped,
                marked_packets: stats.marked,
                lost_packets: stats.lost,
                queued_packets: link.queued_packets(now),
                in_flight_packets: link.in_flight_packets(now),
            }
        };
        RunLog {
            links: logged.iter().map(summary).collect(),
            flows: (0..).zip(flows).map(|(index, flow)| summarise(index, flow, links, now)).collect(),
            flow_series: self.flow_series.clone(),
            link_series: self.link_series.clone(),
        }
    }
}

impl FlowSeries {
    fn push(
        &mut self,
        now: Nanos,
        interval_s: f64,
        index: usize,
        flow: &Flow,
        mark: &mut FlowMark,
        links: &[Link<Packet>],
    ) {
        let (stats, delivered, rtt) = (flow.stats(), flow.delivered_bytes(), &flow.rtt_log);
        let samples = rtt.samples - mark.rtt.samples;
        let mean_rtt = (rtt.sum - mark.rtt.sum) as f64 / samples as f64;
        let delays =
            flow.routes.current().links.iter().map(|&link| links[link as usize].schedule().at(now).delay);
        let one_way = flow.extra_delay + delays.sum::<Nanos>();
        self.time_s.push(now as f64 * NS);
        self.flow.push(index as u32);
        self.goodput_mbps.push(mbps(delivered - mark.delivered, interval_s));
        self.send_mbps.push(mbps((stats.sent - mark.stats.sent) * u64::from(PACKET_BYTES), interval_s));
        self.rtt_ms.push(if samples == 0 { f64::NAN } else { mean_rtt * NS_TO_MS });
        self.base_rtt_ms.push(2.0 * one_way as f64 * NS_TO_MS);
        self.cwnd_packets.push(flow.sender.window());
        self.in_flight_packets.push(flow.sender.in_flight());
        let pacing = flow.sender.scheme().pacing_rate();
        self.pacing_mbps.push(pacing.map_or(f64::NAN, |rate| rate as f64 * 8e-6));
        self.lost_packets.push((stats.lost - mark.stats.lost) as u32);
        self.retransmitted_packets.push((stats.retransmitted - mark.stats.retransmitted) as u32);
        *mark = FlowMark { delivered, stats, rtt: rtt.clone() };
    }
}

impl LinkSeries {
    fn push(
        &mut self,
        now: Nanos,
        interval_s: f64,
        index: usize,
        link: &mut Link<Packet>,
        mark: &mut LinkStats,
    ) {
        let span = link.schedule().at(now);
        let stats = link.stats(now);
        self.time_s.push(now as f64 * NS);
        self.link.push(index as u32);
        // Outages are shorter than an interval, so average the capacity over it.
        let from = now - (interval_s * 1e9).round() as Nanos;
        self.capacity_mbps.push(link.schedule().capacity_bits(from, now) * 1e-6 / interval_s);
        self.delay_ms.push(span.delay as f64 * NS_TO_MS);
        self.queue_packets.push(link.queued_packets(now) as u32);
        self.connected.push(link.schedule().stays_connected(from, now));
        self.dropped_packets.push((stats.dropped - mark.dropped) as u32);
        self.delivered_mbps.push((stats.delivered_bytes - mark.delivered_bytes) as f64 * 8e-6 / interval_s);
        *mark = stats;
    }
}

fn mbps(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 * 8e-6 / seconds
}

fn summarise(index: u64, flow: &Flow, links: &[Link<Packet>], now: Nanos) -> FlowSummary {
    // A flow that has not started has a duration of 0.
    let stop = flow.stop.min(now).max(flow.start);
    let seconds = (stop - flow.start) as f64 * NS;
    let stats = flow.stats();
    // Bottleneck capacity over the flow's lifetime.
    let bits: f64 = flow
        .routes
        .over(flow.start, stop)
        .map(|(route, from, to)| {
            let carried =
                route.links.iter().map(|&link| links[link as usize].schedule().capacity_bits(from, to));
            carried.fold(f64::INFINITY, f64::min)
        })
        .sum();
    let capacity_mbps = bits * 1e-6 / seconds;
    let goodput_mbps = mbps(flow.delivered_bytes(), seconds);
    let payload_share = f64::from(SEGMENT_BYTES) / f64::from(PACKET_BYTES);
    let normalized_goodput = goodput_mbps / (capacity_mbps * payload_share);
    let rtt = &flow.rtt_log;
    let samples = rtt.samples as f64;
    let delay_inflation = rtt.inflation_sum / samples;
    FlowSummary {
        flow: index,
        scheme: flow.name.clone(),
        start_s: flow.start as f64 * NS,
        stop_s: stop as f64 * NS,
        goodput_mbps,
        capacity_mbps,
        normalized_goodput,
        rtt_mean_ms: rtt.sum as f64 / samples * NS_TO_MS,
        rtt_p95_ms: flow.rtt_p95().map_or(f64::NAN, |rtt| rtt as f64 * NS_TO_MS),
        base_rtt_mean_ms: rtt.base_sum as f64 / samples * NS_TO_MS,
        delay_inflation,
        loss_rate: stats.lost as f64 / stats.sent as f64,
        retransmit_rate: stats.retransmitted as f64 / stats.sent as f64,
        power: normalized_goodput / delay_inflation,
        sent_packets: stats.sent,
        delivered_packets: flow.delivered(),
        retransmitted_packets: stats.retransmitted,
        lost_packets: stats.lost,
        rtos: stats.timeouts,
        transfer_bytes: flow.transfer_bytes,
        completion_s: flow.completed.map(|at| (at - flow.start) as f64 * NS),
    }
}
