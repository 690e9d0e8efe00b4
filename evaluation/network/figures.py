"""Figures of a network's run."""

from collections.abc import Iterator

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from numpy.typing import NDArray

from leogym.results.figure_style import PALETTE, Panel, canvas, legend_above, looks

Floats = NDArray[np.float64]
SIZE_IN = (5.2, 3.0)


def panels(tables: dict[str, pl.DataFrame], utilisation: Floats) -> Iterator[Panel]:
    """Yield the figures of a run; ``utilisation`` has the mean load of each laser that carried packets."""
    flows, pairs = tables["flows"], tables["pairs"]
    long = flows.filter(pl.col("transfer_bytes").is_null())
    if len(long):
        yield _distributions(long, "normalized_goodput", "goodput over the route's capacity")
    yield _distributions(flows, "delay_inflation", "RTT over the RTT without queues")
    yield _single("utilisation", utilisation, "mean load of a laser in use, as a share of its capacity")
    yield _single("changes", pairs["changes"].to_numpy(), "changes of a pair's route")
    completed = flows.filter(pl.col("completion_s").is_not_null())
    if len(completed):
        yield _completion(completed)


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


def _completion(flows: pl.DataFrame) -> Panel:
    with canvas(*SIZE_IN) as (figure, [axes]):
        styles = looks(sorted(flows["scheme"].unique()))
        handles = []
        for scheme, look in styles.items():
            rows = flows.filter(pl.col("scheme") == scheme)
            # More points than these hide one another.
            rows = rows.gather_every(max(1, len(rows) // 2000))
            handles += axes.plot(
                rows["transfer_bytes"].to_numpy() / 1e3,
                rows["completion_s"].to_numpy(),
                look.marker,
                color=look.color,
                markersize=2.5,
                label=scheme,
            )
        axes.set(xscale="log", yscale="log", xlabel="size in kB", ylabel="completion time in s")
        legend_above(figure, handles)
    return Panel("completion", "Completion time of transfers by size", figure)
