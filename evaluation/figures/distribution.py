"""Distributions over time of a scheme's goodput and RTT."""

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl
from matplotlib.lines import Line2D

from leogym.configs.suite import Suite
from leogym.evaluation.recorded.file_names import joined
from leogym.evaluation.recorded.results import Results, Series
from leogym.results.figure_style import Panel, canvas, legend_above, looks
from leogym.results.measurement import Column

TITLE = "Distributions over time"
CAPTION = (
    "The first repeat of each scenario: the share of intervals with at most a value. Goodput is "
    "the total of the scheme's flows; RTT is per flow."
)


def panels(results: Results, suite: Suite) -> Iterator[Panel]:
    """Yield two panels, goodput and RTT, for each scenario of the suite with series."""
    for scenario in results.scenarios(suite.name):
        series = {
            contest: run_series
            for contest, run_series in results.series(suite.name, scenario).items()
            if contest in results.schemes
        }
        if series:
            yield _panel(results, suite, scenario, series, "goodput", "goodput (Mbit/s)", _goodput_mbps)
            yield _panel(results, suite, scenario, series, "rtt", "RTT (ms)", _rtt_ms)


def _goodput_mbps(flows: pl.DataFrame) -> Column:
    return flows.group_by("time_s").agg(pl.col("goodput_mbps").sum())["goodput_mbps"].to_numpy()


def _rtt_ms(flows: pl.DataFrame) -> Column:
    return flows["rtt_ms"].to_numpy()


def _panel(
    results: Results,
    suite: Suite,
    scenario: str,
    series: dict[str, Series],
    kind: str,
    label: str,
    values: Callable[[pl.DataFrame], Column],
) -> Panel:
    look = looks(results.schemes)
    descriptions = []
    with canvas(4.3, 3.0) as (figure, [axes]):
        for scheme, run_series in series.items():
            sample = values(run_series.flows.filter(pl.col("flow_scheme") == scheme))
            sample = np.sort(sample[np.isfinite(sample)])
            if not len(sample):
                continue
            # 200 steps look the same as ten thousand.
            shares = np.linspace(0.0, 1.0, min(200, len(sample)))
            axes.plot(
                np.quantile(sample, shares), shares, color=look[scheme].color, linestyle=look[scheme].dash
            )
            descriptions.append(f"{scheme} {np.median(sample):.4g}")
        axes.set(xlabel=label, ylabel="share of intervals", title=scenario, ylim=(0.0, 1.0))
        axes.set_xlim(left=0.0)
        handles = [
            Line2D([], [], color=look[name].color, linestyle=look[name].dash, label=name) for name in series
        ]
        legend_above(figure, handles)
        name = joined(suite.name, scenario, f"distribution-{kind}")
        return Panel(name, f"{scenario}: median {label}: {'; '.join(descriptions)}", figure, row=scenario)
