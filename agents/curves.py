"""Learning curves over several seeds: ``leogym agents curves RUN… --out DIR``.

A curve is the mean over seeds at each step, with its 95 % bootstrap interval. Its runs share all settings
except the seed and those of `FREE_ON_RESUME` (length, workers and the like).
"""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.lines import Line2D

from leogym.agents.sweeps.plan import HELD_OUT
from leogym.agents.training.run_folder import require_same
from leogym.agents.training.settings import FREE_ON_RESUME, read_config
from leogym.common import output_folder
from leogym.common.atomic import write_atomically
from leogym.common.errors import InputError
from leogym.results.figure_style import canvas, legend_above, looks
from leogym.results.intervals import Interval, interval

POINTS = 50  # number of steps at which a curve is computed
OWN = FREE_ON_RESUME | {"seed"}  # settings that may differ between the runs of one curve
COLUMNS = ("curve", "steps", "mean", "ci_low", "ci_high", "n")


@dataclass(frozen=True)
class Curve:
    """The mean over the runs of one configuration.

    Attributes:
        name: unique among the curves.
        steps: (n,), from the latest first row of the runs to their earliest last row.
        values: the mean at each step, with its interval over runs.
    """

    name: str
    steps: list[int]
    values: list[Interval]


def read(run: Path, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the steps and the values of ``metric`` of a run."""
    held_out = metric.startswith(HELD_OUT)
    path = run / ("evaluation.csv" if held_out else "progress.csv")
    column = metric.removeprefix(HELD_OUT)
    if held_out and not path.is_file() and (run / "config.yaml").is_file():
        raise InputError(
            f"{path}: missing: {metric} needs a run with --set held_out_episodes=16; "
            "or name a column of progress.csv with --metric"
        )
    require_same(run, path.name)
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        if rows and column not in rows[0]:
            raise InputError(f"{path}: {column}: not a column (there are: {', '.join(rows[0])})")
        pairs = [(int(row["steps"]), float(row[column])) for row in rows if row[column]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: cannot be read: {error}") from None
    finite = [(steps, value) for steps, value in pairs if math.isfinite(value)]
    if not finite:
        raise InputError(f"{path}: {column}: no row has a number")
    steps, values = zip(*finite, strict=True)
    return np.array(steps), np.array(values)


def curves(runs: Sequence[Path], metric: str) -> list[Curve]:
    """Return one curve for each configuration among ``runs``."""
    for run in runs:
        require_same(run, "config.yaml", "or copy it from where the run was made")
    configurations = {run: read_config(run / "config.yaml") for run in runs}
    groups: dict[str, list[Path]] = {}
    for run, data in configurations.items():
        key = json.dumps({name: data[name] for name in sorted(data) if name not in OWN}, default=str)
        groups.setdefault(key, []).append(run)
    names = _names([configurations[group[0]] for group in groups.values()])
    return [
        _mean(name, [read(run, metric) for run in group])
        for name, group in zip(names, groups.values(), strict=True)
    ]


def write(curves: Sequence[Curve], metric: str, out: Path) -> tuple[Path, Path]:
    """Write ``curves.csv`` and ``curves.png`` to ``out``; return their paths."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for curve in curves:
        for steps, at in zip(curve.steps, curve.values, strict=True):
            edges = ["" if math.isnan(edge) else f"{edge:.6g}" for edge in (at.low, at.high)]
            writer.writerow([curve.name, steps, f"{at.mean:.6g}", *edges, at.n])
    output_folder.require(out, "learning curves")
    table, plot = out / "curves.csv", out / "curves.png"
    try:
        output_folder.make(out)
        write_atomically(table, text.getvalue().encode())
        write_atomically(plot, _plot(curves, metric))
    except OSError as error:
        raise InputError(f"{out}: (folder): cannot be written: {error.strerror}") from None
    return table, plot


def _mean(name: str, rows: Sequence[tuple[np.ndarray, np.ndarray]]) -> Curve:
    """Return the mean over the steps that all runs cover, interpolating linearly between rows."""
    first, last = max(steps[0] for steps, _ in rows), min(steps[-1] for steps, _ in rows)
    if first > last:
        raise InputError(f"{name}: runs have no steps in common")
    at = np.unique(np.linspace(first, last, POINTS).round().astype(int))
    values = np.stack([np.interp(at, steps, value) for steps, value in rows])
    return Curve(name, at.tolist(), [interval(column.tolist(), seed=0) for column in values.T])


def _names(configurations: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name each configuration by its agent and by the settings that differ between configurations."""
    keys = sorted({key for data in configurations for key in data} - OWN - {"agent"})
    texts = [{key: json.dumps(data.get(key), default=str) for key in keys} for data in configurations]
    differ = [key for key in keys if len({text[key] for text in texts}) > 1]
    several = len({data.get("agent") for data in configurations}) > 1
    names = []
    for data in configurations:
        # Different agents differ in too many settings to list.
        differing_settings = [] if several else [f"{key} {data.get(key)}" for key in differ]
        names.append(" ".join([str(data.get("agent")), *differing_settings]))
    repeated = {name for name in names if names.count(name) > 1}
    return [f"{name} {number}" if name in repeated else name for number, name in enumerate(names, 1)]


def _plot(curves: Sequence[Curve], metric: str) -> bytes:
    look = looks([curve.name for curve in curves])
    handles: list[Line2D] = []
    with canvas(6.4, 3.6) as (figure, [axes]):
        for curve in curves:
            color, dash = look[curve.name].color, look[curve.name].dash
            means = [at.mean for at in curve.values]
            axes.plot(curve.steps, means, color=color, linestyle=dash)
            axes.fill_between(
                curve.steps,
                [at.mean if math.isnan(at.low) else at.low for at in curve.values],
                [at.mean if math.isnan(at.high) else at.high for at in curve.values],
                color=color,
                alpha=0.2,
                linewidth=0,
            )
            label = f"{curve.name} (n = {curve.values[0].n})"
            handles.append(Line2D([], [], color=color, linestyle=dash, label=label))
        axes.set(xlabel="steps", ylabel=metric.replace("_", " "))
        legend_above(figure, handles)
        image = io.BytesIO()
        figure.savefig(image, format="png", dpi=150)
        return image.getvalue()
