"""Box plots of a scheme's flows over repeats: goodput and delay, or what users of a workload feel."""

from collections.abc import Iterator
from statistics import median

import polars as pl
from matplotlib.ticker import MaxNLocator

from leogym.configs.suite import Suite
from leogym.evaluation.recorded.file_names import joined
from leogym.evaluation.recorded.results import Results
from leogym.results.figure_style import INK, Panel, canvas, looks
from leogym.results.metrics import METRICS

TITLE = "Spread of flows"
CAPTION = (
    "One value per flow and repeat. Boxes span the first to the third quartile, with a line at the median; "
    "whiskers reach the farthest value within one and a half box lengths; rings are outliers."
)
METRICS_DRAWN = ("goodput_mbps", "delay_inflation")
EXPERIENCES = ("qoe", "page_load_s", "delay_p95_ms")
"""Drawn instead for a suite with workloads, by its headline."""


def panels(results: Results, suite: Suite) -> Iterator[Panel]:
    """Yield a panel for each scenario and metric of `METRICS_DRAWN` or `EXPERIENCES`, side by side."""
    names, runs = METRICS_DRAWN, results.runs
    if felt := [name for name in EXPERIENCES if name in suite.headline]:
        # A call counts for the scheme beside it.
        of_call = pl.when(pl.col("workload") == "call").then("run_scheme").otherwise("scheme")
        names, runs = felt, runs.with_columns(of_call.alias("scheme"))
    tested = runs.filter((pl.col("suite") == suite.name) & pl.col("scheme").is_in(results.schemes))
    for scenario in results.scenarios(suite.name):
        mine = tested.filter(pl.col("scenario") == scenario)
        for name in names:
            if mine[name].drop_nulls().len():
                yield _panel(results, suite, scenario, name, mine)


def _panel(results: Results, suite: Suite, scenario: str, name: str, runs: pl.DataFrame) -> Panel:
    metric, look = METRICS[name], looks(results.schemes)
    values = {
        scheme: column.to_list()
        for scheme in results.schemes
        if len(column := runs.filter(pl.col("scheme") == scheme)[name].drop_nulls())
    }
    with canvas(4.6, 1.0 + 0.24 * len(values)) as (figure, [axes]):
        drawn = axes.boxplot(
            list(values.values()),
            orientation="horizontal",
            tick_labels=list(values),
            patch_artist=True,
            widths=0.62,
            medianprops={"color": INK, "linewidth": 1.4},
            flierprops={"marker": "o", "markersize": 3, "markerfacecolor": "none"},
        )
        for index, scheme in enumerate(values):
            color = look[scheme].color
            drawn["boxes"][index].set(facecolor=color, alpha=0.75, edgecolor=color)
            for line in (*drawn["whiskers"][2 * index :][:2], *drawn["caps"][2 * index :][:2]):
                line.set_color(color)
            drawn["fliers"][index].set_markeredgecolor(color)
        axes.invert_yaxis()
        axes.grid(False, axis="y")
        axes.set_xlabel(f"{metric.label.lower()} ({metric.unit})")
        axes.set_title(scenario)
        axes.set_xlim(left=0.0 if name == "goodput_mbps" else None)
        axes.xaxis.set_major_locator(MaxNLocator(6))
        medians = "; ".join(f"{scheme} {median(sample):.4g}" for scheme, sample in values.items())
        label = f"{scenario}: median {metric.label.lower()} of flows: {medians}"
        return Panel(joined(suite.name, scenario, f"boxes-{name}"), label, figure, row=scenario)
