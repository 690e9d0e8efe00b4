"""Completion time of transfers over their size."""

from collections.abc import Iterator
from typing import Any

import polars as pl
from matplotlib.lines import Line2D

from leogym.configs.suite import Case, Suite
from leogym.evaluation.recorded.file_names import joined
from leogym.evaluation.recorded.results import Results
from leogym.results.figure_style import MUTED, Panel, canvas, legend_above, looks

TITLE = "Completion time over size"
CAPTION = (
    "Each mark is one transfer; lines connect medians; both axes are logarithmic. A transfer "
    "that did not end in the run has no mark."
)


def panels(results: Results, suite: Suite) -> Iterator[Panel]:
    """Yield a panel for each combination of the grid's values, apart from those that set the size."""
    done = results.runs.filter(
        (pl.col("suite") == suite.name)
        & pl.col("scheme").is_in(results.schemes)
        & pl.col("transfer_bytes").is_not_null()
        & pl.col("completion_s").is_not_null()
    )
    there = set(done["scenario"])
    cases = [case for case in suite.cases(results.schemes[0]) if case.scenario.name in there]
    keys = [key for key in suite.grid if not _makes_size(key, suite, cases)]
    groups: dict[str, list[str]] = {}
    for case in cases:
        title = ", ".join(f"{key} {case.values[key]}" for key in keys)
        groups.setdefault(title, []).append(case.scenario.name)
    for title, names in groups.items():
        yield _panel(results, suite, title, done.filter(pl.col("scenario").is_in(names)))


def _makes_size(key: str, suite: Suite, cases: list[Case]) -> bool:
    """Return whether cases that differ only in this key transfer different sizes."""
    sizes: dict[tuple[object, ...], set[tuple[int | None, ...]]] = {}
    for case in cases:
        other_values = tuple(case.values[name] for name in suite.grid if name != key)
        size = tuple(flow.transfer_bytes for flow in case.scenario.flows)
        sizes.setdefault(other_values, set()).add(size)
    return any(len(transfers) > 1 for transfers in sizes.values())


def _panel(results: Results, suite: Suite, title: str, done: pl.DataFrame) -> Panel:
    look = looks(results.schemes)
    handles, descriptions = [], []
    with canvas(4.8, 3.6) as (figure, [axes]):
        for scheme in results.schemes:
            mine = done.filter(pl.col("scheme") == scheme)
            if mine.is_empty():
                continue
            medians = (
                mine.group_by("transfer_bytes").agg(pl.col("completion_s").median()).sort("transfer_bytes")
            )
            size_kib = medians["transfer_bytes"].to_numpy() / 1024
            style: Any = {"color": look[scheme].color, "marker": look[scheme].marker, "markersize": 4}
            axes.plot(
                mine["transfer_bytes"].to_numpy() / 1024,
                mine["completion_s"].to_numpy(),
                linestyle="none",
                alpha=0.35,
                **style,
            )
            axes.plot(size_kib, medians["completion_s"].to_numpy(), linestyle=look[scheme].dash, **style)
            handles.append(Line2D([], [], linestyle=look[scheme].dash, label=scheme, **style))
            first, last = medians.row(0), medians.row(-1)
            descriptions.append(
                f"{scheme} {first[1]:.2f} s at {first[0] / 1024:,.0f} KiB, "
                f"{last[1]:.2f} s at {last[0] / 1024:,.0f} KiB"
            )
        axes.set(xscale="log", yscale="log", xlabel="size (KiB)", ylabel="completion time (s)", title=title)
        axes.xaxis.set_major_formatter("{x:,g}")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.tick_params(axis="both", which="minor", color=MUTED)
        legend_above(figure, handles)
    name = "-".join(part for part in (suite.name, *title.replace(",", "").split()) if part)
    return Panel(joined(name, "completion"), f"Median completion time: {'; '.join(descriptions)}", figure)
