"""Normalized goodput against delay inflation: each scheme's distance from the physical limit."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from leogym.configs.suite import Suite
from leogym.evaluation.recorded.file_names import joined
from leogym.evaluation.recorded.results import Results
from leogym.results.figure_style import FAINT, INK, MUTED, Look, Panel, canvas, legend_above, looks

TITLE = "Goodput against delay"
CAPTION = (
    "Each mark is a scheme’s mean over repeats with its 95 % interval on both axes. The star is the physical "
    "limit: all of the capacity without queueing. Grey lines have equal power (goodput over "
    "delay)."
)


def panels(results: Results, suite: Suite) -> Iterator[Panel]:
    """Yield a panel for each scenario of the suite."""
    points = {scenario: _points(results, suite, scenario) for scenario in results.scenarios(suite.name)}
    worst = max((p["x"][2] for by_scheme in points.values() for p in by_scheme.values()), default=2.0)
    for scenario, by_scheme in points.items():
        if by_scheme:
            yield _panel(suite, scenario, by_scheme, results.schemes, max(2.0, worst * 1.06))


def _points(results: Results, suite: Suite, scenario: str) -> dict[str, dict[str, Any]]:
    # Normalized goodput is per flow; several flows are judged by their joint utilization.
    goodput = "utilization" if "utilization" in suite.headline else "normalized_goodput"
    delay = _delay(suite)
    points = {}
    for scheme in results.schemes:
        x = results.interval(suite.name, scenario, scheme, delay)
        y = results.interval(suite.name, scenario, scheme, goodput)
        if x and y:
            points[scheme] = {"x": edges(x), "y": edges(y), "n": x["n"]}
    return points


def _delay(suite: Suite) -> str:
    """Return the delay metric: the one over utilization's window if the suite has it."""
    return "shared_delay_inflation" if "shared_delay_inflation" in suite.headline else "delay_inflation"


def edges(row: dict[str, Any]) -> tuple[float, float, float]:
    """Return a summary row's mean and the ends of its interval; of a single run, the mean."""
    low, high = row["ci_low"], row["ci_high"]
    return row["mean"], row["mean"] if low is None else low, row["mean"] if high is None else high


def legend_handles(look: Mapping[str, Look], schemes: Iterable[str]) -> list[Line2D]:
    """Return the legend's marks of ``schemes``."""
    return [
        Line2D([], [], color=look[name].color, marker=look[name].marker, linestyle="none", label=name)
        for name in schemes
    ]


def draw_mark(axes: Axes, point: dict[str, Any], look: Look) -> None:
    """Draw a scheme's mean with its interval on both axes."""
    (x, *x_edges), (y, *y_edges) = point["x"], point["y"]
    axes.errorbar(
        x,
        y,
        xerr=[[max(0.0, x - x_edges[0])], [max(0.0, x_edges[1] - x)]],
        yerr=[[max(0.0, y - y_edges[0])], [max(0.0, y_edges[1] - y)]],
        fmt=look.marker,
        color=look.color,
        markersize=7,
        elinewidth=1.2,
        capsize=2.5,
        zorder=3,
    )


def _panel(
    suite: Suite, scenario: str, points: dict[str, dict[str, Any]], schemes: list[str], x_max: float
) -> Panel:
    look = looks(schemes)
    with canvas(4.3, 3.5) as (figure, [axes]):
        _guides(axes, x_max)
        for scheme, point in points.items():
            draw_mark(axes, point, look[scheme])
        axes.set(xlim=(0.93, x_max), ylim=(0.0, 1.06), title=scenario)
        axes.set_xlabel(f"{_delay(suite).replace('_', ' ')} (×)")
        axes.set_ylabel("utilization" if "utilization" in suite.headline else "normalized goodput")
        legend_above(figure, legend_handles(look, points))
        descriptions = "; ".join(f"{name} {p['y'][0]:.2f} at {p['x'][0]:.2f}×" for name, p in points.items())
        label = f"{scenario}: normalized goodput at delay inflation: {descriptions}"
        return Panel(joined(suite.name, scenario, "tradeoff"), label, figure)


def _guides(axes: Axes, x_max: float) -> None:
    axes.grid(False)
    axes.axhline(1.0, color=FAINT, linewidth=0.8)
    axes.axvline(1.0, color=FAINT, linewidth=0.8)
    for power in (0.25, 0.5, 0.75):
        end = min(x_max, 1.0 / power)
        axes.plot([1.0, end], [power, power * end], color=FAINT, linewidth=0.8, zorder=1)
        axes.annotate(
            f"power {power:g}",
            (1.0, power),
            xytext=(4, -2),
            textcoords="offset points",
            va="top",
            rotation=np.degrees(np.arctan(power)),
            rotation_mode="anchor",
            transform_rotates_text=True,
            fontsize=7,
            color=MUTED,
        )
    axes.plot(1.0, 1.0, marker="*", markersize=11, color=INK, linestyle="none", clip_on=False, zorder=4)
    axes.annotate(
        "physical limit", (1.0, 1.0), xytext=(8, 4), textcoords="offset points", fontsize=8, color=MUTED
    )
    axes.set_yticks(np.arange(0.0, 1.01, 0.2))
