"""Write a sweep's table, plot and summary."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leogym.agents.sweeps.plan import Trial
from leogym.common.atomic import write_atomically
from leogym.configs.sweep import Sweep
from leogym.results.figure_style import FAINT, INK, canvas


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
    rows = [
        {
            "trial": trial.number,
            **{name: _text(value) for name, value in trial.assigned.items()},
            sweep.metric: f"{values[trial.number]:.6g}" if trial.number in values else "",
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
    """Return the curves of all trials as PNG: the best dark and labelled, those stopped early dashed."""
    with canvas(6.4, 3.6) as (figure, [axes]):
        for trial in reversed(ranked):
            curve = curves[trial.number]
            if not curve:
                continue
            leads = trial is ranked[0]
            values = ", ".join(f"{name} {_text(value)}" for name, value in trial.assigned.items())
            axes.plot(
                *zip(*curve, strict=True),
                color=INK if leads else FAINT,
                linestyle="--" if trial.status() == "given up" else "-",
                linewidth=1.8 if leads else 1.0,
                marker="." if len(curve) == 1 else None,
                label=f"trial {trial.number}: {values}" if leads else None,
                zorder=3 if leads else 2,
            )
        axes.set(xlabel="steps", ylabel=sweep.metric.replace("_", " "), title=sweep.name)
        axes.legend(loc="best", frameon=False)
        image = io.BytesIO()
        figure.savefig(image, format="png", dpi=150)
        return image.getvalue()
