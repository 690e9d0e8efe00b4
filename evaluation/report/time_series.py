"""Data of the report's interactive time series: first repeats, thinned to fit."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from leogym.configs.suite import Suite
from leogym.evaluation.recorded.results import Results, Series
from leogym.evaluation.report.packing import packed
from leogym.results.figure_style import Look, looks
from leogym.results.measurement import Column

KINDS = ("timeline", "sharing")
"""Kinds of figures that the interactive one replaces in the page; their files stay."""
ROOM_BYTES = 4_000_000
"""Limit for the packed data of all suites."""
MOST_POINTS, FEWEST_POINTS = 300, 60
"""Points of a line. Fewer than 60 hide the effect of handovers."""
MOST_FLOWS = 12
"""Most lines of a run; with more flows each scheme's mean is drawn."""
JUMP_MS = 0.5
"""A larger change of the base RTT between samples means a new path: motion alone is slower."""
MOST_UNASKED = 4
"""Most scenarios of a suite without figures over time."""
_BYTES_A_POINT = 6
"""Measured bytes per point of a line's three rows, packed."""
_DASHES = ("solid", "dash", "dot", "dashdot")


@dataclass(frozen=True)
class Explorer:
    """A suite's interactive time series."""

    data: str
    scenarios: int
    of_scenarios: int


def explorers(results: Results) -> dict[str, Explorer]:
    """Return the time series of each suite with figures and series."""
    chosen = {suite.name: picked(results, suite) for suite in results.suites if suite.figures}
    points = ROOM_BYTES // (_BYTES_A_POINT * max(1, _lines(results, chosen)))
    points = max(FEWEST_POINTS, min(MOST_POINTS, points))
    charts = {name: of_scenarios(results, name, scenarios, points) for name, scenarios in chosen.items()}
    by_suite = {name: _packed(results, name, chart) for name, chart in charts.items() if chart}
    size = sum(len(explorer.data) for explorer in by_suite.values())
    if size > ROOM_BYTES:
        every = math.ceil(size / ROOM_BYTES)
        by_suite = {name: _packed(results, name, chart[::every]) for name, chart in charts.items() if chart}
    return by_suite


def picked(results: Results, suite: Suite) -> list[str]:
    """Return the scenarios in a suite's chart: all if its figures show time series, else a few."""
    names = results.scenarios(suite.name)
    return names if set(suite.figures) & set(KINDS) else names[:: math.ceil(len(names) / MOST_UNASKED)]


def of_scenarios(
    results: Results, suite_name: str, names: Sequence[str], points: int
) -> list[dict[str, Any]]:
    """Return the runs of scenarios with series; ``points`` is the maximum of a line."""
    scenarios = []
    for scenario in names:
        runs = [
            run(results, contest, series, points)
            for contest in results.contests(suite_name, scenario)
            if (series := results.first_series(suite_name, scenario, contest)) and len(series.flows)
        ]
        if runs:
            # Draw single flows of all schemes together, and runs of several flows one at a time.
            together = all(len(drawn_run["flows"]) == 1 for drawn_run in runs)
            scenarios.append({"name": scenario, "together": together, "runs": runs})
    return scenarios


def run(results: Results, contest: str, series: Series, points: int) -> dict[str, Any]:
    """Return one run's lines, with the step ``step_s``.

    ``capacity`` is in Mbit/s from time 0; ``outages`` and ``changes`` of the path are times in s. Each flow
    has ``goodput`` in Mbit/s, ``ratio`` (RTT over base RTT) and ``cwnd`` in packets from step ``first`` on;
    None without a sample.
    """
    flows = series.flows
    # A line has one more entry than steps if its end is not on a step.
    step_s = max(0.1, math.ceil(10 * float(flows["time_s"].max()) / points) / 10)  # type: ignore[arg-type]
    look = looks(list(dict.fromkeys([*results.schemes, *flows["flow_scheme"].unique(maintain_order=True)])))
    table = flows.with_columns((pl.col("rtt_ms") / pl.col("base_rtt_ms")).alias("ratio"))
    groups = table.partition_by("flow", maintain_order=True)
    alone = len(groups) == 1
    if len(groups) > MOST_FLOWS:
        groups = table.partition_by("flow_scheme", maintain_order=True)
    lines = []
    for index, mine in enumerate(groups):
        scheme = str(mine["flow_scheme"][0])
        name = scheme if alone else f"{scheme} {index + 1}"
        if (number := mine["flow"].n_unique()) > 1:
            name = f"{scheme}, mean of {number}"
        dash = _dash(look[scheme]) if alone else _DASHES[index % len(_DASHES)]
        lines.append({"name": name, "color": look[scheme].color[1:], "dash": dash, **_line(mine, step_s)})
    least = series.links.group_by("time_s", maintain_order=True).agg(
        pl.col("capacity_mbps").min(), pl.col("connected").cast(pl.Boolean).all()
    )
    _, capacity = _stepped(least["time_s"].to_numpy(), least["capacity_mbps"].to_numpy(), step_s)
    return {
        "name": contest,
        "repeat": series.repeat,
        "offset_s": series.offset_s,
        "step_s": step_s,
        "capacity": capacity if len(set(capacity)) > 1 else capacity[:1],
        "outages": _starts(least["time_s"].to_numpy(), ~least["connected"].to_numpy()),
        "changes": _changes(flows.filter(pl.col("flow") == flows["flow"][0])),
        "flows": lines,
    }


def _line(mine: pl.DataFrame, step_s: float) -> dict[str, Any]:
    mine = mine.sort("time_s")
    time_s = mine["time_s"].to_numpy()
    rows = {}
    for name, column in (("goodput", "goodput_mbps"), ("ratio", "ratio"), ("cwnd", "cwnd_packets")):
        first, rows[name] = _stepped(time_s, mine[column].to_numpy(), step_s)
    return {"first": first, **rows}


def _stepped(time_s: Column, values: Column, step_s: float) -> tuple[int, list[float | int | None]]:
    """Return the first step with a value, and the mean of each step from it on."""
    if not len(time_s):
        return 0, []
    # 1e-9 absorbs the rounding of sums of 0.1.
    index = np.maximum(np.ceil(time_s / step_s - 1e-9).astype(int) - 1, 0)
    first = int(index[0])
    valid = np.isfinite(values)
    size = int(index[-1]) - first + 1
    count = np.bincount(index[valid] - first, minlength=size)
    total = np.bincount(index[valid] - first, weights=values[valid], minlength=size)
    with np.errstate(invalid="ignore"):
        means = total / np.where(count, count, np.nan)
    return first, [_short(value) for value in means]


def _short(value: float) -> float | int | None:
    """Return a number rounded to three digits, enough for a line on a screen; None for NaN."""
    if math.isnan(value):
        return None
    short = float(f"{value:.3g}")
    return int(short) if short.is_integer() else short


def _starts(time_s: Column, flags: Column) -> list[float]:
    rising = flags & ~np.concatenate([[False], flags[:-1]])
    return [round(float(at), 1) for at in time_s[rising]]


def _changes(flow: pl.DataFrame) -> list[float]:
    """Return the times at which a flow's base RTT jumps; none if it is noisy and never rests."""
    finite = flow.filter(pl.col("base_rtt_ms").is_finite())
    jumps = np.abs(np.diff(finite["base_rtt_ms"].to_numpy())) > JUMP_MS
    times = finite["time_s"].to_numpy()[1:][jumps]
    return [round(float(at), 1) for at in times] if len(times) < 0.1 * max(1, len(finite)) else []


def _dash(look: Look) -> str:
    if look.dash == "-":
        return "solid"
    return ",".join(f"{1.6 * length:g}px" for length in look.dash[1])


def _lines(results: Results, chosen: Mapping[str, Sequence[str]]) -> int:
    """Return the approximate number of lines of the first repeats of suites' scenarios."""
    pairs = [(suite, scenario) for suite, names in chosen.items() for scenario in names]
    wanted = pl.DataFrame(pairs, schema={"suite": pl.String, "scenario": pl.String}, orient="row")
    mine = results.runs.join(wanted, on=["suite", "scenario"], how="semi")
    runs = mine.group_by("suite", "scenario", "run_scheme", "run_id", maintain_order=True).len()
    first = runs.group_by("suite", "scenario", "run_scheme", maintain_order=True).agg(pl.col("len").first())
    return int(first["len"].clip(upper_bound=MOST_FLOWS).sum())


def _packed(results: Results, suite_name: str, scenarios: Sequence[dict[str, Any]]) -> Explorer:
    text = json.dumps({"scenarios": scenarios}, ensure_ascii=False, separators=(",", ":"))
    return Explorer(packed(text), len(scenarios), len(results.scenarios(suite_name)))
