"""Goodput and RTT over time: one panel per scenario, all schemes on the same part of the path."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from leogym.configs.suite import Suite
from leogym.evaluation.recorded.file_names import joined
from leogym.evaluation.recorded.results import Results, Series
from leogym.results.figure_style import FAINT, MUTED, Panel, canvas, legend_above, looks
from leogym.results.measurement import Column

TITLE = "Goodput and RTT over time"
CAPTION = (
    "The first repeat of each scenario, in steps of one second; all schemes meet the same part of "
    "the path. Grey: the capacity above, the base RTT (propagation only) below; ticks under the "
    "goodput mark outages. Goodput counts bytes in order, so for a moment after a gap is filled it can "
    "exceed the capacity."
)
STEP_S = 1.0


def panels(results: Results, suite: Suite) -> Iterator[Panel]:
    """Yield a panel for each scenario of the suite with series."""
    for scenario in results.scenarios(suite.name):
        if series := results.series(suite.name, scenario):
            yield _panel(suite, scenario, series, results.schemes)


def _panel(suite: Suite, scenario: str, series: dict[str, Series], schemes: list[str]) -> Panel:
    look = looks(list(dict.fromkeys([*schemes, *series])))
    first = next(iter(series.values()))
    with canvas(4.3, 4.4, heights=(1.25, 1)) as (figure, [above, below]):
        draw_path(above, below, first)
        for contest, run_series in series.items():
            for flow in run_series.flows["flow"].unique(maintain_order=True):
                mine = run_series.flows.filter(pl.col("flow") == flow)
                draw_flow(above, below, mine, look[contest].color, look[contest].dash)
        title_with_offset(above, scenario, first)
        finish(above, below)
        handles = [
            Line2D([], [], color=look[name].color, linestyle=look[name].dash, label=name) for name in series
        ]
        legend_above(figure, [*handles, *path_handles()])
        label = f"{scenario}: goodput and RTT over time of {', '.join(series)}"
        return Panel(joined(suite.name, scenario, "timeline"), label, figure)


def draw_path(above: Axes, below: Axes, series: Series) -> None:
    """Draw the path: capacity and outages above, base RTT below."""
    least = series.links.group_by("time_s", maintain_order=True).agg(
        pl.col("capacity_mbps").min(), pl.col("connected").cast(pl.Boolean).all()
    )
    time, capacity = binned(least["time_s"].to_numpy(), least["capacity_mbps"].to_numpy())
    above.plot(time, capacity, color=FAINT, linewidth=1.6, zorder=1)
    # Filling a gap delivers all data behind it at once: such peaks would flatten the rest.
    above.set_ylim(0.0, 1.15 * float(np.nanmax(capacity)))
    outages = least.filter(~pl.col("connected"))["time_s"].to_numpy()
    if len(outages):
        above.plot(
            outages,
            np.zeros(len(outages)),
            color=MUTED,
            marker="|",
            markersize=6,
            linestyle="none",
            transform=above.get_xaxis_transform(),
            clip_on=False,
        )
    base = series.flows.filter(pl.col("flow") == pl.col("flow").first())
    below.plot(
        *binned(base["time_s"].to_numpy(), base["base_rtt_ms"].to_numpy()),
        color=MUTED,
        linewidth=1.0,
        zorder=4,
    )


def draw_flow(above: Axes, below: Axes, flow: pl.DataFrame, color: str, dash: Any = "-") -> None:
    """Draw one flow's goodput above and its RTT below."""
    time = flow["time_s"].to_numpy()
    for axes, name in ((above, "goodput_mbps"), (below, "rtt_ms")):
        axes.plot(*binned(time, flow[name].to_numpy()), color=color, linestyle=dash, linewidth=1.2, zorder=3)


def title_with_offset(axes: Axes, title: str, series: Series) -> None:
    """Set the title, with the repeat and its start time in the path trace on the right."""
    axes.set_title(title)
    axes.set_title(
        f"repeat {series.repeat}, from {series.offset_s:,.0f} s"
        if series.offset_s
        else f"repeat {series.repeat}",
        loc="right",
        fontsize=8,
        fontweight="normal",
        color=MUTED,
    )


def finish(above: Axes, below: Axes) -> None:
    """Set the labels and limits of panels of two rows."""
    above.set_ylabel("goodput (Mbit/s)")
    below.set_ylabel("RTT (ms)")
    below.set_ylim(bottom=0.0)
    below.set_xlabel("time (s)")
    below.margins(x=0.0)
    below.set_xlim(left=0.0)


def path_handles() -> list[Line2D]:
    """Return the legend's entries for capacity and base RTT."""
    return [
        Line2D([], [], color=FAINT, linewidth=2.5, label="capacity"),
        Line2D([], [], color=MUTED, linewidth=1.0, label="base RTT"),
    ]


def binned(time_s: Column, values: Column, step_s: float = STEP_S) -> tuple[Column, Column]:
    """Return a series averaged over steps, with times at their middles; NaN where a step has no value.

    ``time_s`` and ``values`` have shape (n,); times increase, and each ends an interval.
    """
    if not len(time_s):
        return np.empty(0), np.empty(0)
    # An interval that ends with a step belongs to it; 1e-9 absorbs rounding in sums of 0.1.
    index = np.maximum(np.ceil(time_s / step_s - 1e-9).astype(int) - 1, 0)
    valid = ~np.isnan(values)
    count = np.bincount(index[valid], minlength=index[-1] + 1)
    total = np.bincount(index[valid], weights=values[valid], minlength=index[-1] + 1)
    used = np.unique(index)
    with np.errstate(invalid="ignore"):
        return (used + 0.5) * step_s, (total / np.where(count, count, np.nan))[used]
