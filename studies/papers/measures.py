"""Measures of claims, per run: the metrics, and some that only claims use."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl

from leogym.evaluation.recorded.results import Results
from leogym.evaluation.recorded.series import read_table
from leogym.results.intervals import within
from leogym.results.metrics import METRICS, Metric, goodput_ratio, jain
from studies.papers.course import Course
from studies.papers.of_scenarios import OF_SCENARIOS
from studies.papers.over_time import OVER_TIME

MEASURES: dict[str, Metric] = (
    METRICS
    | {
        "total_goodput_mbps": Metric(
            "total_goodput_mbps",
            "Goodput of all flows",
            "Mbit/s",
            1,
            "higher",
            "The sum of the goodputs of the flows in question.",
        )
    }
    | {name: measure.metric for name, measure in OVER_TIME.items()}
    | {name: measure.metric for name, measure in OF_SCENARIOS.items()}
)
WINDOWED = (
    "goodput_mbps",
    "total_goodput_mbps",
    "rtt_mean_ms",
    "delay_inflation",
    "jain",
    "goodput_ratio",
    *OVER_TIME,
)
"""Metrics that the series define for a part of a run."""


Window = tuple[float, float] | Literal["counted"]
"""The part of a run that a claim reads (`claim.Window`)."""


def reads_series(metric: str | None, window_s: Window | None) -> bool:
    """Return whether a metric in a window (None: the whole run) needs the time series."""
    return window_s is not None or metric in OVER_TIME


Samples = dict[int, float]
_COLUMNS = [
    "time_s",
    "flow",
    "goodput_mbps",
    "rtt_ms",
    "base_rtt_ms",
    "cwnd_packets",
    "in_flight_packets",
    "lost_packets",
]


def of_runs(
    results: Results,
    *,
    suite: str,
    scenario: str,
    backend: str,
    scheme: str,
    metric: str,
    flows: Sequence[int] | None,
    window_s: Window | None,
) -> Samples:
    """Return a metric's value in each repeat that defines it: the mean over the selected flows.

    As in ``summary.csv``, those are the flows of ``scheme`` where it is under test, or those in ``flows``.
    Repeats that start at the same time of their path are a stratum.
    """
    rows = _rows(results, suite, scenario, backend, scheme, flows)
    by_repeat = _by_repeat(results, rows, metric, window_s)
    starts = dict(rows.select("repeat", "offset_s").iter_rows())
    return dict(
        zip(
            by_repeat, within(list(by_repeat.values()), [starts[repeat] for repeat in by_repeat]), strict=True
        )
    )


def _rows(
    results: Results, suite: str, scenario: str, backend: str, scheme: str, flows: Sequence[int] | None
) -> pl.DataFrame:
    return results.runs.filter(
        (pl.col("suite") == suite)
        & (pl.col("scenario") == scenario)
        & (pl.col("backend") == backend)
        & _tested(scheme, flows)
    ).sort("repeat", "flow")


def _by_repeat(results: Results, rows: pl.DataFrame, metric: str, window_s: Window | None) -> Samples:
    if metric in OF_SCENARIOS:
        return _of_scenarios(results, rows, metric)
    if reads_series(metric, window_s):
        return _of_windows(results, rows, metric, window_s)
    total = metric == "total_goodput_mbps"
    value = pl.col("goodput_mbps").sum() if total else pl.col(metric).mean()
    by_repeat = rows.group_by("repeat", maintain_order=True).agg(value.alias("value")).drop_nulls()
    return {int(repeat): float(number) for repeat, number in by_repeat.iter_rows()}


def _tested(scheme: str, flows: Sequence[int] | None) -> pl.Expr:
    """Return a filter for the rows that count: in a scenario with $scheme, other flows are background."""
    mixed = pl.col("run_scheme").str.contains("+", literal=True)
    if flows is None:
        return (pl.col("scheme") == scheme) & ((pl.col("run_scheme") == scheme) | mixed)
    named = pl.col("run_scheme").str.split("+").list.contains(scheme)
    return pl.col("flow").is_in(list(flows)) & named


def _of_scenarios(results: Results, rows: pl.DataFrame, metric: str) -> Samples:
    samples: Samples = {}
    for row in rows.unique("repeat", keep="first", maintain_order=True).iter_rows(named=True):
        scenario = results.scenario(row["suite"], row["scenario"], row["run_scheme"])
        value = None if scenario is None else OF_SCENARIOS[metric].of(scenario, row["offset_s"])
        if value is not None:
            samples[int(row["repeat"])] = value
    return samples


def _of_windows(results: Results, rows: pl.DataFrame, metric: str, window_s: Window | None) -> Samples:
    samples: Samples = {}
    for (repeat, run_scheme), mine in rows.group_by(["repeat", "run_scheme"], maintain_order=True):
        first = mine.row(0, named=True)
        paths = results.series_files(first["suite"], first["scenario"], str(run_scheme), int(str(repeat)))
        stop_s = max(mine["stop_s"].to_list())
        if window_s == "counted":
            window_s = -_counted_s(results, first["suite"], first["scenario"]), 0.0
        begin_s, end_s = _absolute(window_s, stop_s)
        # Skip a window beyond the run's end: it would cover less time than asked for.
        if paths is None or not 0 <= begin_s < end_s <= stop_s:
            continue
        inside = (pl.col("time_s") > begin_s) & (pl.col("time_s") <= end_s + 1e-9)
        flows = read_table(paths["flows"], _COLUMNS).filter(
            inside & pl.col("flow").is_in(mine["flow"].to_list())
        )
        if metric in OVER_TIME:
            links = read_table(paths["links"], ["time_s", "capacity_mbps"]).filter(inside)
            joined_s = max(begin_s, *mine["start_s"].to_list())
            value = OVER_TIME[metric].of(Course(flows, links, begin_s, end_s, joined_s))
        else:
            value = _of_series(flows, metric)
        if value is not None:
            samples[int(str(repeat))] = value
    return samples


def _counted_s(results: Results, suite: str, scenario: str) -> float:
    """Return the length of a scenario's end that its suite counts."""
    [ran] = [candidate for candidate in results.suites if candidate.name == suite]
    [counted_s] = {case.fairness_last_s for case in ran.cases("cubic") if case.scenario.name == scenario}
    if counted_s is None:
        raise ValueError(f"{suite}: has no fairness_last_s")
    return counted_s


def _absolute(window_s: tuple[float, float] | None, stop_s: float) -> tuple[float, float]:
    """Return begin and end since the run's start; if it begins before 0, the run's end is 0."""
    if window_s is None:
        return 0.0, stop_s
    begin_s, end_s = window_s
    return (begin_s + stop_s, end_s + stop_s) if begin_s < 0 else (begin_s, end_s)


def _of_series(rows: pl.DataFrame, metric: str) -> float | None:
    """Return a metric of `WINDOWED` over rows of a flow series; None if they do not define it."""
    if rows.is_empty():
        return None
    by_flow = rows.group_by("flow", maintain_order=True).agg(pl.col("goodput_mbps").mean())
    goodputs = by_flow["goodput_mbps"].to_list()
    if metric == "goodput_mbps":
        return float(np.mean(goodputs))
    if metric == "total_goodput_mbps":
        return float(np.sum(goodputs))
    if metric == "jain":
        return jain(goodputs)
    if metric == "goodput_ratio":
        return goodput_ratio(goodputs)
    rtt, base = rows["rtt_ms"].to_numpy(), rows["base_rtt_ms"].to_numpy()
    samples = rtt if metric == "rtt_mean_ms" else rtt / base
    samples = samples[np.isfinite(samples)]
    return float(samples.mean()) if len(samples) else None
