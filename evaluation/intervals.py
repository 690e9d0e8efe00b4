"""Means with 95 % bootstrap intervals: the rows of ``summary.csv``."""

from __future__ import annotations

import hashlib
import math
import warnings
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import stats

from evaluation.metrics import METRICS

RESAMPLES = 9999
SUMMARY_COLUMNS = ("suite", "scenario", "scheme", "backend", "metric", "mean", "ci_low", "ci_high", "n")


@dataclass(frozen=True)
class Interval:
    """A mean over ``n`` repeats and its 95 % interval, NaN where one repeat cannot give any."""

    mean: float
    low: float
    high: float
    n: int


def interval(values: list[float], seed: int) -> Interval:
    """Return the mean of one value a repeat with its 95 % bootstrap interval.

    Bias-corrected and accelerated (Efron, 1987), by `scipy.stats.bootstrap`. With one value there is no
    interval; where all values are equal the interval is that value, which says that these repeats did not
    differ, not that nothing could.

    Args:
        values: (n,) finite, at least one.
        seed: of the resampling; same values and seed, same interval.
    """
    data = np.asarray(values, dtype=float)
    mean = float(data.mean())
    if len(data) == 1:
        return Interval(mean, math.nan, math.nan, 1)
    if np.all(data == data[0]):
        return Interval(mean, mean, mean, len(data))
    for method in ("BCa", "percentile"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # BCa warns where it degenerates; its NaN is handled below
            result = stats.bootstrap(
                (data,), np.mean, n_resamples=RESAMPLES, method=method, rng=np.random.default_rng(seed)
            )
        low, high = (float(edge) for edge in result.confidence_interval)
        if math.isfinite(low) and math.isfinite(high):
            break
    return Interval(mean, low, high, len(data))


def summarize(runs: pl.DataFrame) -> pl.DataFrame:
    """Return one row for every suite, scenario, scheme, backend and metric: mean, ci_low, ci_high and n.

    A run's value is the mean over its flows under test; n counts runs. Metrics that no run defines are left
    out.

    Args:
        runs: the rows of ``runs.parquet``.
    """
    names = [name for name in METRICS if name in runs.columns]
    # Of a scenario with $scheme, other flows are the background that the scheme under test meets.
    tested = runs.filter(
        (pl.col("scheme") == pl.col("run_scheme")) | pl.col("run_scheme").str.contains("+", literal=True)
    )
    by_run = tested.group_by(
        ["suite", "scenario", "scheme", "backend", "run_id", "repeat"], maintain_order=True
    ).agg(pl.col(names).mean())
    rows = []
    for key, group in by_run.group_by(["suite", "scenario", "scheme", "backend"], maintain_order=True):
        for name in names:
            values = group.sort("repeat")[name].drop_nulls().to_list()
            if values:
                found = interval(values, _seed(*map(str, key), name))
                rows.append((*key, name, found.mean, found.low, found.high, found.n))
    schema = {name: pl.String for name in SUMMARY_COLUMNS[:5]}
    schema |= {"mean": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "n": pl.Int64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.with_columns(pl.col("ci_low", "ci_high").fill_nan(None))


def _seed(*parts: str) -> int:
    """Return a seed that depends on nothing but what is resampled."""
    return int.from_bytes(hashlib.sha256("/".join(parts).encode()).digest()[:8], "big")
