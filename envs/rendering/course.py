"""The course of a path over an episode, from its scenario: capacity, base RTT, outages and events."""

from collections.abc import Mapping
from dataclasses import dataclass

import leosim
import numpy as np
from numpy.typing import NDArray

from leogym.configs.scenario import Flow, Link, Scenario
from leogym.traces.path import handover

Floats = NDArray[np.float64]

REROUTE = "reroute"
"""The kind of event at which a scenario moves a flow to another route."""
EVENTS = (handover.HARD, handover.SOFT, handover.UNREACHABLE, REROUTE)

Stretch = tuple[float, float, list[str]]
"""Begin and end in s, and the links of the route between them."""


STEP_S = 0.1
"""Step of the series: some paths change every millisecond, which a strip could not show."""


@dataclass(frozen=True)
class Course:
    """A path's capacity, base RTT, outages and events during an episode, in steps of `STEP_S`."""

    scenario: Scenario
    capacity_mbps: Floats
    """Mean over each step of the bottleneck's capacity on the first learning flow's route, in IP packets,
    (steps,); outages count as zero."""
    base_rtt_ms: Floats
    """Propagation both ways of each learning flow at the begin of each step, (flows, steps)."""
    outage_s: Floats
    """Begin and end of each outage of that route, (outages, 2)."""
    event_s: dict[str, Floats]
    """Times of that route's events, by kind; all of `EVENTS`."""
    stretches: list[Stretch]
    """That flow's routes."""

    def step(self, time_s: float) -> int:
        """Return the index of the step that ends at or contains a time."""
        index = int(np.ceil(time_s / STEP_S - 1e-6)) - 1
        return min(max(index, 0), len(self.capacity_mbps) - 1)

    def route(self, time_s: float) -> list[str]:
        """Return the links of the first learning flow's route at a time."""
        return next((route for _, end_s, route in self.stretches if time_s < end_s), self.stretches[-1][2])


def course(scenario: Scenario, traces: Mapping[str, leosim.PathTrace]) -> Course:
    """Return the course of a scenario with at least one learning flow; ``traces`` are those it names."""
    plans = {plan.name: plan for plan in leosim.plan_links(scenario.to_json(), dict(traces))}
    learners = [
        index
        for index, flow in enumerate(scenario.flows)
        if flow.scheme == "agent"
        for _ in range(flow.count)
    ]
    stretches = {index: _stretches(scenario, index) for index in learners}
    used = {link for own in stretches.values() for *_, route in own for link in route}
    end_s = scenario.duration_s
    changes = [plans[name].start_ns / 1e9 for name in used]
    changes.append(np.array([start_s for own in stretches.values() for start_s, *_ in own]))
    edge_s = np.unique(np.concatenate(changes))
    edge_s = np.append(edge_s[edge_s < end_s], end_s)
    paths = {
        index: _path(scenario.flows[index], scenario.links, own, plans, edge_s)
        for index, own in stretches.items()
    }
    first = learners[0]
    capacity_mbps, _, connected = paths[first]
    step_s = np.append(np.arange(0.0, end_s - 1e-9, STEP_S), end_s)
    span = np.searchsorted(edge_s, step_s[:-1] + 1e-9, side="right") - 1
    carried = np.cumsum(np.where(connected, capacity_mbps, 0.0) * np.diff(edge_s))
    at_edges = np.interp(step_s, edge_s, np.append(0.0, carried))
    return Course(
        scenario=scenario,
        capacity_mbps=np.diff(at_edges) / np.diff(step_s),
        base_rtt_ms=np.stack([paths[index][1][span] for index in learners]),
        outage_s=_outages(edge_s, connected),
        event_s=_events(scenario, stretches[first], traces),
        stretches=stretches[first],
    )


def _stretches(scenario: Scenario, flow: int) -> list[Stretch]:
    moves = sorted(
        (event.at_s, event.reroute.route)
        for event in scenario.events
        if flow in event.reroute.flows and event.at_s < scenario.duration_s
    )
    starts = [(0.0, scenario.flows[flow].route), *moves]
    ends = [*(start_s for start_s, _ in moves), scenario.duration_s]
    return [(start_s, end_s, route) for (start_s, route), end_s in zip(starts, ends, strict=True)]


def _path(
    flow: Flow,
    links: Mapping[str, Link],
    stretches: list[Stretch],
    plans: Mapping[str, leosim.LinkPlan],
    edge_s: Floats,
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return capacity in Mbit/s, base RTT in ms and whether the route is connected, each (spans,)."""
    capacity_mbps = np.full(len(edge_s) - 1, np.inf)
    rtt_ms = np.full(len(edge_s) - 1, 2 * flow.extra_delay_ms)
    connected = np.ones(len(edge_s) - 1, dtype=bool)
    for start_s, end_s, route in stretches:
        spans = np.flatnonzero((edge_s[:-1] >= start_s) & (edge_s[:-1] < end_s))
        for name in route:
            plan = plans[name]
            # Half a nanosecond keeps an edge that was rounded down in its own span.
            at = np.searchsorted(plan.start_ns, edge_s[spans] * 1e9 + 0.5, side="right") - 1
            reverse = links[name].reverse
            if flow.direction == "forward":
                capacity_mbps[spans] = np.minimum(capacity_mbps[spans], plan.rate_bps[at] / 1e6)
            elif reverse is not None and reverse.rate_mbps is not None:
                capacity_mbps[spans] = np.minimum(capacity_mbps[spans], reverse.rate_mbps)
            rtt_ms[spans] += (plan.delay_ns[at] + plan.back_delay_ns[at]) / 1e6
            connected[spans] &= plan.connected[at] & plan.back_connected[at]
    # The plan lacks the capacity of a backward flow over a trace's downlink.
    return np.where(np.isinf(capacity_mbps), np.nan, capacity_mbps), rtt_ms, connected


def _outages(edge_s: Floats, connected: NDArray[np.bool_]) -> Floats:
    change = np.diff(np.concatenate([[0], ~connected, [0]]).astype(int))
    return np.stack([edge_s[change == 1], edge_s[change == -1]], axis=1)


def _events(
    scenario: Scenario, stretches: list[Stretch], traces: Mapping[str, leosim.PathTrace]
) -> dict[str, Floats]:
    times: dict[str, list[Floats]] = {kind: [np.empty(0)] for kind in EVENTS}
    times[REROUTE].append(np.array([start_s for start_s, *_ in stretches[1:]]))
    for start_s, end_s, route in stretches:
        for link in (scenario.links[name] for name in route):
            if link.trace is None:
                continue
            trace = traces[link.trace]
            kinds = np.array([event.partition("(")[0] for event in trace.event])
            period_s = trace.period_ns / 1e9
            for kind in EVENTS[:-1]:
                once = (trace.time_ns[kinds == kind] / 1e9 - link.offset_s) % period_s
                turns = np.arange(int(end_s // period_s) + 1) * period_s
                at_s = (once[:, None] + turns).ravel()
                times[kind].append(at_s[(at_s >= start_s) & (at_s < end_s)])
    return {kind: np.unique(np.concatenate(parts)) for kind, parts in times.items()}
