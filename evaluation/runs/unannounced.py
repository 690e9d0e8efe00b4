"""Schemes that make use of what their paths do not announce: their results are another scheme's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import leosim

from evaluation.runs.plan import Run

_WHAT = {
    "handovers": "announced handovers (handovers in the trace's metadata)",
    "reconfigurations": "grid of re-selections (reattach_s in the trace's metadata)",
}
_SHOWN = 3


def found(runs: Iterable[Run], traces: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """Return one entry a suite, scheme and need: what no path of the flows announces, and in which scenarios.

    Args:
        runs: the plan.
        traces: the CSV of every path trace that the runs name.
    """
    parsed = {name: leosim.PathTrace.parse(csv.decode(), name) for name, csv in traces.items()}
    lacking: dict[tuple[str, str, str], list[str]] = {}
    seen = set()
    for run in runs:
        case = (run.suite, run.scenario.name, run.scheme)
        if case in seen:
            continue
        seen.add(case)
        for flow, need in leosim.missing_announcements(run.scenario.to_json(), parsed):
            scheme = run.scenario.flows[flow].scheme
            scenarios = lacking.setdefault((run.suite, scheme, need), [])
            if scheme not in run.policies and run.scenario.name not in scenarios:
                scenarios.append(run.scenario.name)
    return [
        {"suite": suite, "scheme": scheme, "needs": need, "scenarios": scenarios}
        for (suite, scheme, need), scenarios in lacking.items()
        if scenarios
    ]


def line(entry: Mapping[str, Any]) -> str:
    """Return an entry of `found` as one sentence."""
    return (
        f"{entry['scheme']} finds no {_WHAT[entry['needs']]} in {entry['suite']}: "
        f"{shortened(entry['scenarios'])}; it runs there as if it knew of none"
    )


def shortened(names: list[str]) -> str:
    """Return the first few of the names, and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def merged(now: list[dict[str, Any]], before: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of both; of the same suite, scheme and need the newer one."""
    keys = {(one["suite"], one["scheme"], one["needs"]) for one in now}
    return [one for one in before if (one["suite"], one["scheme"], one["needs"]) not in keys] + now
