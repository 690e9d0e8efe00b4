"""Write a sweep's table, plot and summary."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.lines import Line2D

from leogym.agents.sweeps.plan import Plan, Trial
from leogym.common.atomic import write_atomically
from leogym.results.figure_style import FAINT, PALETTE, canvas

SEED = "seed"


def report(plan: Plan, out: Path) -> Path:
    """Write ``sweep.csv``, ``sweep.png`` and ``summary.json`` to ``out``, best trial first; return the table.

    A trial counts with the metric of its best checkpoint, and ``steps`` names that checkpoint.
    """
    metric = plan.metric
    best = {trial.number: row for trial in plan.trials if (row := plan.best(trial)) is not None}
    values = {number: value for number, (_, value) in best.items()}
    ranked = sorted(
        plan.trials,
        key=lambda trial: (trial.number not in values, -plan.better(values.get(trial.number, 0.0))),
    )
    means = _means(plan.trials, values)
    rows = [
        {
            "trial": trial.number,
            **{name: as_text(value) for name, value in trial.assigned.items()},
            metric: f"{values[trial.number]:.6g}" if trial.number in values else "",
            **({f"{metric}_mean_of_seeds": means[setting(trial)]} if SEED in plan.sweep.search else {}),
            "steps": best[trial.number][0] if trial.number in best else "",
            "status": trial.status(),
            "folder": str(trial.folder.relative_to(out.absolute())),
        }
        for trial in ranked
    ]
    table = out / "sweep.csv"
    write_table(table, rows)
    write_atomically(out / "sweep.png", _plot(plan, ranked))
    summary = {
        "name": plan.sweep.name,
        "metric": metric,
        "trials": len(plan.trials),
        "done": sum(trial.status() == "done" for trial in plan.trials),
        "given_up": sum(trial.status() == "given up" for trial in plan.trials),
        "best": rows[0] if ranked[0].number in values else None,
    }
    write_atomically(out / "summary.json", (json.dumps(summary, indent=2) + "\n").encode())
    return table


def setting(trial: Trial) -> str:
    """Return the values of the searched settings, but the seed, as text: trials that share it are repeats."""
    return ", ".join(f"{name} {as_text(value)}" for name, value in trial.assigned.items() if name != SEED)


def _means(planned: Sequence[Trial], values: Mapping[int, float]) -> dict[str, str]:
    """Return each setting's mean over its seeds with their number, such as ``0.512 (3)``; "" without any."""
    by_setting: dict[str, list[float]] = {}
    for trial in planned:
        own = by_setting.setdefault(setting(trial), [])
        if trial.number in values:
            own.append(values[trial.number])
    return {
        name: f"{sum(own) / len(own):.6g} ({len(own)})" if own else "" for name, own in by_setting.items()
    }


def as_text(value: Any) -> str:
    """Return a searched value as tables and legends have it."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value)


def write_table(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write ``rows`` as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, text.getvalue().encode())


def _plot(plan: Plan, ranked: Sequence[Trial]) -> bytes:
    """Return the curves of all trials as PNG: one colour per setting, best first; those stopped early dashed.

    The legend names each setting. Beyond the colours, the settings are grey and share a line of the legend.
    """
    curves = {trial.number: trial.curve(plan.metric) for trial in ranked}
    settings = list(dict.fromkeys(setting(trial) for trial in ranked if curves[trial.number]))
    labels = {name: name or "seed" for name in settings[: len(PALETTE)]}
    colors = dict(zip(labels, PALETTE, strict=False))
    with canvas(6.4, 3.6 + 0.17 * min(len(settings), len(PALETTE) + 1)) as (figure, [axes]):
        for place, trial in reversed(list(enumerate(ranked))):
            curve = curves[trial.number]
            if not curve:
                continue
            axes.plot(
                *zip(*curve, strict=True),
                color=colors.get(setting(trial), FAINT),
                linestyle="--" if trial.status() == "given up" else "-",
                linewidth=1.8 if place == 0 else 1.0,
                marker="." if len(curve) == 1 else None,
                zorder=3 if place == 0 else 2,
            )
        handles = [Line2D([], [], color=colors[name], label=label) for name, label in labels.items()]
        if others := len(settings) - len(labels):
            handles.append(Line2D([], [], color=FAINT, label=f"{others} other settings"))
        axes.set(xlabel="steps", ylabel=plan.metric.replace("_", " "), title=plan.sweep.name)
        if handles:
            axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(0, -0.16), frameon=False)
        image = io.BytesIO()
        figure.savefig(image, format="png", dpi=150, bbox_inches="tight")
        return image.getvalue()
