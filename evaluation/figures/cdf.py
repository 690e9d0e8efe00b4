"""Cumulative distributions over runs of goodput and RTT, beside the path's own."""

from collections.abc import Iterator

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from leogym.configs.suite import Suite
from leogym.evaluation.recorded.file_names import joined
from leogym.evaluation.recorded.results import Results
from leogym.results.figure_style import INK, Panel, canvas, legend_above, looks

TITLE = "Distributions over runs"
CAPTION = (
    "The share of runs whose mean is at most a value. The black line is what the path allowed: its capacity, "
    "and its RTT without a queue."
)
OPTIMUM = "path"
GOODPUT = ("goodput_mbps", "mean goodput (Mbit/s)", pl.col("goodput_mbps") / pl.col("normalized_goodput"))
RTT = ("rtt_mean_ms", "mean RTT (ms)", pl.col("base_rtt_mean_ms"))
"""A metric, its axis, and the value without which nothing limits it but the path."""


def panels(results: Results, suite: Suite) -> Iterator[Panel]:
    """Yield two panels, goodput and RTT, for each scenario of the suite."""
    tested = results.runs.filter((pl.col("suite") == suite.name) & pl.col("scheme").is_in(results.schemes))
    for scenario in results.scenarios(suite.name):
        runs = tested.filter(pl.col("scenario") == scenario)
        for quantity in (GOODPUT, RTT):
            yield _panel(results, suite, scenario, runs, *quantity)


def cumulative(values: pl.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps of an empirical distribution: sorted values, and the share of values up to each."""
    ordered = np.sort(values.drop_nulls().drop_nans().to_numpy())
    return ordered, np.arange(1, len(ordered) + 1) / max(1, len(ordered))


def _panel(
    results: Results,
    suite: Suite,
    scenario: str,
    runs: pl.DataFrame,
    metric: str,
    axis: str,
    optimum: pl.Expr,
) -> Panel:
    look = looks(results.schemes)
    drawn, descriptions = [], []
    with canvas(4.3, 3.0) as (figure, [axes]):
        for scheme in results.schemes:
            values, shares = cumulative(runs.filter(pl.col("scheme") == scheme)[metric])
            if len(values):
                axes.step(values, shares, where="post", color=look[scheme].color, linestyle=look[scheme].dash)
                drawn.append(
                    Line2D([], [], color=look[scheme].color, linestyle=look[scheme].dash, label=scheme)
                )
                descriptions.append(f"{scheme} {np.median(values):.4g}")
        # All schemes meet the same paths: one value per repeat.
        per_repeat = runs.select("repeat", optimum.fill_nan(None).alias("optimum")).drop_nulls()
        per_repeat = per_repeat.unique("repeat", keep="first", maintain_order=True)
        values, shares = cumulative(per_repeat["optimum"])
        axes.step(values, shares, where="post", color=INK, linewidth=1.4)
        axes.set(xlabel=axis, ylabel="share of runs", title=scenario, ylim=(0.0, 1.0))
        axes.set_xlim(left=0.0)
        legend_above(figure, [*drawn, Line2D([], [], color=INK, label=OPTIMUM)])
        label = f"{scenario}: median of {axis} over runs: {'; '.join(descriptions)}"
        return Panel(joined(suite.name, scenario, f"cdf-{metric}"), label, figure, row=scenario)
