"""Means with 95 % bootstrap intervals: the rows of ``summary.csv``."""

import hashlib
import math
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from leogym.results.metrics import CALL_METRICS, METRICS

RESAMPLES = 9999
SUMMARY_COLUMNS = ("suite", "scenario", "scheme", "backend", "metric", "mean", "ci_low", "ci_high", "n")


@dataclass(frozen=True)
class Interval:
    """A mean over ``n`` repeats and its 95 % interval; the interval is NaN for a single repeat."""

    mean: float
    low: float
    high: float
    n: int


def interval(values: list[float], seed: int) -> Interval:
    """Return the interval of one quantity from one value per repeat; see `intervals`."""
    [result] = intervals([values], seed)
    return result


def median_interval(values: list[float], seed: int) -> Interval:
    """Return the median of one value per repeat, as ``mean``, with its 95 % percentile bootstrap interval.

    Bias-corrected intervals need the jackknife, which fails for medians. A single repeat has no interval.
    """
    data = np.array(values, dtype=float)
    median, n = float(np.median(data)), len(data)
    if n == 1:
        return Interval(median, math.nan, math.nan, n)
    from scipy import stats  # here, because it takes a second to import

    bounds = stats.bootstrap(
        (data,), np.median, n_resamples=RESAMPLES, method="percentile", rng=np.random.default_rng(seed)
    ).confidence_interval
    return Interval(median, float(bounds.low), float(bounds.high), n)


def intervals(rows: list[list[float]], seed: int) -> list[Interval]:
    """Return the means of quantities of the same repeats, with 95 % bootstrap intervals.

    Intervals are bias-corrected and accelerated (Efron, 1987), by `scipy.stats.bootstrap`. One set of
    resamples serves all quantities, which takes a tenth of the time. A single repeat has no interval. If all
    values are equal, the interval is that value; this means that these repeats did not differ, not that none
    could.

    Args:
        rows: for each quantity, one finite value per repeat, at least one.
        seed: seed of the resampling; determines the intervals for given values.
    """
    data = np.array(rows, dtype=float)
    means = data.mean(axis=1)
    low, high = np.full_like(means, math.nan), np.full_like(means, math.nan)
    if (n := data.shape[1]) > 1:
        equal = np.all(data == data[:, :1], axis=1)
        low[equal] = high[equal] = means[equal]
        for method in ("BCa", "percentile"):
            open_ = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))
            if not len(open_):
                break
            from scipy import stats

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # BCa warns when it degenerates; the loop handles its NaN
                result = stats.bootstrap(
                    (data[open_],),
                    np.mean,
                    axis=1,
                    n_resamples=RESAMPLES,
                    method=method,
                    rng=np.random.default_rng(seed),
                )
            low[open_], high[open_] = result.confidence_interval
    columns = zip(means.tolist(), low.tolist(), high.tolist(), strict=True)
    return [Interval(mean, below, above, n) for mean, below, above in columns]


def summarize(runs: pl.DataFrame) -> pl.DataFrame:
    """Summarize ``runs.parquet`` in one row per suite, scenario, scheme, backend and metric.

    Each has mean, ci_low, ci_high and n. A run's value is the mean over its flows under test; n counts runs.
    Runs that start at the same time of their path are a stratum (`strata`). Metrics without values are
    omitted.
    """
    names = [name for name in METRICS if name in runs.columns]
    by_run = values_by_run(runs)
    rows = []
    keys = ["suite", "scenario", "scheme", "backend"]
    for key, group in by_run.partition_by(keys, maintain_order=True, as_dict=True).items():
        group = group.sort("repeat")
        starts = group["offset_s"].to_list()
        columns = group.select(names).to_dict(as_series=False)
        values = {name: _defined(column, starts) for name, column in columns.items()}
        computed: dict[str, Interval] = {}
        for n in sorted({len(sample) for sample in values.values()} - {0}):
            alike = [name for name, sample in values.items() if len(sample) == n]
            computed |= zip(
                alike, intervals([values[name] for name in alike], seed_of(*map(str, key))), strict=True
            )
        rows += [
            (*key, name, row.mean, row.low, row.high, row.n)
            for name in names
            if (row := computed.get(name)) is not None
        ]
    schema = {name: pl.String for name in SUMMARY_COLUMNS[:5]}
    schema |= {"mean": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "n": pl.Int64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.with_columns(pl.col("ci_low", "ci_high").fill_nan(None))


def _defined(column: Sequence[float | None], starts: Sequence[float]) -> list[float]:
    """Return the values that are defined, within their strata."""
    both = [(value, start) for value, start in zip(column, starts, strict=True) if value is not None]
    return within([value for value, _ in both], [start for _, start in both])


def values_by_run(runs: pl.DataFrame) -> pl.DataFrame:
    """Return each metric's mean over flows, per run and scheme under test, from ``runs.parquet``."""
    names = [name for name in METRICS if name in runs.columns]
    identity = ["suite", "scenario", "scheme", "backend", "run_id", "repeat", "seed", "offset_s"]
    # In a scenario with $scheme, the other flows are background traffic.
    under_test = (pl.col("scheme") == pl.col("run_scheme")) | pl.col("run_scheme").str.contains(
        "+", literal=True
    )
    tested = runs.filter(under_test)
    if "workload" in runs.columns:
        # A call shows what the scheme beside it does to it.
        calls = runs.filter(~under_test & (pl.col("workload") == "call"))
        others = [name for name in names if name not in CALL_METRICS]
        calls = calls.with_columns(
            pl.col("run_scheme").alias("scheme"), *(pl.lit(None).alias(n) for n in others)
        )
        tested = pl.concat([tested, calls], how="vertical_relaxed")
    present = [name for name in identity if name in runs.columns]
    return tested.group_by(present, maintain_order=True).agg(pl.col(names).mean())


def seed_of(*parts: str) -> int:
    """Return a seed that depends only on ``parts``."""
    return int.from_bytes(hashlib.sha256("/".join(parts).encode()).digest()[:8], "big")


def within(values: Sequence[float], strata: Sequence[Hashable]) -> list[float]:
    """Return values with the same mean that differ only as much as repeats of one stratum do.

    If repeats cover a path in turn (`Suite.in_turn`), their mean covers the whole path. Differences between
    its stretches are then no error of that mean, but differences between repeats of a stretch are. So each
    value becomes the overall mean plus its distance from its stratum's mean. The factor sqrt(k / (k - 1))
    corrects that distance, because k values lie too near to their sample mean. If a stratum has a single
    value, all values are returned unchanged.

    Few repeats make 95 % intervals too narrow, with strata or without. With two repeats in each of five
    strata they cover the mean in 88 to 89 % of cases. With five repeats and no strata they cover it in 85 %.

    Args:
        values: finite, one per repeat.
        strata: each value's stratum.
    """
    members: dict[Hashable, list[int]] = {}
    for index, stratum in enumerate(strata):
        members.setdefault(stratum, []).append(index)
    if len(members) < 2 or min(map(len, members.values())) < 2:
        return list(values)
    data = np.asarray(values, dtype=float)
    adjusted = np.full_like(data, data.mean())
    for indices in members.values():
        adjusted[indices] += (data[indices] - data[indices].mean()) * math.sqrt(
            len(indices) / (len(indices) - 1)
        )
    return adjusted.tolist()
