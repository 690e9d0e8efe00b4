//! The run log: a summary per flow and link, and time series in long form.

mod columns;
mod experience;

use leo_cc::{BbrModel, CongestionControl};
use leo_link::{Link, LinkStats, NEVER, Nanos};
use leo_transport::{PACKET_BYTES, SEGMENT_BYTES, SenderStats};

use crate::client::Client;
use crate::flow::{Flow, Phase, RttLog};
use crate::packet::Packet;
use crate::path::Paths;
use crate::route::Route;
pub(crate) use columns::table;
pub use columns::{Cell, Column};

// The columns of every backend and of the docs: each with its type, unit and meaning, declared here alone.

table! {
    /// The summary of one flow.
    FlowSummary {
        flow: u64, "", "index of the flow in the run";
        scheme: String, "", "name of the scheme";
        start_s: f64, "s", "when the flow starts";
        stop_s: f64, "s", "when it stops, or when the run ends";
        goodput_mbps: f64, "Mbit/s",
            "new in-order bytes given to the receiving application, per second between the flow's start and stop";
        capacity_mbps: f64, "Mbit/s",
            "mean of what the bottleneck of the route could carry in that time, in IP packets of 1,500 bytes; outages count as zero";
        normalized_goodput: f64, "",
            "goodput over the payload that the bottleneck could carry: capacity × 1,448 / 1,500. A flow alone can reach 1";
        rtt_mean_ms: f64, "ms",
            "mean of the RTT samples that Linux smooths: one per acknowledgement, of the first packet that it newly covers, so that the receiver's acknowledgement delay counts; if that packet was retransmitted, from the echoed timestamp";
        rtt_p95_ms: f64, "ms",
            "95th percentile of the same samples, from a histogram with a relative error below 0.4 %";
        base_rtt_mean_ms: f64, "ms",
            "propagation both ways without queueing, averaged over the RTT samples. The simulator adds up the propagation of the packet and of its acknowledgement on each link";
        delay_inflation: f64, "", "mean over RTT samples of RTT / base RTT at the sample's time; 1 is perfect";
        loss_rate: f64, "", "packets deemed lost over packets sent";
        retransmit_rate: f64, "", "packets retransmitted over packets sent";
        power: f64, "", "normalized goodput / delay inflation; 1 is the physical limit";
        sent_packets: u64, "packets", "packets sent, retransmissions included";
        delivered_packets: u64, "packets", "new in-order packets given to the receiving application";
        retransmitted_packets: u64, "packets", "packets retransmitted";
        lost_packets: u64, "packets", "packets deemed lost";
        rtos: u64, "", "retransmission timeouts";
        transfer_bytes: Option<u64>, "bytes", "size of the transfer; none for a backlogged flow";
        completion_s: Option<f64>, "s",
            "flow completion time of a transfer: from its start, including a handshake, to the acknowledgement of its last byte; none if it does not complete";
        fallbacks: Option<u64>, "",
            "how often a policy gave the flow to its fallback: outside its known ranges, or without a valid action; none for a scheme or a policy that has no fallback";
        workload: Option<String>, "", "`video`, `page` or `call`; none for other flows. A page's values are in the row of its first connection";
        startup_s: Option<f64>, "s", "video: from the flow's start to the first frame; none if no chunk arrives";
        rebuffer_s: Option<f64>, "s", "video: total time for which playback stood still after it had begun";
        rebuffers: Option<u64>, "", "video: how often it stood still";
        bitrate_mbps: Option<f64>, "Mbit/s", "video: mean bitrate of the chunks that arrived; call: of the media that arrived";
        switches: Option<u64>, "", "video: changes of the bitrate from chunk to chunk";
        qoe: Option<f64>, "Mbit/s",
            "video: QoE_lin per chunk (Yin et al., SIGCOMM 2015, eq. 5): (Σ R − Σ |ΔR| − μ (rebuffer_s + startup_s)) / chunks, with bitrates R in Mbit/s and μ the highest one";
        page_load_s: Option<f64>, "s", "page: from the flow's start, including a handshake, to the arrival of the last object; none if it does not load";
        freezes: Option<u64>, "", "call: frames that stay for max(3 δ, δ + 150 ms) or more, with δ the mean of the last 30 (W3C, WebRTC's Statistics API)";
        freeze_s: Option<f64>, "s", "call: total duration of these frames";
        delay_p50_ms: Option<f64>, "ms", "call: median one-way delay of its packets, from a histogram with a relative error below 0.4 %";
        delay_p95_ms: Option<f64>, "ms", "call: 95th percentile of the same delays";
        delay_p99_ms: Option<f64>, "ms", "call: 99th percentile of the same delays";
    }
}

table! {
    /// The summary of one link; offered = delivered + dropped + lost + queued + in flight.
    LinkSummary {
        link: String, "", "name of the link";
        offered_packets: u64, "packets", "packets that arrived at the link";
        delivered_packets: u64, "packets", "packets that left it";
        delivered_bytes: u64, "bytes", "their size as IP packets";
        dropped_packets: u64, "packets", "packets that its queue dropped";
        marked_packets: u64, "packets", "packets that its queue marked (RFC 3168)";
        lost_packets: u64, "packets", "packets lost at random or in an outage";
        queued_packets: u64, "packets", "packets in the queue at the end";
        in_flight_packets: u64, "packets", "packets in propagation at the end";
    }
}

table! {
    /// One row per running flow and interval; a row closes its interval.
    FlowSeries {
        time_s: Vec<f64>, "s", "end of the interval, from the start of the run";
        flow: Vec<u32>, "", "index of the flow";
        goodput_mbps: Vec<f64>, "Mbit/s", "goodput in the interval";
        send_mbps: Vec<f64>, "Mbit/s", "rate of IP packets sent";
        rtt_ms: Vec<f64>, "ms", "mean of the RTT samples; NaN without a sample";
        base_rtt_ms: Vec<f64>, "ms", "propagation both ways at the end of the interval";
        cwnd_packets: Vec<u32>, "packets", "congestion window at the end of the interval";
        in_flight_packets: Vec<u32>, "packets", "packets in flight at the end of the interval";
        pacing_mbps: Vec<f64>, "Mbit/s", "pacing rate at the end of the interval; NaN for an unpaced flow";
        lost_packets: Vec<u32>, "packets", "packets deemed lost";
        retransmitted_packets: Vec<u32>, "packets", "packets retransmitted";
        path_change_s: Vec<f64>, "s",
            "when the scheme last detected or expected a change of path: LeoCC's preparation for a reconfiguration, the opening of StarQUIC's margin, SaTCP's report; NaN before the first, and for schemes that look for none";
    }
}

table! {
    /// One row per link and interval; a row closes its interval.
    LinkSeries {
        time_s: Vec<f64>, "s", "end of the interval, from the start of the run";
        link: Vec<u32>, "", "index of the link";
        capacity_mbps: Vec<f64>, "Mbit/s", "mean capacity in the interval; outages count as zero";
        delay_ms: Vec<f64>, "ms", "one-way propagation at the end of the interval";
        queue_packets: Vec<u32>, "packets", "queue at the end of the interval";
        connected: Vec<bool>, "", "whether no outage touched the interval";
        dropped_packets: Vec<u32>, "packets", "packets that the queue dropped";
        delivered_mbps: Vec<f64>, "Mbit/s", "rate of IP packets that left the link";
    }
}

table! {
    /// One row per running flow of a BBR scheme and interval; a row closes its interval.
    BbrSeries {
        time_s: Vec<f64>, "s", "end of the interval, from the start of the run";
        flow: Vec<u32>, "", "index of the flow";
        state: Vec<u32>, "", "1 STARTUP, 2 DRAIN, 3 PROBE_DOWN, 4 CRUISE, 5 REFILL, 6 PROBE_UP, 7 PROBE_RTT; 3, 4 and 6 by the pacing gain in BBRv1";
        round: Vec<f64>, "", "packet-timed round trips";
        full_bw_count: Vec<f64>, "", "rounds without 25 % growth";
        bw_mbps: Vec<f64>, "Mbit/s", "bandwidth estimate, of payload: max_bw; in BBRv1 the policer's rate, if detected";
        bw_shortterm_mbps: Vec<f64>, "Mbit/s", "its short-term bound; infinite without a bound";
        min_rtt_ms: Vec<f64>, "ms", "min RTT";
        pacing_gain: Vec<f64>, "", "gain of the pacing rate";
        cwnd_gain: Vec<f64>, "", "gain of the window";
        inflight_longterm_packets: Vec<f64>, "packets", "long-term bound; infinite without a bound";
        inflight_shortterm_packets: Vec<f64>, "packets", "short-term bound; infinite without a bound";
        extra_acked_packets: Vec<f64>, "packets", "estimated ACK aggregation";
    }
}

/// The run log's tables and their columns, by name.
pub const TABLES: [(&str, &[Column]); 5] = [
    ("flows", FlowSummary::COLUMNS),
    ("links", LinkSummary::COLUMNS),
    ("flow_series", FlowSeries::COLUMNS),
    ("link_series", LinkSeries::COLUMNS),
    ("bbr_series", BbrSeries::COLUMNS),
];

/// All measurements of a run.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each field is what its type says")]
pub struct RunLog {
    pub flows: Vec<FlowSummary>,
    pub links: Vec<LinkSummary>,
    pub flow_series: FlowSeries,
    pub link_series: LinkSeries,
    pub bbr_series: BbrSeries,
    /// Why the run is invalid: a QUIC stack lost its connection.
    pub invalid: Option<String>,
}

/// A flow's totals at the last row.
#[derive(Clone, Debug, Default)]
struct FlowMark {
    delivered: u64,
    stats: SenderStats,
    rtt: RttLog,
}

/// Records the series and computes the summary.
#[derive(Clone)]
pub struct Recorder {
    interval: Nanos,
    /// The end of the run.
    end: Nanos,
    /// Times of the last row and of the next one.
    last: Nanos,
    next: Nanos,
    flow_marks: Vec<FlowMark>,
    link_marks: Vec<LinkStats>,
    flow_series: FlowSeries,
    link_series: LinkSeries,
    bbr_series: BbrSeries,
}

const NS: f64 = 1e-9;
const NS_TO_MS: f64 = 1e-6;

impl Recorder {
    /// Record a row every `interval`, the last one at `end`; none if the interval is 0.
    pub fn new(interval: Nanos, end: Nanos, flows: usize, links: usize) -> Self {
        Self {
            interval,
            end,
            last: 0,
            next: if interval == 0 { NEVER } else { interval.min(end) },
            flow_marks: vec![FlowMark::default(); flows],
            link_marks: vec![LinkStats::default(); links],
            flow_series: FlowSeries::default(),
            link_series: LinkSeries::default(),
            bbr_series: BbrSeries::default(),
        }
    }

    pub const fn next_row(&self) -> Nanos {
        self.next
    }

    /// Record a link that is logged from now on.
    pub fn add_link(&mut self) {
        self.link_marks.push(LinkStats::default());
    }

    /// Add a row for every running flow and every link of `logged`.
    pub fn record(
        &mut self,
        now: Nanos,
        (flows, paths): (&[Flow], &Paths),
        links: &mut [Link<Packet>],
        logged: &[(String, usize)],
    ) {
        // The run's end cuts the last interval short.
        let interval_s = (now - self.last) as f64 * NS;
        for (index, (flow, mark)) in flows.iter().zip(&mut self.flow_marks).enumerate() {
            // Include flows that stop now and transfers that completed since the last row.
            let completed = flow.completed.is_some_and(|at| at > self.last);
            let stops = flow.phase == Phase::Stopped && (flow.stop == now || completed);
            if flow.phase == Phase::Running || stops {
                self.flow_series.push(now, interval_s, index, flow, mark, (links, paths));
                if let Some(model) = flow.sender.scheme().bbr_model() {
                    self.bbr_series.push(now, index, &model);
                }
            }
        }
        for (index, ((_, link), mark)) in logged.iter().zip(&mut self.link_marks).enumerate() {
            self.link_series.push(now, interval_s, index, &mut links[*link], mark);
        }
        self.last = now;
        self.next = if now >= self.end { NEVER } else { (now + self.interval).min(self.end) };
    }

    pub fn take(&mut self) -> (FlowSeries, LinkSeries, BbrSeries) {
        (
            std::mem::take(&mut self.flow_series),
            std::mem::take(&mut self.link_series),
            std::mem::take(&mut self.bbr_series),
        )
    }

    /// Return the log at `now`, with all rows that [`Self::take`] has not removed.
    pub fn finish(
        &self,
        now: Nanos,
        (flows, clients, paths): (&[Flow], &[Client], &Paths),
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
            flows: (0..)
                .zip(flows)
                .map(|(index, flow)| {
                    experience::added(summarise(index, flow, (links, paths), now), flow, clients, now)
                })
                .collect(),
            flow_series: self.flow_series.clone(),
            link_series: self.link_series.clone(),
            bbr_series: self.bbr_series.clone(),
            invalid: (0..).zip(flows).find_map(|(index, flow)| invalid(index, flow)),
        }
    }
}

fn invalid(index: usize, flow: &Flow) -> Option<String> {
    let lost = flow.stack()?.lost()?;
    Some(format!("flow {index}, {}: {lost}", flow.name))
}

impl FlowSeries {
    fn push(
        &mut self,
        now: Nanos,
        interval_s: f64,
        index: usize,
        flow: &Flow,
        mark: &mut FlowMark,
        (links, paths): (&[Link<Packet>], &Paths),
    ) {
        let (stats, delivered, rtt) = (flow.stats(), flow.delivered_bytes(), &flow.rtt_log);
        let samples = rtt.samples - mark.rtt.samples;
        let mean_rtt = (rtt.sum - mark.rtt.sum) as f64 / samples as f64;
        let delay = |link: &Link<Packet>| link.schedule().at(now).delay;
        let route = flow.routes.current().both_ways(links);
        let base_rtt = match paths.forwarding() {
            Some(forwarding) => forwarding.pairs[flow.routes.path() as usize].base_rtt,
            None => 2 * flow.extra_delay + route.map(|(link, back)| delay(link) + delay(back)).sum::<Nanos>(),
        };
        self.time_s.push(now as f64 * NS);
        self.flow.push(index as u32);
        self.goodput_mbps.push(mbps(delivered - mark.delivered, interval_s));
        self.send_mbps.push(mbps(flow.wire_bytes(stats.sent - mark.stats.sent), interval_s));
        self.rtt_ms.push(if samples == 0 { f64::NAN } else { mean_rtt * NS_TO_MS });
        self.base_rtt_ms.push(base_rtt as f64 * NS_TO_MS);
        let (window, in_flight) = flow.window_and_flight(now);
        self.cwnd_packets.push(window);
        self.in_flight_packets.push(in_flight);
        let pacing = flow.pacing_rate(now);
        self.pacing_mbps.push(pacing.map_or(f64::NAN, |rate| rate as f64 * 8e-6));
        self.lost_packets.push((stats.lost - mark.stats.lost) as u32);
        self.retransmitted_packets.push((stats.retransmitted - mark.stats.retransmitted) as u32);
        let changed = flow.sender.scheme().path_changed_at(now);
        self.path_change_s.push(changed.map_or(f64::NAN, |at| at as f64 * NS));
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

impl BbrSeries {
    fn push(&mut self, now: Nanos, index: usize, model: &BbrModel) {
        let payload_mbps = |packets_per_s: f64| packets_per_s * f64::from(SEGMENT_BYTES) * 8e-6;
        let min_rtt = if model.min_rtt == NEVER { f64::NAN } else { model.min_rtt as f64 * NS_TO_MS };
        self.time_s.push(now as f64 * NS);
        self.flow.push(index as u32);
        self.state.push(model.state as u32);
        self.round.push(model.rounds as f64);
        self.full_bw_count.push(f64::from(model.full_bw_rounds));
        self.bw_mbps.push(payload_mbps(model.max_bandwidth));
        self.bw_shortterm_mbps.push(payload_mbps(model.bandwidth_short_term));
        self.min_rtt_ms.push(min_rtt);
        self.pacing_gain.push(model.pacing_gain);
        self.cwnd_gain.push(model.window_gain);
        self.inflight_longterm_packets.push(model.long_term);
        self.inflight_shortterm_packets.push(model.short_term);
        self.extra_acked_packets.push(f64::from(model.extra_acked));
    }
}

fn mbps(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 * 8e-6 / seconds
}

fn summarise(index: u64, flow: &Flow, (links, paths): (&[Link<Packet>], &Paths), now: Nanos) -> FlowSummary {
    // A flow that has not started has a duration of 0. A connection that no client has opened has no start.
    let start = if flow.start == NEVER { flow.stop.min(now) } else { flow.start };
    let stop = flow.stop.min(now).max(start);
    let seconds = (stop - start) as f64 * NS;
    let stats = flow.stats();
    // Bottleneck capacity over the flow's lifetime.
    let over = |(route, from, to): (&Route, Nanos, Nanos)| {
        let carried = route.links.iter().map(|&link| links[link as usize].schedule().capacity_bits(from, to));
        carried.fold(f64::INFINITY, f64::min)
    };
    let bits = match paths.forwarding() {
        Some(forwarding) => forwarding.pairs[flow.routes.path() as usize].capacity_bits(start, stop),
        None => flow.routes.over(start, stop).map(over).sum(),
    };
    let capacity_mbps = bits * 1e-6 / seconds;
    let goodput_mbps = mbps(flow.delivered_bytes(), seconds);
    let payload_share = f64::from(SEGMENT_BYTES) / f64::from(PACKET_BYTES);
    let normalized_goodput = goodput_mbps / (capacity_mbps * payload_share);
    let rtt = &flow.rtt_log;
    let samples = rtt.samples as f64;
    // Each sample over a path without any delay adds 1 ns: no ratio to that is meaningful.
    let base_sum = if rtt.base_sum > rtt.samples { rtt.base_sum } else { 0 };
    let delay_inflation = if base_sum > 0 { rtt.inflation_sum / samples } else { f64::NAN };
    FlowSummary {
        flow: index,
        scheme: flow.name.clone(),
        start_s: start as f64 * NS,
        stop_s: stop as f64 * NS,
        goodput_mbps,
        capacity_mbps,
        normalized_goodput,
        rtt_mean_ms: rtt.sum as f64 / samples * NS_TO_MS,
        rtt_p95_ms: flow.rtt_p95().map_or(f64::NAN, |rtt| rtt as f64 * NS_TO_MS),
        base_rtt_mean_ms: base_sum as f64 / samples * NS_TO_MS,
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
        completion_s: flow
            .completed
            .filter(|_| flow.transfer_bytes.is_some())
            .map(|at| (at - start) as f64 * NS),
        fallbacks: flow.agent.as_ref().and_then(|agent| agent.state.fallbacks()),
        ..FlowSummary::default()
    }
}
