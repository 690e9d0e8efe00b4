//! Announcements in path traces for schemes that use them: handovers and the reconfiguration grid.

use leo_cc::{Announcement, Context, Handover, announced_to};
use leo_link::{Interrupted, Nanos, PathTrace, Stop};
use serde::Deserialize;

use super::{NANOS_PER_S, TraceSet, go_on};
use crate::scenario::{LinkSpec, Scenario, nanos};

/// The announcements in a path trace's metadata; all are optional.
#[derive(Debug, Default, Deserialize)]
struct Announced {
    #[serde(default)]
    handovers: Vec<Predicted>,
    #[serde(default)]
    reattach_s: Option<f64>,
    #[serde(default)]
    reattach_phase_s: f64,
    /// Time from the grid's epoch to the trace's first row.
    #[serde(default)]
    start_s: f64,
}

#[derive(Debug, Deserialize)]
struct Predicted {
    predicted_s: f64,
}

/// Return the announcements along a flow's routes, each while the flow is on it, until the scenario's end, in the
/// scenario's time. The grid is that of the first route with one.
pub fn along(scenario: &Scenario, flow: usize, traces: &TraceSet, seed: u64) -> Context {
    let end = nanos(scenario.duration_s, NANOS_PER_S);
    let mut handovers = Vec::new();
    let mut reconfiguration = None;
    let routes = routes(scenario, flow);
    let ends = routes.iter().skip(1).map(|&(from, _)| from).chain([end]);
    for (&(from, route), until) in routes.iter().zip(ends) {
        let is_on_it = |handover: &Handover| (from..until).contains(&handover.expected_at);
        for (link, trace, announced) in announcing(scenario, route, traces) {
            handovers.extend(repeated(&announced, link, trace, end).filter(is_on_it));
            reconfiguration = reconfiguration.or_else(|| grid(&announced, link));
        }
    }
    handovers.sort_unstable_by_key(|handover: &Handover| handover.expected_at);
    Context { handovers: handovers.into(), reconfiguration, seed, ..Context::default() }
}

/// Return a flow's routes with their start times, in order of time.
fn routes(scenario: &Scenario, flow: usize) -> Vec<(Nanos, &[String])> {
    let later = scenario.events.iter().filter(|event| event.reroute.flows.contains(&flow));
    let later = later.map(|event| (nanos(event.at_s, NANOS_PER_S), event.reroute.route.as_slice()));
    let mut routes: Vec<_> = [(0, scenario.flows[flow].route.as_slice())].into_iter().chain(later).collect();
    routes.sort_by_key(|&(from, _)| from);
    routes
}

/// Iterate over the links of `route` with path traces, and the announcements in their metadata.
fn announcing<'a>(
    scenario: &'a Scenario,
    route: &'a [String],
    traces: &'a TraceSet,
) -> impl Iterator<Item = (&'a LinkSpec, &'a PathTrace, Announced)> {
    route.iter().filter_map(|name| scenario.links.get(name)).filter_map(|link| {
        let trace = traces.get(link.trace.as_ref()?)?;
        // The trace reader has checked that the metadata is JSON; a foreign trace may have another structure.
        Some((link, &**trace, serde_json::from_str(&trace.metadata).unwrap_or_default()))
    })
}

/// Return the flows whose schemes need an announcement that their routes lack, with that announcement.
///
/// # Errors
/// `stop` returned true.
pub fn missing(
    scenario: &Scenario,
    traces: &TraceSet,
    stop: Stop<'_>,
) -> Result<Vec<(usize, Announcement)>, Interrupted> {
    let mut missing = Vec::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let Some(wanted) = announced_to(&flow.scheme) else { continue };
        go_on(stop)?;
        let mut announced = routes(scenario, index)
            .into_iter()
            .flat_map(|(_, route)| announcing(scenario, route, traces))
            .map(|(_, _, announced)| announced);
        let is_there = announced.any(|announced| match wanted {
            Announcement::Handovers => !announced.handovers.is_empty(),
            Announcement::Reconfigurations => announced.reattach_s.is_some_and(|period| period > 0.0),
        });
        if !is_there {
            missing.push((index, wanted));
        }
    }
    Ok(missing)
}

/// Repeat a trace's handovers for every period within the scenario.
fn repeated<'a>(
    announced: &'a Announced,
    link: &LinkSpec,
    trace: &PathTrace,
    end: Nanos,
) -> impl Iterator<Item = Handover> + 'a {
    let offset = nanos(link.offset_s, NANOS_PER_S) % trace.period_ns;
    let period = trace.period_ns;
    let periods = (end + offset) / period + 1;
    (0..periods)
        .flat_map(|round| announced.handovers.iter().map(move |handover| (round, handover)))
        .filter_map(move |(round, handover)| {
            let at = round * period + nanos(handover.predicted_s.max(0.0), NANOS_PER_S);
            let expected_at = at.checked_sub(offset)?;
            (expected_at < end).then_some(Handover { expected_at })
        })
}

/// Return the time of the first reconfiguration and the period.
fn grid(announced: &Announced, link: &LinkSpec) -> Option<(Nanos, Nanos)> {
    let period = announced.reattach_s.filter(|&period| period > 0.0)?;
    let first = (announced.reattach_phase_s - announced.start_s - link.offset_s).rem_euclid(period);
    Some((nanos(first, NANOS_PER_S), nanos(period, NANOS_PER_S).max(1)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_grid_counts_from_the_traces_epoch_not_from_its_first_row() {
        // Re-selections at 12 s, 27 s, … since the epoch. The trace starts at 7 s, the link at its 10 s.
        let csv = "# {\"format\": \"leogym-path-trace\", \"version\": 1, \"reattach_s\": 15.0, \
                   \"reattach_phase_s\": 12.0, \"start_s\": 7.0}\n\
                   time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event\n\
                   0,10,10,10,0,1,0,\n60,10,10,10,0,1,0,\n";
        let scenario = r#"{"duration_s": 5.0, "seed": 1, "links": {"b": {"trace": "path", "offset_s": 10.0}},
                           "flows": [{"scheme": "leocc", "route": ["b"]}]}"#;
        let scenario = Scenario::from_json(scenario).expect("valid");
        let trace = Arc::new(PathTrace::parse(csv, "path").expect("valid"));
        let traces = TraceSet::from([("path".to_owned(), trace)]);
        let grid = along(&scenario, 0, &traces, 0).reconfiguration;
        // The run starts 17 s after the epoch, 10 s before the re-selection at 27 s.
        assert_eq!(grid, Some((10_000_000_000, 15_000_000_000)));
    }

    #[test]
    fn handovers_are_those_of_the_route_that_the_flow_is_on_at_the_time() {
        let trace = |handovers: &str| {
            let csv = format!(
                "# {{\"format\": \"leogym-path-trace\", \"version\": 1, \"handovers\": [{handovers}]}}\n\
                 time_s,delay_ms,uplink_mbps,downlink_mbps,loss,connected,path_id,event\n\
                 0,10,10,10,0,1,0,\n60,10,10,10,0,1,0,\n"
            );
            Arc::new(PathTrace::parse(&csv, "path").expect("valid"))
        };
        let traces = TraceSet::from([
            ("first".to_owned(), trace(r#"{"predicted_s": 3.0}, {"predicted_s": 13.0}"#)),
            ("second".to_owned(), trace(r#"{"predicted_s": 4.0}, {"predicted_s": 14.0}"#)),
        ]);
        let scenario = r#"{"duration_s": 20.0, "seed": 1, "links": {"a": {"trace": "first"}, "b": {"trace": "second"}},
                           "flows": [{"scheme": "satcp", "route": ["a"]}, {"scheme": "satcp", "route": ["a"]}],
                           "events": [{"at_s": 10.0, "reroute": {"flows": [1], "route": ["b"]}}]}"#;
        let scenario = Scenario::from_json(scenario).expect("valid");
        let expected_s = |flow| {
            let context = along(&scenario, flow, &traces, 0);
            context.handovers.iter().map(|handover| handover.expected_at / 1_000_000_000).collect::<Vec<_>>()
        };
        assert_eq!((expected_s(0), expected_s(1)), (vec![3, 13], vec![3, 14]));
    }
}
