//! Builds the simulation of a constellation: lasers, shared transmitters and flows. Ground links follow when routes need them.

use std::collections::BTreeMap;

use leo_cc::CongestionControl;
use leo_link::Stop;
use rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::forwarding::Forwarding;
use super::load::Loads;
use super::updating::LinkMaker;
use crate::interrupted::Unbuilt;
use crate::network::{Network, PolicySet, TraceSet, driver, flow_over, go_on, lives};
use crate::path::Paths;
use crate::route::Routes;
use crate::scenario::{ConstellationSpec, Scenario, ScenarioError, nanos};
use crate::telemetry::{HOPS, Headers, Port, Size};

/// Build the network of `spec`, in which no link to the ground exists yet.
///
/// # Errors
/// A scheme is unknown, or `stop` returned true.
pub fn build(
    spec: &ConstellationSpec,
    policies: &PolicySet,
    stop: Stop<'_>,
) -> Result<(Network, LinkMaker), Unbuilt> {
    let scenario = Scenario {
        name: spec.name.clone(),
        duration_s: spec.duration_s,
        seed: spec.seed,
        host_jitter_us: spec.host_jitter_us,
        handshake: spec.handshake,
        telemetry_header_bytes: spec.telemetry_header_bytes,
        telemetry_hop_bytes: spec.telemetry_hop_bytes,
        links: BTreeMap::new(),
        flows: spec.flows.clone(),
        events: Vec::new(),
    };
    let stations: BTreeMap<&str, u32> = spec.stations.iter().map(String::as_str).zip(0..).collect();
    let (mut pairs, mut numbers) = (Vec::new(), BTreeMap::new());
    let mut pair_of_flow = Vec::new();
    for (index, flow) in spec.flows.iter().enumerate() {
        let mut ends = [0; 2];
        for (end, name) in ends.iter_mut().zip(&flow.route) {
            *end = *stations.get(name.as_str()).ok_or_else(|| {
                ScenarioError::new(
                    &spec.name,
                    format!("flows.{index}.route"),
                    format!("no station is named {name:?}"),
                )
            })?;
        }
        pair_of_flow.push(*numbers.entry(ends).or_insert_with(|| {
            pairs.push(ends);
            pairs.len() as u32 - 1
        }));
    }
    let mut seeds = Pcg64Mcg::seed_from_u64(spec.seed);
    let (mut flows, mut asks) = (Vec::new(), false);
    for (index, flow_spec) in scenario.flows.iter().enumerate() {
        for _ in 0..flow_spec.count {
            for life in lives(&scenario, flow_spec, seeds.next_u64()) {
                go_on(stop)?;
                let driver = driver(&scenario, index, &TraceSet::new(), policies, life.seed)?;
                // Bits that the flow's start does not use.
                let hash = (life.seed >> 32) as u32;
                let path = spec.flow_paths.get(index).copied().flatten().unwrap_or(hash) % spec.paths;
                let routes = Routes::in_network(pair_of_flow[index] * spec.paths + path);
                let asks_now = driver.0.header().is_some();
                let mut flow = flow_over(&scenario, index, routes, driver, &life, None);
                flow.use_ecn(flow_spec.ecn.negotiated(flow.sender.scheme().is_scalable()));
                if scenario.handshake && !flow.sends_datagrams() {
                    flow.handshake = Some(Box::default());
                }
                if asks_now {
                    if spec.shared_ground {
                        let rule = format!(
                            "{} needs telemetry, which shared ground transmitters do not have: set shared to false",
                            flow_spec.scheme
                        );
                        return Err(
                            ScenarioError::new(&spec.name, format!("flows.{index}.scheme"), rule).into()
                        );
                    }
                    let [header, hop] =
                        [spec.telemetry_header_bytes, spec.telemetry_hop_bytes].map(|bytes| bytes as u16);
                    flow.headers = Some(Box::new(Headers::new(HOPS, Size { header, hop })));
                    asks = true;
                }
                flow.settle();
                flows.push(flow);
            }
        }
    }
    let nodes = [spec.satellites, spec.stations.len() as u32];
    let mut forwarding = Forwarding::new(nodes, &spec.lasers, &pairs, spec.paths as usize);
    forwarding.loads = spec.by_load.map(|by_load| Loads::new(nanos(by_load.period_ms, 1e6), by_load.most));
    let (mut links, mut logged_links) = (Vec::new(), Vec::new());
    let maker = LinkMaker::new(spec, asks, &mut forwarding, &mut links, &mut logged_links);
    let ports = if asks { vec![Port::new(flows.len()); links.len()] } else { Vec::new() };
    let paths = Paths::forwarded(forwarding);
    Ok((Network { links, logged_links, flows, clients: Vec::new(), paths, ports }, maker))
}
