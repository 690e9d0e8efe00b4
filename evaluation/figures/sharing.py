"""Flows that share a path over time: one panel per scenario and scheme, one line per flow."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import polars as pl
from matplotlib.lines import Line2D

from leogym.configs.suite import Suite
from leogym.evaluation.figures.timeline import draw_flow, draw_path, finish, path_handles, title_with_offset
from leogym.evaluation.recorded.file_names import joined
from leogym.evaluation.recorded.results import Results, Series
from leogym.results.figure_style import FAINT, Panel, canvas, legend_above, looks
from leogym.results.metrics import shared_window_s

TITLE = "How the flows share the path"
CAPTION = (
    "The first repeat of each scenario, in steps of one second: the first flow is solid, later ones "
    "dashed. "
    "Goodput ratio, Jain’s index and utilization count the shaded window."
)
MOST_FLOWS = 12
"""With more flows, the legend has one entry per scheme."""
DASHES: tuple[Any, ...] = ("-", (0, (3, 1.2)), (0, (1, 1)), (0, (5, 1, 1, 1)))


def panels(results: Results, suite: Suite) -> Iterator[Panel]:
    """Yield a panel for each scenario and scheme of the suite with series."""
    for scenario in results.scenarios(suite.name):
        for contest in results.contests(suite.name, scenario):
            series = results.first_series(suite.name, scenario, contest)
            if series is not None:
                yield _panel(results, suite, scenario, contest, series)


def _panel(results: Results, suite: Suite, scenario: str, contest: str, series: Series) -> Panel:
    # Cross traffic takes its share of the link, although no table lists it.
    look = looks(list(dict.fromkeys([*results.schemes, *series.flows["flow_scheme"]])))
    window_s = _window_s(results, suite, scenario, contest)
    with canvas(4.3, 4.2, heights=(1.4, 1)) as (figure, [above, below]):
        if window_s:
            above.axvspan(*window_s, color=FAINT, alpha=0.45, linewidth=0, zorder=0)
        draw_path(above, below, series)
        handles, counts = [], Counter[str]()
        for (flow, scheme), mine in series.flows.group_by(["flow", "flow_scheme"], maintain_order=True):
            color, dash = look[str(scheme)].color, DASHES[int(str(flow)) % len(DASHES)]
            draw_flow(above, below, mine.filter(pl.col("flow") == flow), color, dash)
            counts[str(scheme)] += 1
            handles.append(
                Line2D([], [], color=color, linestyle=dash, label=f"{scheme} {int(str(flow)) + 1}")
            )
        by_scheme = [
            Line2D([], [], color=look[name].color, label=f"{name} ({number} flows)")
            for name, number in counts.items()
        ]
        title_with_offset(above, f"{scenario}, {contest}", series)
        finish(above, below)
        flow_handles = handles if len(handles) <= MOST_FLOWS else by_scheme
        legend_above(figure, [*flow_handles, *path_handles()])
        label = f"{scenario}: goodput and RTT over time of {len(handles)} flows of {contest}"
        return Panel(joined(suite.name, scenario, contest, "sharing"), label, figure, scenario)


def _window_s(results: Results, suite: Suite, scenario: str, contest: str) -> tuple[float, float] | None:
    """Return the time window that fairness metrics count."""
    rows = results.runs.filter(
        (pl.col("suite") == suite.name) & (pl.col("scenario") == scenario) & (pl.col("run_scheme") == contest)
    )
    last_s = next(case.fairness_last_s for case in suite.cases(contest) if case.scenario.name == scenario)
    return shared_window_s(rows.rows(named=True), last_s)
