"""Reference results: learning curves of standard algorithms in the registered environments.

``studies/reference`` trained them; each row of ``baselines.parquet`` is an evaluation of one training: the
mean return of the deterministic policy in 32 held-out episodes, which are the same for all.

    from leogym import baselines

    baselines.table("leo/SingleFlow-v0", 200_000)           # an aggregate per algorithm
    baselines.plot("leo/SingleFlow-v0", mine=(steps, returns)).savefig("curves.png")
"""

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from leogym.common.errors import InputError

FILE = Path(__file__).parent / "baselines.parquet"
MOST_SEEDS = 5
"""Seeds up to which intervals use all resamples; beyond, their number is too large."""


def runs(id: str | None = None) -> pl.DataFrame:
    """Return the evaluations in environment ``id``, or in all.

    Columns: ``algorithm``, ``id``, ``seed``, ``point`` (the steps after which the study evaluates), ``steps``
    (those of the rollout that ended then), ``return_mean``, ``return_min`` and ``return_max`` over the
    held-out episodes, ``cpu_s`` and ``wall_s`` (seconds of training), ``digest`` (of hyperparameters and
    environment). Rows of ``random``, ``cubic`` and ``orbit`` are references that need no training here; their
    point is 0.

    Raises:
        InputError: there are no results in this environment.
    """
    table = pl.read_parquet(FILE)
    if id is None:
        return table
    if (rows := table.filter(pl.col("id") == id)).is_empty():
        names = ", ".join(table["id"].unique().sort())
        raise InputError(f"baselines: {id}: no results (there are results of: {names})")
    return rows


def curves(id: str) -> pl.DataFrame:
    """Return the learning curves in environment ``id``: an aggregate per algorithm and point.

    Columns: ``algorithm``, ``point``, ``return`` (the interquartile mean over seeds), ``low`` and ``high``
    (its 95 % bootstrap interval; null for a single seed), ``seeds``, ``cpu_s`` (mean).
    """
    rows = []
    for (algorithm, point), group in runs(id).group_by("algorithm", "point"):
        values = group.sort("seed")["return_mean"].to_list()
        low, high = interval(values)
        rows.append(
            {
                "algorithm": algorithm,
                "point": point,
                "return": interquartile_mean(values),
                "low": low,
                "high": high,
                "seeds": len(values),
                "cpu_s": group["cpu_s"].mean(),
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None).sort("algorithm", "point")


def table(id: str, point: int) -> pl.DataFrame:
    """Return the rows of `curves` after ``point`` steps and the references, best return first.

    Raises:
        InputError: there are no results in this environment or after these steps.
    """
    every = curves(id)
    points = every["point"].unique().sort().to_list()
    if point not in points:
        raise InputError(f"baselines: {id}: point: {point}: must be one of {', '.join(map(str, points))}")
    return every.filter(pl.col("point").is_in([0, point])).sort("return", descending=True)


def plot(id: str, **own: tuple[ArrayLike, ArrayLike]) -> Any:
    """Return a Matplotlib figure of the curves in environment ``id``, over the logarithm of the steps.

    Args:
        id: an environment's id.
        own: curves of your own by name: steps and returns, which you measured in held-out episodes.

    Raises:
        InputError: there are no results in this environment, or a curve has more steps than returns or fewer.
    """
    for name, (steps, returns) in own.items():
        if np.shape(steps) != np.shape(returns):
            raise InputError(f"baselines: {name}: {np.size(steps)} steps, but {np.size(returns)} returns")
    from leogym.results.figure_style import INK, MUTED, PALETTE, canvas, legend_above

    every = curves(id)
    learned = every.filter(pl.col("point") > 0)
    names = learned["algorithm"].unique(maintain_order=True).to_list()
    dashes = ["-", (0, (4, 1.4)), (0, (1, 1))]
    with canvas(7.0, 4.0) as (figure, [axes]):
        handles: list[Any] = []
        for place, name in enumerate(names):
            rows = learned.filter(pl.col("algorithm") == name)
            color = PALETTE[place % len(PALETTE)]
            [line] = axes.plot(
                rows["point"], rows["return"], color=color, ls=dashes[place // len(PALETTE)], label=name
            )
            shown = rows.drop_nulls(["low", "high"])
            axes.fill_between(shown["point"], shown["low"], shown["high"], color=color, alpha=0.15, lw=0)
            handles.append(line)
        for name, value in every.filter(pl.col("point") == 0).select("algorithm", "return").iter_rows():
            axes.axhline(value, color=MUTED, lw=0.8, ls=(0, (1, 2)))
            axes.annotate(name, (1.0, value), xycoords=("axes fraction", "data"), fontsize=8, color=MUTED)
        for name, (steps, returns) in own.items():
            handles += axes.plot(np.asarray(steps), np.asarray(returns), color=INK, lw=2.0, label=name)
        axes.set(xscale="log", xlabel="environment steps", ylabel="return in held-out episodes")
        legend_above(figure, handles)
    return figure


def interquartile_mean(values: Sequence[float]) -> float:
    """Return the mean of the middle half of ``values``; outer values count by their share in that half."""
    ordered = np.sort(np.asarray(values, dtype=float))
    edges = np.linspace(0.0, 1.0, len(ordered) + 1)
    weights = np.clip(np.minimum(edges[1:], 0.75) - np.maximum(edges[:-1], 0.25), 0.0, None)
    return float(ordered @ weights / weights.sum())


def interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Return the 95 % percentile bootstrap interval of the interquartile mean over all resamples.

    A single value has none. With three values the interval is their range.

    Raises:
        ValueError: there are more than `MOST_SEEDS` values.
    """
    if len(values) < 2:
        return None, None
    if len(values) > MOST_SEEDS:
        raise ValueError(f"{len(values)} values: at most {MOST_SEEDS}")
    resamples = sorted(map(interquartile_mean, itertools.product(values, repeat=len(values))))
    tail = math.floor(0.025 * len(resamples))
    return resamples[tail], resamples[-1 - tail]
