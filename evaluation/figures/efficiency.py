"""Utilization against Jain's index: how much flows use together, and how evenly they share it."""

from collections.abc import Iterator
from typing import Any

from leogym.configs.suite import Suite
from leogym.evaluation.figures.tradeoff import draw_mark, edges, legend_handles
from leogym.evaluation.recorded.file_names import joined
from leogym.evaluation.recorded.results import Results
from leogym.results.figure_style import FAINT, Panel, canvas, legend_above, looks

TITLE = "Utilization against fairness"
CAPTION = (
    "Each mark is a scheme’s mean over repeats with its 95 % interval on both axes. In the upper right "
    "corner flows use all of the capacity and share it evenly."
)


def panels(results: Results, suite: Suite) -> Iterator[Panel]:
    """Yield a panel for each scenario of the suite where several flows share a link."""
    for scenario in results.scenarios(suite.name):
        if points := _points(results, suite, scenario):
            yield _panel(suite, scenario, points, results.schemes)


def _points(results: Results, suite: Suite, scenario: str) -> dict[str, dict[str, Any]]:
    points = {}
    for scheme in results.schemes:
        x = results.interval(suite.name, scenario, scheme, "jain")
        y = results.interval(suite.name, scenario, scheme, "utilization")
        if x and y:
            points[scheme] = {"x": edges(x), "y": edges(y)}
    return points


def _panel(suite: Suite, scenario: str, points: dict[str, dict[str, Any]], schemes: list[str]) -> Panel:
    look = looks(schemes)
    with canvas(4.3, 3.5) as (figure, [axes]):
        axes.axhline(1.0, color=FAINT, linewidth=0.8)
        for scheme, point in points.items():
            draw_mark(axes, point, look[scheme])
        least = min(0.5, *(point["x"][1] for point in points.values()))
        axes.set(xlim=(least - 0.02, 1.02), ylim=(0.0, 1.06), title=scenario)
        axes.set(xlabel="Jain’s index", ylabel="utilization")
        legend_above(figure, legend_handles(look, points))
        descriptions = "; ".join(f"{name} {p['y'][0]:.2f} at {p['x'][0]:.2f}" for name, p in points.items())
        label = f"{scenario}: utilization at Jain’s index: {descriptions}"
        return Panel(joined(suite.name, scenario, "efficiency"), label, figure)
