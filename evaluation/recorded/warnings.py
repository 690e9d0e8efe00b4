"""Warnings on results that do not represent a scheme: no announcements, starved flows, fallbacks."""

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

import leosim
import polars as pl

from leogym.evaluation.recorded.results import Results
from leogym.evaluation.runs.plan import Run
from leogym.traces.path import cache

STARVED_LINK_SHARE = 0.1
STARVED_MEDIAN_SHARE = 0.5
FLOOD = 0.1
"""Share of retransmitted packets from which a scheme overfills the link; Cubic has less than 0.01."""
MOST_NAMED = 3
ANNOUNCEMENTS = {
    "handovers": "announced handovers (handovers in the trace's metadata)",
    "reconfigurations": "grid of re-selections (reattach_s in the trace's metadata)",
}


def lines_of_suite(results: Results, suite: str) -> list[str]:
    """Return all warnings on a suite's results, a sentence each."""
    missing = results.description["config"].get("unannounced", [])
    announcements = [announcement_line(entry) for entry in missing if entry["suite"] == suite]
    return [*announcements, *starved_lines(results, suite), *fallback_lines(results, suite)]


def missing_announcements(runs: Iterable[Run], traces: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """Return one entry per suite, scheme and need that no path of the flows announces, with the scenarios."""
    parsed = {name: cache.parse(csv, name) for name, csv in traces.items()}
    scenarios: dict[tuple[str, str, str], list[str]] = {}
    checked = set()
    for run in runs:
        case = (run.suite, run.scenario.name, run.scheme)
        if case in checked:
            continue
        checked.add(case)
        for flow, need in leosim.missing_announcements(run.scenario.to_json(), parsed):
            scheme = run.scenario.flows[flow].scheme
            names = scenarios.setdefault((run.suite, scheme, need), [])
            if scheme not in run.policies and run.scenario.name not in names:
                names.append(run.scenario.name)
    return [
        {"suite": suite, "scheme": scheme, "needs": need, "scenarios": names}
        for (suite, scheme, need), names in scenarios.items()
        if names
    ]


def announcement_line(entry: Mapping[str, Any]) -> str:
    """Return an entry of `missing_announcements` as a sentence."""
    return (
        f"{entry['scheme']} finds no {ANNOUNCEMENTS[entry['needs']]} in {entry['suite']}: "
        f"{shorten(entry['scenarios'])}; it runs there without them"
    )


def announcement_lines(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a sentence per scheme and need; it names several suites without their scenarios."""
    by_need: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for entry in entries:
        by_need.setdefault((entry["scheme"], entry["needs"]), []).append(entry)
    return [
        announcement_line(group[0])
        if len(group) == 1
        else f"{scheme} finds no {ANNOUNCEMENTS[need]} in {len(group)} suites: "
        f"{shorten([entry['suite'] for entry in group])}; it runs there without them"
        for (scheme, need), group in by_need.items()
    ]


def link_use(results: Results, suite: str, scenario: str) -> dict[str, float]:
    """Return each scheme's use of the link: its flows' mean normalized goodput over the even share.

    The even share is one over the number of the run's flows. Transfers do not count.
    """
    backlogged = results.runs.filter(
        (pl.col("suite") == suite) & (pl.col("scenario") == scenario) & pl.col("transfer_bytes").is_null()
    )
    share = backlogged.with_columns(
        (pl.col("normalized_goodput").fill_null(0.0) * pl.len().over("run_id")).alias("use")
    )
    means = share.group_by("scheme").agg(pl.col("use").mean())
    return {name: float(use) for name, use in means.iter_rows() if name in results.schemes}


def starved(use: Mapping[str, float]) -> dict[str, float]:
    """Return the schemes that use too little of the link, by their use.

    That is less than `STARVED_LINK_SHARE` of the even share, or than `STARVED_MEDIAN_SHARE` of the median
    scheme's use: their short queues and few losses mean nothing.
    """
    if not use:
        return {}
    least = max(STARVED_LINK_SHARE, STARVED_MEDIAN_SHARE * median(use.values()))
    return {scheme: value for scheme, value in use.items() if value < least}


def starved_in(results: Results, suite: str, scenario: str) -> dict[str, float]:
    """Return the schemes that are starved in a scenario, by their use of the link."""
    return starved(link_use(results, suite, scenario))


def starved_lines(results: Results, suite: str) -> list[str]:
    """Return one sentence per starved scheme of a suite: its use, the scenarios, and a likely reason."""
    by_scheme: dict[str, dict[str, float]] = {}
    for scenario in results.scenarios(suite):
        for scheme, use in starved_in(results, suite, scenario).items():
            by_scheme.setdefault(scheme, {})[scenario] = use
    return [
        _starved_line(results, suite, scheme, by_scheme[scheme])
        for scheme in results.schemes
        if scheme in by_scheme
    ]


def _starved_line(results: Results, suite: str, scheme: str, use: Mapping[str, float]) -> str:
    runs = results.runs.filter(
        (pl.col("suite") == suite) & (pl.col("scheme") == scheme) & pl.col("scenario").is_in(list(use))
    )
    scenarios = [
        results.scenario(*names)
        for names in runs.select("suite", "scenario", "run_scheme").unique().iter_rows()
    ]
    alone = all(len(scenario.flows) == 1 for scenario in scenarios if scenario)
    changes = any(
        scenario.events or any(link.trace for link in scenario.links.values())
        for scenario in scenarios
        if scenario
    )
    low, high = min(use.values()), max(use.values())
    part = f"{low:.1%}" if len(use) == 1 else f"{low:.1%} to {high:.1%}"
    whole = "the link" if alone else "its even share of the link"
    retransmitted = runs["retransmit_rate"].median()
    if isinstance(retransmitted, float) and retransmitted > FLOOD:
        reason = f"it retransmits {retransmitted:.0%} of its packets; "
    else:
        reason = "it may mistake a longer path for a queue; " if changes else ""
    return (
        f"{scheme} is starved in {suite}: it uses {part} of {whole} in {shorten(list(use))}, where it cannot "
        f"be best; {reason}see Starved in docs/metrics.md"
    )


def fallback_lines(results: Results, suite: str) -> list[str]:
    """Return one sentence per scheme whose flows fell back: there the results are the fallback's."""
    if "fallbacks" not in results.runs.columns:
        return []  # recorded before policies had known ranges
    runs = results.runs.filter(pl.col("suite") == suite)
    lines = []
    for scheme in results.schemes:
        flows = runs.filter(pl.col("scheme") == scheme)
        fallen = flows.filter(pl.col("fallbacks").fill_null(0) > 0)
        if len(fallen):
            names = [name for name in results.scenarios(suite) if name in set(fallen["scenario"])]
            lines.append(
                f"{scheme} fell back to Cubic {fallen['fallbacks'].sum():,} times in {suite}, in "
                f"{len(fallen):,} of {len(flows):,} flows: {shorten(names)}; conditions there were outside "
                "its policy's known ranges"
            )
    return lines


def shorten(names: list[str]) -> str:
    """Return the first few names and the number of others."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
