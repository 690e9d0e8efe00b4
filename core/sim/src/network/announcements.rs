//! What path traces announce to schemes that ask: handovers and the grid of reconfigurations.

use leo_cc::{Context, Handover};
use leo_link::{Nanos, PathTrace};
use serde::Deserialize;

use super::{NANOS_PER_S, TraceSet};
use crate::scenario::{LinkSpec, Scenario, nanos};

/// The part of a path trace's metadata that announces something; other traces may lack all of it.
#[derive(Debug, Default, Deserialize)]
struct Announced {
    #[serde(default)]
    handovers: Vec<Announcement>,
    #[serde(default)]
    reattach_s: Option<f64>,
    #[serde(default)]
    reattach_phase_s: f64,
}

#[derive(Debug, Deserialize)]
struct Announcement {
    predicted_s: f64,
}

/// What is announced along `route`, in the scenario's time, to its end.
pub fn along(scenario: &Scenario, route: &[String], traces: &TraceSet, seed: u64) -> Context {
    let end = nanos(scenario.duration_s, NANOS_PER_S);
    let mut handovers = Vec::new();
    let mut reconfiguration = None;
    for link in route.iter().filter_map(|name| scenario.links.get(name)) {
        let Some(trace) = link.trace.as_ref().and_then(|key| traces.get(key)) else { continue };
        // The trace's own reader has checked that this is JSON; a foreign one may be shaped otherwise.
        let announced: Announced = serde_json::from_str(&trace.metadata).unwrap_or_default();
        handovers.extend(repeated(&announced, link, trace, end));
        reconfiguration = reconfiguration.or_else(|| grid(&announced, link));
    }
    handovers.sort_unstable_by_key(|handover: &Handover| handover.expected_at);
    Context { handovers: handovers.into(), reconfiguration, seed }
}

/// The announcements of every period that the scenario sees.
fn repeated<'a>(
    announced: &'a Announced,
    link: &LinkSpec,
    trace: &PathTrace,
    end: Nanos,
) -> impl Iterator<Item = Handover> + 'a {
    let offset = nanos(link.offset_s, NANOS_PER_S) % trace.period_ns;
    let period = trace.period_ns;
    let periods = (end + offset) / period + 1;
    (0..periods).flat_map(|round| announced.handovers.iter().map(move |one| (round, one))).filter_map(
        move |(round, one)| {
            let at = round * period + nanos(one.predicted_s.max(0.0), NANOS_PER_S);
            let expected_at = at.checked_sub(offset)?;
            (expected_at < end).then_some(Handover { expected_at })
        },
    )
}

/// First instant and period of the reconfigurations.
fn grid(announced: &Announced, link: &LinkSpec) -> Option<(Nanos, Nanos)> {
    let period = announced.reattach_s.filter(|&period| period > 0.0)?;
    let first = (announced.reattach_phase_s - link.offset_s).rem_euclid(period);
    Some((nanos(first, NANOS_PER_S), nanos(period, NANOS_PER_S).max(1)))
}
