"""Goodput ratio, or Jain's index of more than two flows: bars with intervals, and a dot for each run."""

from collections.abc import Iterator

import numpy as np
import polars as pl
from matplotlib.patches import Patch

from leogym.configs.suite import Suite
from leogym.evaluation.recorded.file_names import joined
from leogym.evaluation.recorded.results import Results
from leogym.results.figure_style import INK, MUTED, Panel, canvas, legend_above, looks

TITLE = "Fairness"
CAPTION = (
    "Bars are means over repeats with their 95 % intervals; each dot is one run. 1 is an equal share. "
    "Compare intervals, not bars."
)
PER_PANEL = 4
BARS = 40


def panels(results: Results, suite: Suite) -> Iterator[Panel]:
    """Yield panels of at most `PER_PANEL` scenarios; fewer if many schemes would make bars thin."""
    mine = results.summary.filter(pl.col("suite") == suite.name)
    metric = "goodput_ratio" if "goodput_ratio" in set(mine["metric"]) else "jain"
    mine = mine.filter(pl.col("metric") == metric)
    names = [name for name in results.scenarios(suite.name) if name in set(mine["scenario"])]
    each = max(1, min(PER_PANEL, BARS // max(1, len(results.schemes))))
    for at in range(0, len(names), each):
        yield _panel(results, suite, metric, names[at : at + each], at // each)


def _panel(results: Results, suite: Suite, metric: str, scenarios: list[str], number: int) -> Panel:
    look = looks(results.schemes)
    title = "Goodput ratio" if metric == "goodput_ratio" else "Jain’s index"
    width = 0.8 / max(1, len(results.schemes))
    with canvas(4.8, 3.2) as (figure, [axes]):
        descriptions = []
        for group, scenario in enumerate(scenarios):
            for rank, scheme in enumerate(results.schemes):
                row = results.interval(suite.name, scenario, scheme, metric)
                if not row:
                    continue
                x = group + (rank - (len(results.schemes) - 1) / 2) * width
                axes.bar(
                    x,
                    row["mean"],
                    0.86 * width,
                    color=look[scheme].color,
                    alpha=0.75,
                    linewidth=0,
                    hatch=look[scheme].hatch,
                    edgecolor="white",
                    zorder=2,
                )
                if row["ci_low"] is not None:
                    axes.vlines(x, row["ci_low"], row["ci_high"], color=INK, linewidth=1.2, zorder=4)
                values = _runs(results, suite, scenario, scheme, metric)
                spread = np.linspace(-0.25, 0.25, len(values)) * width if len(values) > 1 else [0.0]
                axes.plot(x + np.asarray(spread), values, ".", color=MUTED, markersize=4, zorder=3)
                descriptions.append(f"{scenario} {scheme} {row['mean']:.2f}")
        axes.set_xticks(range(len(scenarios)), scenarios)
        axes.grid(False, axis="x")
        axes.tick_params(axis="x", length=0)
        axes.set(xlim=(-0.5, len(scenarios) - 0.5), ylim=(0.0, 1.05), title=title)
        handles = [
            Patch(
                facecolor=look[name].color,
                edgecolor="white",
                hatch=look[name].hatch,
                alpha=0.75,
                linewidth=0,
                label=name,
            )
            for name in results.schemes
        ]
        legend_above(figure, handles)
        name = joined(suite.name, "fairness" + (f"-{number}" if number else ""))
        return Panel(name, f"{title}: {'; '.join(descriptions)}", figure)


def _runs(results: Results, suite: Suite, scenario: str, scheme: str, metric: str) -> list[float]:
    mine = results.runs.filter(
        (pl.col("suite") == suite.name) & (pl.col("scenario") == scenario) & (pl.col("scheme") == scheme)
    )
    # Mixes of schemes have several runs per repeat: keep their order.
    by_run = mine.group_by("run_id", "repeat", maintain_order=True).agg(pl.col(metric).mean())
    by_run = by_run.sort("repeat", maintain_order=True)
    return by_run[metric].drop_nulls().to_list()
