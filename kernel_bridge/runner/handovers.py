"""Handover reports for SaTCP flows, from their path traces' announcements, as in the simulator.

A report starts T_err = 0.6 s before the expected handover, because about 90 % of predictions are within that
error (SaTCP, INFOCOM 2023, section V-B). It lasts 2 T_err + TCP_RTO_MIN + 0.1 s = 1.5 s (section V-C).
"""

import json
from collections.abc import Iterable

import leosim

from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.kernel_bridge.runner.plan import Plan, PlannedFlow, PlannedLink

REPORT_ERROR_NS = 600 * NS_PER_MS
INHIBITION_NS = 2 * REPORT_ERROR_NS + 200 * NS_PER_MS + 100 * NS_PER_MS


def expected_ns(link: PlannedLink, duration_ns: int) -> list[int]:
    """Return a link's expected handovers within a run, in ns from its start."""
    if link.csv is None:
        return []
    metadata = json.loads(leosim.PathTrace.parse(link.csv.decode(), link.name).metadata or "{}")
    offset_ns = round(link.spec.offset_s * NS_PER_S) % link.period_ns
    rounds = (duration_ns + offset_ns) // link.period_ns + 1
    times = (
        number * link.period_ns + max(0, round(handover["predicted_s"] * NS_PER_S)) - offset_ns
        for number in range(rounds)
        for handover in metadata.get("handovers", [])
    )
    return sorted(time_ns for time_ns in times if 0 <= time_ns < duration_ns)


def reports_ns(expected: Iterable[int]) -> list[tuple[int, int]]:
    """Return begin and end of handover reports; overlapping reports are merged."""
    merged: list[tuple[int, int]] = []
    for time_ns in sorted(expected):
        begin = max(0, time_ns - REPORT_ERROR_NS)
        end = begin + INHIBITION_NS
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((begin, end))
    return merged


def of_flow(plan: Plan, flow: PlannedFlow) -> list[tuple[int, int]]:
    """Return begin and end of the handover reports on a flow's links."""
    return reports_ns(time for link in plan.links_of(flow) for time in expected_ns(link, plan.duration_ns))
