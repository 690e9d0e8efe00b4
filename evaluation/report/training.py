"""The report's section on how the user's policies were trained."""

from typing import Any

import matplotlib.ticker
import numpy as np
from markupsafe import Markup

from leogym.evaluation.recorded.training import STEPS, curves_of
from leogym.results import figure_style
from leogym.results.figure_style import Look, Panel, canvas

ORIGINS = {"evaluation.csv": "on held-out episodes", "progress.csv": "in training"}
MOST_PANELS = 4
"""Of each file; the first columns are the most general ones."""


def panels(description: dict[str, Any], looks: dict[str, Look]) -> dict[str, list[Markup]]:
    """Return figures of the columns of each policy's training over its steps, as inline SVG."""
    return {
        name: [
            _panel(f"training-{index}-{file[0]}-{column}", name, column, ORIGINS[file], curves, looks[name])
            for file, curves in files.items()
            for column in [column for column in curves if column != STEPS][:MOST_PANELS]
        ]
        for index, (name, files) in enumerate(curves_of(description).items())
        if name in looks
    }


def _panel(
    key: str, policy: str, column: str, origin: str, curves: dict[str, list[float | None]], look: Look
) -> Markup:
    quantity = column.replace("_", " ")
    with canvas(3.3, 2.2) as (figure, [axes]):
        steps, values = (np.array(curves[name], dtype=float) for name in (STEPS, column))
        axes.plot(steps, values, color=look.color, linestyle=look.dash)
        axes.set_xlabel("steps")
        axes.xaxis.set_major_formatter(matplotlib.ticker.EngFormatter(sep=""))
        axes.set_ylabel(f"{quantity}\n{origin}")
    label = f"{policy}: {quantity} {origin} over steps"
    panel = Panel(key, label, figure)
    return Markup(figure_style.themed(figure_style.svg(panel), label))
