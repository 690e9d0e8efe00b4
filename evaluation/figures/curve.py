"""The suite's first headline metric over a key of the grid, such as RTT, buffer or loss."""

from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from leogym.configs.suite import Case, Suite
from leogym.evaluation.recorded.file_names import joined
from leogym.evaluation.recorded.results import Results
from leogym.results.figure_style import MUTED, Panel, canvas, legend_above, looks
from leogym.results.metrics import METRICS

TITLE = "Over the range"
CAPTION = "Marks are means over repeats, bars their 95 % intervals."
_LOGARITHMIC_FROM = 100
"""Ratio of the largest x to the smallest from which the axis is logarithmic."""
_UNITS = {
    "s": "s",
    "ms": "ms",
    "us": "µs",
    "mbps": "Mbit/s",
    "bytes": "bytes",
    "kb": "kB",
    "mb": "MB",
    "bdp": "BDP",
    "km": "km",
    "deg": "°",
    "packets": "packets",
}
_WORDS = {"rtt": "RTT", "rtts": "RTTs", "bdp": "BDP"}
_RATIOS = ("goodput_ratio", "jain", "utilization", "normalized_goodput", "power")


def panels(results: Results, suite: Suite) -> Iterator[Panel]:
    """Yield a panel for each combination of the grid's other values."""
    groups: dict[str, list[Case]] = {}
    there = set(results.scenarios(suite.name))
    for case in suite.cases(results.schemes[0]):
        if case.scenario.name in there:
            other_values = [f"{name} {case.values[name]}" for name in suite.grid if name != suite.x]
            groups.setdefault(", ".join(other_values), []).append(case)
    for name, cases in groups.items():
        yield _panel(results, suite, name, cases)


def quantity(key: str) -> tuple[str, str]:
    """Return a grid key's quantity and unit: ``size_mb`` is a size in MB; no unit for a count."""
    stem, _, suffix = key.rpartition("_")
    if not stem or suffix not in _UNITS:
        stem, suffix = key, ""
    words = [_WORDS.get(word, word) for word in stem.split("_")]
    return " ".join(words), _UNITS.get(suffix, "")


def _title(suite: Suite, case: Case) -> str:
    """Return the other values of the panel's grid, such as ``jump 4,020 s``."""
    parts = []
    for name in suite.grid:
        if name != suite.x:
            value, (label, unit) = case.values[name], quantity(name)
            number = f"{value:,g}" if isinstance(value, int | float) and abs(value) < 1e6 else str(value)
            parts.append(" ".join(part for part in (label, number, unit) if part))
    return ", ".join(parts)


def _labelled(label: str, unit: str) -> str:
    return f"{label} ({unit})" if unit else label


def _scale_x(axes: Axes, values: Sequence[float]) -> None:
    """Make the axis of x logarithmic if it spans two decades; 0 has its own tick left of the others."""
    positive = [value for value in values if value > 0]
    if not positive or min(values) < 0 or max(positive) < _LOGARITHMIC_FROM * min(positive):
        return
    if len(positive) < len(values):
        axes.set_xscale("symlog", linthresh=min(positive), linscale=0.5)
    else:
        axes.set_xscale("log")
    axes.set_xticks(values)
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.minorticks_off()


def _panel(results: Results, suite: Suite, values: str, cases: Sequence[Case]) -> Panel:
    assert suite.x is not None  # `Suite` validates this.
    metric = suite.headline[0]
    shown = METRICS[metric]
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
            means = [shown.scale * row["mean"] for row in rows]
            lows, highs = (
                [
                    mean if row[end] is None else shown.scale * row[end]
                    for mean, row in zip(means, rows, strict=True)
                ]
                for end in ("ci_low", "ci_high")
            )
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
            axes.axhline(shown.scale * value, color=MUTED, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
            axes.annotate(
                name,
                (1.0, shown.scale * value),
                xycoords=axes.get_yaxis_transform(),
                xytext=(-3, 3),
                textcoords="offset points",
                ha="right",
                fontsize=7,
                color=MUTED,
            )
        axes.set(
            xlabel=_labelled(*quantity(suite.x)),
            ylabel=_labelled(shown.label, shown.unit),
            title=_title(suite, cases[0]),
        )
        values_of_x = {case.values[suite.x] for case in cases}
        numbers = sorted(value for value in values_of_x if isinstance(value, int | float))
        if len(numbers) == len(values_of_x):
            _scale_x(axes, numbers)
        if metric in _RATIOS:
            # The ratio of one flow to the others may exceed 1.
            axes.set_ylim(0.0, max(1.05, axes.get_ylim()[1]))
        legend_above(figure, handles)
    name = "-".join(part for part in (suite.name, *values.replace(",", "").split()) if part)
    return Panel(joined(name, "curve"), f"{metric} over {suite.x}: {'; '.join(descriptions)}", figure)
