//! The loads of flows with a workload, and their clients.

use leo_link::{NEVER, Nanos};
use leo_workload::{
    Adaptation, Call, CallSpec, Client as Kind, Object, Page, PageSpec, Player, VideoSpec, WorkloadSpec,
};

use super::{Life, NANOS_PER_MS, NANOS_PER_S};
use crate::client::{Client, Connection};
use crate::flow::Load;
use crate::scenario::{
    AdaptationRule, Broken, CallSpec as CallFields, FlowSpec, GCC_SCHEME, HttpVersion,
    PageSpec as PageFields, Part, Scenario, VideoSpec as VideoFields, nanos, parse,
};

/// Bitrates in kbit/s of Yin et al., "A Control-Theoretic Approach for Dynamic Adaptive Video Streaming over HTTP", §7.1.
const BITRATES_KBPS: [f64; 5] = [350.0, 600.0, 1_000.0, 2_000.0, 3_000.0];
/// Browsers open this many connections per host with HTTP/1.1.
const HTTP1_CONNECTIONS: u32 = 6;

/// Return the lives of a flow's workload with their loads: one per connection. Without a workload, return them as they are.
///
/// Clients are appended to `clients`; `first_flow` is the index of the first of these flows.
pub fn loaded(
    lives: Vec<Life>,
    spec: &FlowSpec,
    first_flow: usize,
    clients: &mut Vec<Client>,
) -> Vec<(Life, Option<Load>)> {
    let (kind, requests) = match described(spec) {
        None => return lives.into_iter().map(|life| (life, None)).collect(),
        Some(WorkloadSpec::Call(call)) => {
            let load = Load::Call(Box::new(Call::new(call)));
            return lives.into_iter().map(|life| (life, Some(load.clone()))).collect();
        }
        Some(WorkloadSpec::Video(video)) => (Kind::Video(Player::new(video)), 1),
        Some(WorkloadSpec::Page(page)) => {
            let objects = page.objects.len();
            (Kind::Page(Page::new(page)), objects)
        }
    };
    let connections = connections(spec) as usize;
    let life = &lives[0];
    let lives = (0..connections).map(|place| {
        let load = Load::Connection(Connection::new(clients.len(), place, requests));
        let start = if place == 0 { life.start } else { NEVER };
        let seed = life.seed.wrapping_add(place as u64);
        (Life { start, stop: life.stop, transfer_bytes: None, seed }, Some(load))
    });
    let lives = lives.collect();
    clients.push(Client { kind, first_flow, connections, since: life.start });
    lives
}

/// Return how many flows a workload stands for.
pub fn connections(spec: &FlowSpec) -> u32 {
    let page = spec.workload.as_ref().and_then(|workload| workload.page.as_ref());
    page.map_or(1, |page| if page.http == HttpVersion::Http1 { HTTP1_CONNECTIONS } else { 1 })
}

/// Return each flow's workload as JSON, with its number of connections; `None` for a flow without one.
///
/// # Errors
/// A number is no JSON.
pub fn plan_workloads(scenario: &Scenario) -> serde_json::Result<Vec<Option<(String, u32)>>> {
    let json = |spec: &WorkloadSpec| Ok((serde_json::to_string(spec)?, spec.connections()));
    scenario.flows.iter().map(|flow| described(flow).as_ref().map(json).transpose()).collect()
}

fn described(spec: &FlowSpec) -> Option<WorkloadSpec> {
    let workload = spec.workload.as_ref()?;
    let video = workload.video.as_ref().map(|fields| WorkloadSpec::Video(video(fields)));
    let page = || workload.page.as_ref().map(|fields| WorkloadSpec::Page(page(fields)));
    let call = || workload.call.as_ref().map(|fields| call(fields, spec.scheme == GCC_SCHEME));
    video.or_else(page).or_else(|| call().map(WorkloadSpec::Call))
}

/// Return the client of the video that `json` describes.
///
/// # Errors
/// The JSON is no valid [`VideoFields`].
pub fn player(json: &str) -> Result<Player, Broken> {
    let fields: VideoFields = parse(json)?;
    fields.validate()?;
    Ok(Player::new(video(&fields)))
}

fn seconds(value: f64) -> Nanos {
    nanos(value, NANOS_PER_S)
}

fn video(fields: &VideoFields) -> VideoSpec {
    let bitrates = fields.bitrates_kbps.as_deref().unwrap_or(&BITRATES_KBPS);
    VideoSpec {
        adaptation: match fields.adaptation {
            AdaptationRule::Bba => Adaptation::Bba,
            AdaptationRule::Bola => Adaptation::Bola,
            AdaptationRule::Rate => Adaptation::Rate,
            AdaptationRule::Mpc => Adaptation::Mpc,
            AdaptationRule::RobustMpc => Adaptation::RobustMpc,
        },
        bitrates_mbps: bitrates.iter().map(|kbps| kbps / 1e3).collect(),
        chunk: seconds(fields.chunk_s),
        buffer: seconds(fields.buffer_s),
        reservoir: seconds(fields.reservoir_s),
        cushion: seconds(fields.cushion_s),
    }
}

fn page(fields: &PageFields) -> PageSpec {
    let multiplexes = fields.http == HttpVersion::Http2;
    PageSpec {
        objects: fields
            .objects
            .iter()
            .map(|object| Object {
                bytes: u64::from(object.bytes),
                after: object.after.iter().map(|&index| index as u32).collect(),
                client: nanos(object.client_ms, NANOS_PER_MS),
                server: nanos(object.server_ms, NANOS_PER_MS),
            })
            .collect(),
        connections: if multiplexes { 1 } else { HTTP1_CONNECTIONS },
        multiplexes,
    }
}

fn call(fields: &CallFields, adapts: bool) -> CallSpec {
    let bps = |mbps: f64| (mbps * 1e6).round() as u64;
    CallSpec {
        frames_per_s: fields.frames_per_s,
        start_bps: bps(fields.start_mbps),
        min_bps: bps(fields.min_mbps),
        max_bps: bps(fields.max_mbps),
        adapts,
    }
}
