//! Builds links, routes and flows from a scenario.

mod announcements;
mod arrivals;
pub mod queue;
mod workloads;

pub use announcements::missing as missing_announcements;
pub use workloads::{connections, plan_workloads, player};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use leo_cc::{CongestionControl, Context, External, Scheme};
use leo_control::Policy;
use leo_link::{
    Direction, DropTail, Interrupted, Jitter, Link, Loss, Nanos, PathTrace, Schedule, Stop, UNLIMITED,
};
use leo_transport::{ReceiveWindow, SendBuffer};
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::client::Client;
use crate::flow::{Flow, Load, Steering};
use crate::interrupted::Unbuilt;
use crate::oracle::{ORACLE_SCHEME, Oracle};
use crate::packet::Packet;
use crate::path::Paths;
use crate::route::{Route, Routes};
use crate::scenario::{
    AGENT_SCHEME, Distribution, FlowDirection, FlowSpec, LinkSpec, OutageEffect, Scenario, ScenarioError,
    UDP_SCHEME, nanos, sends_datagrams,
};
use crate::source::{OnOff, Source};
use crate::stack_flow::StackFlow;
use crate::stacks::{STACK_SCHEMES, is_missing, is_stack, stack, unsupported};
use crate::telemetry::{Headers, Port, Size};

/// Path traces by the key that scenarios use.
pub type TraceSet = BTreeMap<String, Arc<PathTrace>>;
/// Policies by the scheme name that scenarios use.
pub type PolicySet = BTreeMap<String, Arc<Policy>>;

const NANOS_PER_S: f64 = 1e9;
const NANOS_PER_MS: f64 = 1e6;

pub struct Network {
    /// The scenario's links, their reverse directions in the same order, then access links.
    pub links: Vec<Link<Packet>>,
    /// Names and indices of logged links: the scenario's, then reverse directions with a `reverse` entry.
    pub logged_links: Vec<(String, usize)>,
    pub flows: Vec<Flow>,
    pub clients: Vec<Client>,
    pub paths: Paths,
    /// Ports of the scenario's links and reverse directions; empty if no scheme needs telemetry.
    pub ports: Vec<Port>,
}

/// The plan of one link, without queue discipline and packets.
#[derive(Clone, Debug)]
pub struct LinkPlan {
    /// Its name in the scenario.
    pub name: String,
    /// Delay, capacity, outages, and the path trace's loss.
    pub schedule: Schedule,
    /// The same of the reverse direction, which is uncongested unless the scenario gives it a `reverse`.
    pub back: Schedule,
    /// Size of its queue.
    pub limit: DropTail,
    /// Independent loss probability, in addition to the path trace's.
    pub loss: f64,
    /// Seed for `Loss::new`, to reproduce the link's random losses elsewhere.
    pub loss_seed: u64,
}

/// Plan the links of `scenario`, sorted by name.
///
/// # Errors
/// A path trace is missing from `traces` or never has capacity, or `stop` returned true.
pub fn plan_links(scenario: &Scenario, traces: &TraceSet, stop: Stop<'_>) -> Result<Vec<LinkPlan>, Unbuilt> {
    plan(scenario, traces, &mut Pcg64Mcg::seed_from_u64(scenario.seed), stop)
}

fn plan(
    scenario: &Scenario,
    traces: &TraceSet,
    seeds: &mut Pcg64Mcg,
    stop: Stop<'_>,
) -> Result<Vec<LinkPlan>, Unbuilt> {
    let mut planned = Vec::new();
    for (name, spec) in &scenario.links {
        // A link reads its whole trace.
        go_on(stop)?;
        let back = spec.reverse.as_ref().map_or(Some(UNLIMITED), |reverse| bps(reverse.rate_mbps));
        planned.push(LinkPlan {
            name: name.clone(),
            schedule: schedule(scenario, name, spec, (Direction::Uplink, bps(spec.rate_mbps)), traces)?,
            back: schedule(scenario, name, spec, (Direction::Downlink, back), traces)?,
            limit: DropTail::INFINITE,
            loss: spec.loss,
            loss_seed: seeds.next_u64(),
        });
    }
    // BDP sizes depend on the delays of all links.
    for (index, spec) in scenario.links.values().enumerate() {
        // The delays of all flows' routes.
        go_on(stop)?;
        let rtt = largest_base_rtt(scenario, &planned[index].name, &planned);
        planned[index].limit = queue::limit(&spec.queue, planned[index].schedule.at(0).rate_bps, rtt);
    }
    Ok(planned)
}

pub fn build(
    scenario: &Scenario,
    traces: &TraceSet,
    policies: &PolicySet,
    stop: Stop<'_>,
) -> Result<Network, Unbuilt> {
    let names: Vec<String> = scenario.links.keys().cloned().collect();
    let mut seeds = Pcg64Mcg::seed_from_u64(scenario.seed);
    let planned = plan(scenario, traces, &mut seeds, stop)?;
    let mut links = Vec::new();
    for (spec, plan) in scenario.links.values().zip(&planned) {
        let loss = Loss::new(plan.loss, plan.loss_seed);
        let mut link = Link::new(plan.schedule.clone(), plan.limit, loss, Jitter::none());
        if spec.burst_bytes > 0 {
            link = link.with_bucket(spec.burst_bytes);
        }
        let link = in_outages(link, spec.outage);
        links.push(queue::install(link, &spec.queue, queue_seed(scenario.seed, links.len())));
    }
    let mut logged_links: Vec<(String, usize)> = names.iter().cloned().zip(0..).collect();
    for ((name, spec), plan) in scenario.links.iter().zip(&planned) {
        go_on(stop)?;
        let jitter = Jitter::new(nanos(scenario.host_jitter_us, 1e3), seeds.next_u64());
        let schedule = plan.back.clone();
        let Some(reverse) = &spec.reverse else {
            let link = Link::new(schedule, DropTail::INFINITE, Loss::new(0.0, 0), jitter);
            links.push(in_outages(link, spec.outage));
            continue;
        };
        let rtt = largest_base_rtt(scenario, name, &planned);
        let limit = queue::limit(&reverse.queue, schedule.at(0).rate_bps, rtt);
        let loss = Loss::new(reverse.loss, reverse_loss_seed(scenario.seed, links.len()));
        let link = in_outages(Link::new(schedule, limit, loss, jitter), spec.outage);
        logged_links.push((format!("{name}.reverse"), links.len()));
        links.push(queue::install(link, &reverse.queue, queue_seed(scenario.seed, links.len())));
    }
    let (mut flows, mut clients, mut paths) = (Vec::new(), Vec::new(), Paths::default());
    for (index, spec) in scenario.flows.iter().enumerate() {
        for _ in 0..spec.count {
            let seed = seeds.next_u64();
            let access = access(spec, &mut links);
            for (life, load) in
                workloads::loaded(lives(scenario, spec, seed), spec, flows.len(), &mut clients)
            {
                go_on(stop)?;
                let driver = driver(scenario, index, traces, policies, life.seed)?;
                let asks = driver.0.header().is_some();
                let mut flow = flow(scenario, index, (&names, &mut paths), driver, access, (&life, load));
                flow.use_ecn(spec.ecn.negotiated(flow.sender.scheme().is_scalable()));
                if scenario.handshake && !flow.sends_datagrams() {
                    flow.handshake = Some(Box::default());
                }
                if spec.scheme == ORACLE_SCHEME {
                    flow.oracle = Some(oracle(scenario, &flow, &links));
                }
                if asks {
                    flow.headers = Some(headers(scenario, &flow.routes));
                }
                flow.settle();
                flows.push(flow);
            }
        }
    }
    let asked: BTreeSet<u32> = flows
        .iter()
        .filter(|flow| flow.headers.is_some())
        .flat_map(|flow| flow.routes.over(0, Nanos::MAX).flat_map(|(route, ..)| &route.links).copied())
        .collect();
    let ports = if asked.is_empty() { Vec::new() } else { vec![Port::new(flows.len()); 2 * names.len()] };
    // Only data packets collect telemetry, so links that carry only ACKs need no observation.
    let observe = |(index, link): (u32, Link<Packet>)| {
        if asked.contains(&index) { link.observed() } else { link }
    };
    let links: Vec<_> = (0..).zip(links).map(observe).collect();
    let steadily = |link: u32| links[link as usize].delays_steadily();
    paths.shorten(|link| links[link as usize].only_delays(), steadily);
    Ok(Network { links, logged_links, flows, clients, paths, ports })
}

pub fn go_on(stop: Stop<'_>) -> Result<(), Interrupted> {
    if stop() { Err(Interrupted) } else { Ok(()) }
}

fn in_outages(link: Link<Packet>, effect: OutageEffect) -> Link<Packet> {
    match effect {
        OutageEffect::Hold => link,
        OutageEffect::Drop => link.discarding_in_outages(),
    }
}

fn bps(rate_mbps: Option<f64>) -> Option<u64> {
    rate_mbps.map(|rate| (rate * 1e6).round() as u64)
}

fn schedule(
    scenario: &Scenario,
    name: &str,
    link: &LinkSpec,
    (direction, rate): (Direction, Option<u64>),
    traces: &TraceSet,
) -> Result<Schedule, ScenarioError> {
    let Some(key) = &link.trace else {
        let delay = nanos(link.delay_ms.unwrap_or(0.0), NANOS_PER_MS);
        return Ok(Schedule::constant(delay, rate.unwrap_or(0).max(1)));
    };
    let Some(trace) = traces.get(key) else {
        let rule = format!("no path trace {key:?} was given");
        return Err(ScenarioError::new(&scenario.name, format!("links.{name}.trace"), rule));
    };
    let schedule = Schedule::traced(trace.clone(), direction, rate, nanos(link.offset_s, NANOS_PER_S));
    let field = format!("links.{name}.trace");
    scenario.check(&field, schedule.ever_carries(), "the trace never has capacity")?;
    Ok(schedule)
}

/// Return the base RTT of a flow over `route` at time 0.
fn base_rtt(flow: &FlowSpec, route: &[String], links: &[LinkPlan]) -> Nanos {
    let links = links.iter().filter(|link| route.contains(&link.name));
    let both_ways: Nanos = links.map(|link| link.schedule.at(0).delay + link.back.at(0).delay).sum();
    both_ways + 2 * nanos(flow.extra_delay_ms, NANOS_PER_MS)
}

/// Return the RTT for BDP sizes: the largest base RTT of flows routed over the link at the start. Without such flows,
/// that of flows rerouted over it later.
fn largest_base_rtt(scenario: &Scenario, name: &str, links: &[LinkPlan]) -> Nanos {
    let crosses = |route: &[String]| route.iter().any(|link| link == name);
    let at_start = scenario.flows.iter().map(|flow| (flow, &flow.route));
    let later = scenario
        .events
        .iter()
        .map(|event| &event.reroute)
        .flat_map(|reroute| reroute.flows.iter().map(|&flow| (&scenario.flows[flow], &reroute.route)));
    let rtt = |(flow, route): (&FlowSpec, &Vec<String>)| base_rtt(flow, route, links);
    let of_start = at_start.filter(|(_, route)| crosses(route)).map(rtt).max();
    of_start.or_else(|| later.filter(|(_, route)| crosses(route)).map(rtt).max()).unwrap_or(0)
}

/// Queue disciplines have their own seeds, so changing a discipline leaves all other draws unchanged.
const fn queue_seed(seed: u64, link: usize) -> u64 {
    seed.rotate_left(32) ^ 0x7175_6575_6500_0000 ^ link as u64
}

/// Reverse losses have their own seeds, so congesting the reverse path leaves all other draws unchanged.
const fn reverse_loss_seed(seed: u64, link: usize) -> u64 {
    seed.rotate_left(32) ^ 0x6c6f_7373_0000_0000 ^ link as u64
}

/// Return the scheme and the steering of a flow.
pub fn driver(
    scenario: &Scenario,
    index: usize,
    traces: &TraceSet,
    policies: &PolicySet,
    seed: u64,
) -> Result<(Scheme, Steering), ScenarioError> {
    let spec = &scenario.flows[index];
    if let Some(policy) = policies.get(&spec.scheme) {
        return Ok((Scheme::external(External::new()), Steering::Policy(policy.clone())));
    }
    if spec.scheme == AGENT_SCHEME {
        return Ok((Scheme::external(External::new()), Steering::Outside));
    }
    if spec.scheme == ORACLE_SCHEME {
        return Ok((Scheme::external(Oracle::scheme()), Steering::Scheme));
    }
    if sends_datagrams(&spec.scheme) {
        // A UDP flow's sender never sends; its scheme is a placeholder.
        return Ok((Scheme::external(External::new()), Steering::Scheme));
    }
    if is_stack(&spec.scheme) {
        // Its sender never sends, either.
        return match unsupported(spec) {
            Some((field, rule)) => {
                Err(ScenarioError::new(&scenario.name, format!("flows.{index}.{field}"), rule))
            }
            None => Ok((Scheme::external(External::new()), Steering::Scheme)),
        };
    }
    let context = if leo_cc::announced_to(&spec.scheme).is_some() {
        announcements::along(scenario, index, traces, seed)
    } else {
        Context { seed, saved: spec.resume.map(|saved| saved.into()), ..Context::default() }
    };
    let scheme = Scheme::by_name(&spec.scheme, &context).ok_or_else(|| {
        let stacks = STACK_SCHEMES.iter().map(|(name, _)| *name);
        let names: Vec<_> = leo_cc::NAMES.iter().copied().chain(stacks).collect();
        let absent = if is_missing(&spec.scheme) { "this build of the simulator" } else { "the simulator" };
        let rule = format!(
            "{absent} does not run the scheme {:?} (it runs: {}, and policies that are given)",
            spec.scheme,
            names.join(", ")
        );
        ScenarioError::new(&scenario.name, format!("flows.{index}.scheme"), rule)
    })?;
    Ok((scheme, Steering::Scheme))
}

fn flow(
    scenario: &Scenario,
    index: usize,
    (names, paths): (&[String], &mut Paths),
    (scheme, steering): (Scheme, Steering),
    access: Option<[u32; 2]>,
    (life, load): (&Life, Option<Load>),
) -> Flow {
    let spec = &scenario.flows[index];
    let later = scenario.events.iter().filter(|event| event.reroute.flows.contains(&index));
    let mut route = |from, links| route(from, (links, spec.direction), (names, paths), access);
    let first = route(0, &spec.route);
    let later = later.map(|event| route(nanos(event.at_s, NANOS_PER_S), &event.reroute.route)).collect();
    flow_over(scenario, index, Routes::new(first, later), (scheme, steering), life, load)
}

/// Return a flow over `routes`, with the load of its workload if it has one.
pub fn flow_over(
    scenario: &Scenario,
    index: usize,
    routes: Routes,
    (scheme, steering): (Scheme, Steering),
    life: &Life,
    load: Option<Load>,
) -> Flow {
    let spec = &scenario.flows[index];
    let extra_delay = nanos(spec.extra_delay_ms, NANOS_PER_MS);
    let flow = Flow::new(spec.scheme.clone(), scheme, steering, routes, extra_delay, life.start, life.stop);
    let stack = |()| {
        let stack = stack(&spec.scheme, life.seed, life.transfer_bytes)?;
        Some(Load::Stack(Box::new(StackFlow::new(stack, life.transfer_bytes))))
    };
    let load = load.or_else(|| stack(())).or_else(|| {
        let rate_bps = (spec.rate_mbps? * 1e6).round() as u64;
        let source = Source::new(rate_bps, on_off(spec), life.seed);
        let udp = spec.scheme == UDP_SCHEME;
        Some(if udp { Load::Datagrams(source) } else { Load::Application(source) })
    });
    let flow = match (load, life.transfer_bytes) {
        (Some(load), _) => flow.loaded(load),
        (None, Some(bytes)) => flow.transferring(bytes),
        (None, None) => flow,
    };
    within_buffers(flow, spec)
}

/// Return the oracle of `flow`, which knows what `links` will carry.
fn oracle(scenario: &Scenario, flow: &Flow, links: &[Link<Packet>]) -> Box<Oracle> {
    let schedule = |link: u32| links[link as usize].schedule().clone();
    let foreseen = |(&link, &back): (&u32, &u32)| (link, schedule(link), schedule(back));
    let routes = flow.routes.all().map(|route| route.links.iter().zip(&route.back).map(foreseen).collect());
    Box::new(Oracle::new(routes.collect(), flow.extra_delay, nanos(scenario.duration_s, NANOS_PER_S)))
}

fn within_buffers(flow: Flow, spec: &FlowSpec) -> Flow {
    if spec.tcp_rmem.is_none() && spec.tcp_wmem.is_none() {
        return flow;
    }
    let wide = |bytes: [u32; 3]| bytes.map(u64::from);
    flow.within(spec.tcp_rmem.map(wide).map(ReceiveWindow::new), spec.tcp_wmem.map(wide).map(SendBuffer::new))
}

/// A flow's lifetime, transfer size and seed.
pub struct Life {
    start: Nanos,
    stop: Nanos,
    transfer_bytes: Option<u64>,
    pub seed: u64,
}

/// Return the flow of `spec`, or every random arrival.
pub fn lives(scenario: &Scenario, spec: &FlowSpec, seed: u64) -> Vec<Life> {
    let end = nanos(scenario.duration_s, NANOS_PER_S);
    let start = nanos(spec.start_s, NANOS_PER_S);
    let stop = spec.stop_s.map_or(end, |stop| nanos(stop, NANOS_PER_S)).min(end);
    if let Some(arrivals) = &spec.arrivals {
        let mut seeds = Pcg64Mcg::seed_from_u64(!seed);
        return arrivals::draw(arrivals, start, stop, seed)
            .into_iter()
            .map(|arrival| Life {
                start: arrival.at,
                stop: end,
                transfer_bytes: Some(arrival.bytes),
                seed: seeds.next_u64(),
            })
            .collect();
    }
    let start = start + host_jitter(seed).min(stop.saturating_sub(start) / 2);
    vec![Life { start, stop, transfer_bytes: spec.transfer_bytes, seed }]
}

/// Add access links for both directions if the flow has access delay. Random arrivals share them.
fn access(spec: &FlowSpec, links: &mut Vec<Link<Packet>>) -> Option<[u32; 2]> {
    let delay = nanos(spec.extra_delay_ms, NANOS_PER_MS);
    (delay > 0).then(|| [push_access(links, delay), push_access(links, delay)])
}

fn headers(scenario: &Scenario, routes: &Routes) -> Box<Headers> {
    let hops = routes.over(0, Nanos::MAX).map(|(route, ..)| route.links.len()).max().unwrap_or(0);
    let [header, hop] =
        [scenario.telemetry_header_bytes, scenario.telemetry_hop_bytes].map(|bytes| bytes as u16);
    Box::new(Headers::new(hops, Size { header, hop }))
}

fn on_off(spec: &FlowSpec) -> Option<OnOff> {
    spec.on_off.map(|on_off| OnOff {
        on: nanos(on_off.on_s, NANOS_PER_S),
        off: nanos(on_off.off_s, NANOS_PER_S),
        random: on_off.distribution == Distribution::Exponential,
    })
}

/// Build a route over the named links, with the flow's access links at its ends.
fn route(
    from: Nanos,
    (route, direction): (&[String], FlowDirection),
    (names, paths): (&[String], &mut Paths),
    access: Option<[u32; 2]>,
) -> Route {
    let index = |link: &String| names.iter().position(|name| name == link).map(|link| link as u32);
    let along: Vec<u32> = route.iter().filter_map(index).collect();
    let reverse: Vec<u32> = along.iter().rev().map(|&link| link + names.len() as u32).collect();
    let (links, answers) = match direction {
        FlowDirection::Forward => (along, reverse),
        FlowDirection::Backward => (reverse, along),
    };
    let there = access.map(|[there, _]| there).into_iter().chain(links.iter().copied()).collect();
    let back = answers.iter().copied().chain(access.map(|[_, back]| back)).collect();
    let path = paths.number(there, back);
    Route { from, path, links: links.into(), back: answers.into_iter().rev().collect() }
}

fn push_access(links: &mut Vec<Link<Packet>>, delay: Nanos) -> u32 {
    let schedule = Schedule::constant(delay, UNLIMITED);
    links.push(Link::new(schedule, DropTail::INFINITE, Loss::new(0.0, 0), Jitter::none()));
    (links.len() - 1) as u32
}

/// Real flows start with jitter, so simulated ones do too: up to 1 ms, from the seed. Without it, flows that
/// start together stay in lockstep and a drop-tail queue always punishes the one that arrives last.
fn host_jitter(seed: u64) -> Nanos {
    seed % 1_000_000
}
