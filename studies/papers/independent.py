"""Which claims add a measurement: a paper's table, its ratios and its text often state the same one again."""

from __future__ import annotations

from functools import cache

from leogym.configs import suite as suites
from studies.papers.claim import Scenarios
from studies.papers.kinds import AnyClaim
from studies.papers.paper import load
from studies.papers.readings import Chosen, among, choose

QUANTITY = {
    "normalized_goodput": "goodput_mbps",
    "utilization": "goodput_mbps",
    "total_goodput_mbps": "goodput_mbps",
}
"""Metrics that express another one by a link's constant."""


@cache
def independent(paper: str) -> frozenset[str]:
    """Return the ids of a paper's claims that read a value which none of its claims before them reads.

    A value is a quantity of a scheme's flows in a scenario and a part of its runs.
    """
    seen: set[tuple[object, ...]] = set()
    ids = []
    for claim in load(paper).claims:
        mine = _values(claim)
        if mine - seen:
            ids.append(claim.id)
        seen |= mine
    return frozenset(ids)


def _values(claim: AnyClaim) -> set[tuple[object, ...]]:
    read = set()
    for part in claim.parts:
        suite = part.suite or claim.suite
        metric = part.metric or claim.metric or claim.id
        flows = tuple(part.flows or claim.flows or ())
        window_s = part.window_s or claim.window_s
        for scheme in [part.scheme] if part.scheme else claim.under_test:
            for scenario in _scenarios(suite, {**claim.scenarios, **part.scenarios}):
                read.add((suite, scenario, scheme, QUANTITY.get(metric, metric), flows, window_s))
    return read


def _scenarios(suite: str, wanted: Scenarios) -> list[str]:
    cases = _of_suite(suite)
    # A suite that is missing, or lacks a key, stands for itself.
    if not cases or not wanted.keys() <= cases[0].place.values.keys():
        return [str(wanted)]
    return [
        case.name
        for case in cases
        if all(among(case.place.values[key], choice) for key, choice in wanted.items())
    ]


@cache
def _of_suite(suite: str) -> list[Chosen]:
    return choose(suites.load(suite), {}) if suite in suites.shipped() else []
