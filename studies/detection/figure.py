"""The figure of a scoring: precision and recall over the lateness of the hints."""

from collections.abc import Sequence

from matplotlib.lines import Line2D

from leogym.results.figure_style import Panel, canvas, legend_above, looks
from studies.detection.means import Row


def panels(rows: Sequence[Row]) -> list[Panel]:
    """Return a panel per group of paths: precision above recall, each with its 95 % interval.

    Detectors that hear no hints are level lines.
    """
    groups = list(dict.fromkeys(row.group for row in rows))
    return [_panel(group, [row for row in rows if row.group == group]) for group in groups]


def _panel(group: str, rows: Sequence[Row]) -> Panel:
    names = list(dict.fromkeys(row.detector for row in rows))
    look = looks(names)
    errors_s = sorted({row.error_s for row in rows if row.error_s is not None})
    descriptions = []
    with canvas(5.6, 4.6, (1.0, 1.0)) as (figure, axes):
        for name in names:
            mine = [row for row in rows if row.detector == name]
            for axis, metric in zip(axes, ("precision", "recall"), strict=True):
                there = [row for row in mine if metric in row.metrics]
                if not there:
                    continue
                hears = there[0].error_s is not None
                at_s = [row.error_s or 0.0 for row in there] if hears else [errors_s[0], errors_s[-1]]
                intervals = [row.metrics[metric] for row in (there if hears else there * 2)]
                axis.plot(
                    at_s,
                    [value.mean for value in intervals],
                    color=look[name].color,
                    linestyle=look[name].dash,
                    marker=look[name].marker if hears else None,
                    markersize=4,
                )
                axis.fill_between(
                    at_s,
                    [value.low for value in intervals],
                    [value.high for value in intervals],
                    color=look[name].color,
                    alpha=0.12,
                    linewidth=0,
                )
                descriptions.append(f"{name} {metric} {intervals[0].mean:.2f}")
        for axis, metric in zip(axes, ("precision", "recall"), strict=True):
            axis.set(ylabel=metric, ylim=(0.0, 1.03))
        axes[0].set_title(f"{group} paths")
        axes[-1].set(xlabel="hints late by (s)")
        legend_above(
            figure,
            [Line2D([], [], color=look[name].color, linestyle=look[name].dash, label=name) for name in names],
        )
        label = f"{group} paths, hints that are right: {'; '.join(descriptions)}"
        return Panel(f"detection-{group}", label, figure)
