"""Write a sweep's table, plot and summary."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.lines import Line2D

from leogym.agents.sweeps.plan import Trial
from leogym.common.atomic import write_atomically
from leogym.configs.sweep import Sweep
from leogym.results.figure_style import FAINT, PALETTE, canvas

SEED = "seed"


def report(sweep: Sweep, planned: Sequence[Trial], out: Path) -> Path:
    """Write ``sweep.csv``, ``sweep.png`` and ``summary.json`` to ``out``, best trial first; return the table.

    A trial counts with its best value, as in early stopping and in ``best/``.
    """
    best = max if sweep.goal == "max" else min
    curves = {trial.number: trial.curve(sweep.metric) for trial in planned}
    values = {number: best(value for _, value in curve) for number, curve in curves.items() if curve}
    ranked = sorted(
        planned,
        key=lambda trial: (
            trial.number not in values,
            -values.get(trial.number, 0.0) if sweep.goal == "max" else values.get(trial.number, 0.0),
        ),
    )
    means = _means(planned, values)
    rows = [
        {
            "trial": trial.number,
            **{name: _text(value) for name, value in trial.assigned.items()},
            sweep.metric: f"{values[trial.number]:.6g}" if trial.number in values else "",
            **({f"{sweep.metric}_mean_of_seeds": means[setting(trial)]} if SEED in sweep.search else {}),
            "steps": curves[trial.number][-1][0] if curves[trial.number] else 0,
            "status": trial.status(),
            "folder": str(trial.folder.relative_to(out.absolute())),
        }
        for trial in ranked
    ]
    table = out / "sweep.csv"
    write_atomically(table, _csv(rows).encode())
    write_atomically(out / "sweep.png", _plot(sweep, ranked, curves))
    summary = {
        "name": sweep.name,
        "metric": sweep.metric,
        "trials": len(planned),
        "done": sum(trial.status() == "done" for trial in planned),
        "given_up": sum(trial.status() == "given up" for trial in planned),
        "best": rows[0] if ranked[0].number in values else None,
    }
    write_atomically(out / "summary.json", (json.dumps(summary, indent=2) + "\n").encode())
    return table


def setting(trial: Trial) -> str:
    """Return the values of the searched settings, but the seed, as text: trials that share it are repeats."""
    return ", ".join(f"{name} {_text(value)}" for name, value in trial.assigned.items() if name != SEED)


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


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value)


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _plot(sweep: Sweep, ranked: Sequence[Trial], curves: dict[int, list[tuple[int, float]]]) -> bytes:
    """Return the curves of all trials as PNG: one colour per setting, best first; those stopped early dashed.

    The legend names each setting. Beyond the colours, the settings are grey and share a line of the legend.
    """
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
        axes.set(xlabel="steps", ylabel=sweep.metric.replace("_", " "), title=sweep.name)
        if handles:
            axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(0, -0.16), frameon=False)
        image = io.BytesIO()
        figure.savefig(image, format="png", dpi=150, bbox_inches="tight")
        return image.getvalue()
