"""Figures of a network's run."""

from collections.abc import Iterator

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from numpy.typing import NDArray

from leogym.results.figure_style import PALETTE, Panel, canvas, legend_above, looks

Floats = NDArray[np.float64]
SIZE_IN = (5.2, 3.0)
DISTANCE = ("distance_km", "distance of the stations in km")


def panels(tables: dict[str, pl.DataFrame], utilisation: Floats, queueing: pl.DataFrame) -> Iterator[Panel]:
    """Yield the figures of a run.

    Args:
        tables: the run's tables; flows with ``distance_km`` between their stations.
        utilisation: mean load of each laser that carried packets.
        queueing: see `hops.queueing`.
    """
    flows, pairs = tables["flows"], tables["pairs"]
    long = flows.filter(pl.col("transfer_bytes").is_null())
    if len(long):
        share = "goodput over the route's capacity"
        yield _distributions(long, "normalized_goodput", share)
        yield _scatter(long, "goodput_by_distance", DISTANCE, ("normalized_goodput", share), "linear")
    yield _distributions(flows, "delay_inflation", "RTT over the RTT without queues")
    yield _single("utilisation", utilisation, "mean load of a laser in use, as a share of its capacity")
    yield _single("changes", pairs["changes"].to_numpy(), "changes of a pair's route")
    if len(queueing):
        yield _queueing(queueing)
    completed = flows.filter(pl.col("completion_s").is_not_null())
    if len(completed):
        kilobytes = completed.with_columns(pl.col("transfer_bytes") / 1e3)
        time_s = ("completion_s", "completion time in s")
        yield _scatter(kilobytes, "completion", ("transfer_bytes", "size in kB"), time_s, "log")
        yield _scatter(completed, "completion_by_distance", DISTANCE, time_s, "linear")


def _distributions(flows: pl.DataFrame, column: str, label: str) -> Panel:
    with canvas(*SIZE_IN) as (figure, [axes]):
        styles = looks(sorted(flows["scheme"].unique()))
        handles = []
        for scheme, look in styles.items():
            values = flows.filter(pl.col("scheme") == scheme)[column].to_numpy()
            handles.append(_distribution(axes, values, look.color, look.dash, scheme))
        axes.set(xlabel=label, ylabel="share of flows")
        legend_above(figure, handles)
    return Panel(column, f"Distribution over flows: {label}", figure)


def _single(name: str, values: Floats, label: str) -> Panel:
    with canvas(*SIZE_IN) as (figure, [axes]):
        _distribution(axes, values, PALETTE[0], "-", name)
        axes.set(xlabel=label, ylabel="share")
    return Panel(name, f"Distribution: {label}", figure)


def _distribution(axes: Axes, values: Floats, color: str, dash: object, label: str):
    finite = np.sort(values[np.isfinite(values)])
    shares = np.arange(1, len(finite) + 1) / max(len(finite), 1)
    [line] = axes.step(finite, shares, where="post", color=color, linestyle=dash, label=label)
    axes.set_ylim(0, 1)
    return line


def _queueing(rows: pl.DataFrame) -> Panel:
    is_downlink = pl.col("hop") == pl.col("links") - 1
    lasers = int(rows["links"].to_numpy().max()) - 2
    place = pl.when(is_downlink).then(lasers + 1).otherwise(pl.col("hop")).alias("place")
    delays = rows.group_by(place).agg(
        pl.col("delay_ms").mean().alias("mean"), pl.col("delay_ms").quantile(0.9).alias("90th percentile")
    )
    delays = delays.sort("place")
    with canvas(*SIZE_IN) as (figure, [axes]):
        handles = []
        for column, marker, color in (("mean", "o", PALETTE[0]), ("90th percentile", "^", PALETTE[1])):
            values = delays[column].to_numpy()
            handles += axes.plot(
                delays["place"].to_numpy(), values, marker, color=color, markersize=4, label=column
            )
        # With many lasers, the labels of the first and the last ones would lie on those of the ends.
        step = max(1, -(-lasers // 8))
        ticks = np.arange(step, lasers + 2 - step, step)
        axes.set_xticks([0, *ticks.tolist(), lasers + 1], ["up", *map(str, ticks), "down"])
        axes.set(xlabel="uplink, lasers in order, downlink", ylabel="queueing delay in ms")
        legend_above(figure, handles)
    return Panel("queueing", "Queueing delay of the links of routes, by their place on the route", figure)


def _scatter(flows: pl.DataFrame, name: str, x: tuple[str, str], y: tuple[str, str], scale: str) -> Panel:
    """Draw a point for each flow; ``x`` and ``y`` are a column and its label, ``scale`` that of both axes."""
    with canvas(*SIZE_IN) as (figure, [axes]):
        styles = looks(sorted(flows["scheme"].unique()))
        handles = []
        for scheme, look in styles.items():
            rows = flows.filter(pl.col("scheme") == scheme)
            # More points than these hide one another.
            rows = rows.gather_every(max(1, len(rows) // 2000))
            points = [rows[column].to_numpy() for column, _ in (x, y)]
            handles += axes.plot(*points, look.marker, color=look.color, markersize=2.5, label=scheme)
        axes.set(xscale=scale, yscale=scale, xlabel=x[1], ylabel=y[1])
        legend_above(figure, handles)
    return Panel(name, f"A point for each flow: {y[1]}, by {x[1]}", figure)
