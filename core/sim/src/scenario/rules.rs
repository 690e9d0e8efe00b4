//! Rules between the fields of a scenario's parts.

use super::fields::{
    ArrivalsSpec, CallSpec, FlowDirection, FlowSpec, LinkSpec, MOST_FLOWS, OutageEffect, PageSpec, QueueSpec,
    Scenario, SizeDistribution, VideoSpec, WorkloadSpec,
};
use super::part::{Broken, check};
use super::{AGENT_SCHEME, EcnSpec, GCC_SCHEME, sends_datagrams};
use crate::network::connections;

/// Flows of a scenario, with the arrivals that are expected.
const MOST_ARRIVALS: f64 = 1e6;
/// Bitrates of a video: model-predictive control tries all sequences of five.
const MOST_BITRATES: usize = 12;

/// Return the rule of a number of flows, in groups of three digits.
fn too_many(flows: f64, most: f64) -> String {
    let grouped = |number: f64| {
        let digits = format!("{number:.0}");
        let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
        groups.collect::<Vec<_>>().join(",")
    };
    format!("stand for {} flows, at most {} may be", grouped(flows), grouped(most))
}

impl QueueSpec {
    pub(super) fn rules(&self) -> Result<(), Broken> {
        let sizes = [self.bdp.is_some(), self.packets.is_some(), self.bytes.is_some()];
        let sizes = sizes.into_iter().filter(|&set| set).count();
        check("", sizes <= 1, "give one of bdp, packets and bytes")
    }

    pub(super) fn check_knob(&self, name: &str, holds: bool) -> Result<(), Broken> {
        check(name, holds, &format!("{} has no knob {name}", self.kind.name()))
    }
}

impl LinkSpec {
    pub(super) fn rules(&self) -> Result<(), Broken> {
        let (traced, drops) = (self.trace.is_some(), self.outage == OutageEffect::Drop);
        check("", self.delay_ms.is_some() != traced, "give exactly one of delay_ms and trace")?;
        check("", traced || self.rate_mbps.is_some(), "a link without a trace needs rate_mbps")?;
        check("", traced || self.offset_s == 0.0, "offset_s needs a trace")?;
        check("burst_bytes", !traced || self.burst_bytes == 0, "a link with a trace has no token bucket")?;
        check("outage", traced || !drops, "a link without a trace has no outages")?;
        let mut queues = self.reverse.iter().map(|reverse| &reverse.queue).chain([&self.queue]);
        let shaped = queues.any(|queue| queue.bandwidth_mbps.is_some());
        check("outage", !(drops && shaped), "cake's shaper holds packets back through an outage")?;
        let limited = self.reverse.as_ref().is_none_or(|reverse| reverse.rate_mbps.is_some());
        check("reverse", traced || limited, "a link without a trace needs rate_mbps")
    }
}

impl WorkloadSpec {
    pub(super) fn rules(&self) -> Result<(), Broken> {
        let given = [self.video.is_some(), self.page.is_some(), self.call.is_some()];
        let given = given.into_iter().filter(|&given| given).count();
        check("", given == 1, "give one of video, page and call")
    }
}

impl VideoSpec {
    pub(super) fn rules(&self) -> Result<(), Broken> {
        let rates = self.bitrates_kbps.as_deref().unwrap_or(&[1.0]);
        let valid = !rates.is_empty()
            && rates.len() <= MOST_BITRATES
            && rates.iter().all(|rate| (1.0..1e7).contains(rate));
        let rises = rates.windows(2).all(|pair| pair[0] < pair[1]);
        let rule = "must be 1 to 12 rising numbers from 1 to 10,000,000";
        check("bitrates_kbps", valid && rises, rule)?;
        check("buffer_s", self.buffer_s >= self.chunk_s, "must be at least chunk_s")
    }
}

impl PageSpec {
    pub(super) fn rules(&self) -> Result<(), Broken> {
        check("objects", !self.objects.is_empty(), "there must be at least one")?;
        for (index, object) in self.objects.iter().enumerate() {
            let earlier = object.after.iter().all(|&other| other < index);
            check(&format!("objects.{index}.after"), earlier, "must be indices of earlier objects")?;
        }
        let rule = "must wait for each object once";
        self.objects.iter().enumerate().try_for_each(|(index, object)| {
            let mut after = object.after.clone();
            after.sort_unstable();
            after.dedup();
            check(&format!("objects.{index}.after"), after.len() == object.after.len(), rule)
        })
    }
}

impl CallSpec {
    pub(super) fn rules(&self) -> Result<(), Broken> {
        let rises = self.min_mbps <= self.start_mbps && self.start_mbps <= self.max_mbps;
        check("start_mbps", rises, "must be from min_mbps to max_mbps")
    }
}

impl ArrivalsSpec {
    pub(super) fn rules(&self) -> Result<(), Broken> {
        let pareto = self.distribution == SizeDistribution::Pareto;
        check("shape", pareto || self.shape.is_none(), "only pareto has a shape")
    }
}

impl FlowSpec {
    pub(super) fn rules(&self) -> Result<(), Broken> {
        self.workload_rules()?;
        let (udp, paced) = (sends_datagrams(&self.scheme), self.rate_mbps.is_some());
        let transfers = self.transfer_bytes.is_some() || self.arrivals.is_some();
        let buffers = [("tcp_rmem", self.tcp_rmem), ("tcp_wmem", self.tcp_wmem)];
        check("", paced || !udp || self.workload.is_some(), "udp needs rate_mbps")?;
        check("", paced || self.on_off.is_none(), "on_off needs rate_mbps")?;
        let rule = "udp sends until it stops: it has no transfer_bytes or arrivals";
        check("", !(udp && transfers), rule)?;
        let ecn = self.ecn != EcnSpec::Whether(false);
        check("", !(udp && ecn), "udp does not answer marks: it has no ecn")?;
        let buffered = buffers.iter().any(|(_, buffer)| buffer.is_some());
        check("", !(udp && buffered), "udp has no tcp_rmem or tcp_wmem")?;
        check("", !(udp && self.resume.is_some()), "udp has no window to resume")?;
        let rule = "an application that writes at rate_mbps does not wait for room in tcp_wmem";
        check("", !(paced && self.tcp_wmem.is_some()), rule)?;
        check("", !(paced && transfers), "give rate_mbps, transfer_bytes or arrivals")?;
        let both = self.transfer_bytes.is_some() && self.arrivals.is_some();
        check("", !both, "give at most one of transfer_bytes and arrivals")?;
        let learns = self.scheme == AGENT_SCHEME && self.arrivals.is_some();
        check("arrivals", !learns, "the scheme agent cannot have arrivals")?;
        for (name, buffer) in buffers {
            let Some([least, default, most]) = buffer else { continue };
            check(name, least <= default && default <= most, "must rise: minimum, default, maximum")?;
            check(name, default >= 4_096, "the default must be at least 4096")?;
        }
        Ok(())
    }

    fn workload_rules(&self) -> Result<(), Broken> {
        let Some(workload) = &self.workload else {
            return check("scheme", self.scheme != GCC_SCHEME, "gcc needs workload.call");
        };
        let datagrams = sends_datagrams(&self.scheme);
        check("scheme", workload.call.is_none() || datagrams, "a call needs the scheme gcc or udp")?;
        check("scheme", workload.call.is_some() || !datagrams, "a video or page needs TCP, not udp or gcc")?;
        let rule = "the scheme agent cannot load pages, whose connections come and go";
        check("scheme", workload.page.is_none() || self.scheme != AGENT_SCHEME, rule)?;
        let others = [
            ("rate_mbps", self.rate_mbps.is_some()),
            ("transfer_bytes", self.transfer_bytes.is_some()),
            ("arrivals", self.arrivals.is_some()),
            ("tcp_wmem", self.tcp_wmem.is_some()),
        ];
        others.iter().try_for_each(|(name, given)| check(name, !given, "a flow with a workload has none"))
    }

    /// Return how many flows the entry stands for on average, in a scenario of this duration.
    pub(super) fn expected(&self, duration_s: f64) -> f64 {
        let seconds = self.stop_s.unwrap_or(duration_s).min(duration_s) - self.start_s;
        let flows = f64::from(self.count * connections(self));
        flows * self.arrivals.map_or(1.0, |arrivals| arrivals.rate_per_s * seconds)
    }
}

impl Scenario {
    pub(super) fn rules(&self) -> Result<(), Broken> {
        let flows: f64 = self.flows.iter().map(|flow| f64::from(flow.count * connections(flow))).sum();
        check("flows", flows <= MOST_FLOWS as f64, &too_many(flows, MOST_FLOWS as f64))?;
        for (index, flow) in self.flows.iter().enumerate() {
            let at = |field| format!("flows.{index}.{field}");
            self.check_route(&at("route"), &flow.route)?;
            self.check_direction(&at("direction"), flow, &flow.route)?;
            check(&at("start_s"), flow.start_s < self.duration_s, "must be before duration_s")?;
            let ends = flow.stop_s.is_none_or(|stop| stop > flow.start_s);
            check(&at("stop_s"), ends, "must be after start_s")?;
        }
        let expected: f64 = self.flows.iter().map(|flow| flow.expected(self.duration_s)).sum();
        check("flows", expected <= MOST_ARRIVALS, &too_many(expected, MOST_ARRIVALS))?;
        for (index, event) in self.events.iter().enumerate() {
            let at = |field| format!("events.{index}.reroute.{field}");
            let route = &event.reroute.route;
            self.check_route(&at("route"), route)?;
            let rule = format!("there are only {} flows", self.flows.len());
            for &flow in &event.reroute.flows {
                let flow = self.flows.get(flow).ok_or_else(|| Broken::new(at("flows"), &rule))?;
                self.check_direction(&at("route"), flow, route)?;
            }
        }
        Ok(())
    }

    fn check_route(&self, at: &str, route: &[String]) -> Result<(), Broken> {
        let Some(missing) = route.iter().find(|link| !self.links.contains_key(*link)) else { return Ok(()) };
        let links = self.links.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        Err(Broken::new(at, format!("no link is named {missing:?} (there are: {links})")))
    }

    /// Refuse backward flows over links without `reverse`: no queue would ever limit them.
    fn check_direction(&self, at: &str, flow: &FlowSpec, route: &[String]) -> Result<(), Broken> {
        let limited = route.iter().any(|link| self.links[link].reverse.is_some());
        let fine = flow.direction == FlowDirection::Forward || limited;
        check(at, fine, "a backward flow needs a link that has reverse")
    }
}
