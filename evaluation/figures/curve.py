"""The suite's first headline metric over a key of the grid, such as RTT, buffer or loss."""

from collections.abc import Sequence
from typing import Any

from matplotlib.lines import Line2D

from leogym.configs.suite import Case, Suite
from leogym.evaluation.recorded.file_names import joined
from leogym.evaluation.recorded.results import Results
from leogym.results.figure_style import MUTED, Panel, canvas, legend_above, looks

TITLE = "Over the range"
CAPTION = "Marks are means over repeats, bars their 95 % intervals."
_RATIOS = ("goodput_ratio", "jain", "utilization", "normalized_goodput", "power")


def panels(results: Results, suite: Suite) -> list[Panel]:
    """Return a panel for each combination of the grid's other values."""
    groups: dict[str, list[Case]] = {}
    there = set(results.scenarios(suite.name))
    for case in suite.cases(results.schemes[0]):
        if case.scenario.name in there:
            other_values = [f"{name} {case.values[name]}" for name in suite.grid if name != suite.x]
            groups.setdefault(", ".join(other_values), []).append(case)
    return [_panel(results, suite, title, cases) for title, cases in groups.items()]


def _panel(results: Results, suite: Suite, title: str, cases: Sequence[Case]) -> Panel:
    assert suite.x is not None  # `Suite` validates this.
    metric = suite.headline[0]
    look = looks(results.schemes)
    handles, descriptions = [], []
    with canvas(4.3, 3.2) as (figure, [axes]):
        for scheme in results.schemes:
            points = [
                (case.values[suite.x], row)
                for case in cases
                if (row := results.interval(suite.name, case.scenario.name, scheme, metric))
            ]
            if not points:
                continue
            x, rows = [value for value, _ in points], [row for _, row in points]
            means = [row["mean"] for row in rows]
            lows = [row["mean"] if row["ci_low"] is None else row["ci_low"] for row in rows]
            highs = [row["mean"] if row["ci_high"] is None else row["ci_high"] for row in rows]
            below = [max(0.0, mean - low) for mean, low in zip(means, lows, strict=True)]
            above = [max(0.0, high - mean) for mean, high in zip(means, highs, strict=True)]
            style: Any = {"color": look[scheme].color, "marker": look[scheme].marker}
            style |= {"linestyle": look[scheme].dash, "markersize": 5}
            axes.errorbar(x, means, yerr=[below, above], capsize=2.5, **style)
            handles.append(Line2D([], [], label=scheme, **style))
            descriptions.append(
                f"{scheme} {', '.join(f'{mean:.2f} at {at}' for at, mean in zip(x, means, strict=True))}"
            )
        for name, value in suite.references.items():
            axes.axhline(value, color=MUTED, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
            axes.annotate(
                name,
                (1.0, value),
                xycoords=axes.get_yaxis_transform(),
                xytext=(-3, 3),
                textcoords="offset points",
                ha="right",
                fontsize=7,
                color=MUTED,
            )
        axes.set(xlabel=suite.x.replace("_", " "), ylabel=metric.replace("_", " "), title=title)
        if metric in _RATIOS:
            # The ratio of one flow to the others may exceed 1.
            axes.set_ylim(0.0, max(1.05, axes.get_ylim()[1]))
        legend_above(figure, handles)
    name = "-".join(part for part in (suite.name, *title.replace(",", "").split()) if part)
    return Panel(joined(name, "curve"), f"{metric} over {suite.x}: {'; '.join(descriptions)}", figure)
