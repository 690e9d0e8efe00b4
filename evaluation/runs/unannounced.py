"""Find schemes that rely on announcements that their paths lack: their results do not represent them."""

from collections.abc import Iterable, Mapping
from typing import Any

import leosim

from leogym.evaluation.runs.plan import Run

_WHAT = {
    "handovers": "announced handovers (handovers in the trace's metadata)",
    "reconfigurations": "grid of re-selections (reattach_s in the trace's metadata)",
}
_SHOWN = 3


def found(runs: Iterable[Run], traces: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """Return one entry per suite, scheme and need that no path of the flows announces, with the scenarios."""
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
    """Return an entry of `found` as a sentence."""
    return (
        f"{entry['scheme']} finds no {_WHAT[entry['needs']]} in {entry['suite']}: "
        f"{shortened(entry['scenarios'])}; it runs there without them"
    )


def lines(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return entries of `found` as a sentence per scheme and need: several suites without their scenarios."""
    alike: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in entries:
        alike.setdefault((one["scheme"], one["needs"]), []).append(one)
    return [
        line(same[0])
        if len(same) == 1
        else f"{scheme} finds no {_WHAT[need]} in {len(same)} suites: "
        f"{shortened([one['suite'] for one in same])}; it runs there without them"
        for (scheme, need), same in alike.items()
    ]


def shortened(names: list[str]) -> str:
    """Return the first few names and the number of others."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def merged(now: list[dict[str, Any]], before: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of both; for the same suite, scheme and need the newer one."""
    keys = {(one["suite"], one["scheme"], one["needs"]) for one in now}
    return [one for one in before if (one["suite"], one["scheme"], one["needs"]) not in keys] + now
