"""Training curves of the policies that a user evaluates: rows of the run folder that a policy lies in."""

from pathlib import Path
from typing import Any

import polars as pl

CONFIG = "config.yaml"
FILES = ("evaluation.csv", "progress.csv")
"""Held-out episodes and training itself, as `agents.training.run_folder` writes them."""
KEY = "training"
"""Of a policy in an evaluation's description."""
STEPS = "steps"
LEFT_OUT = ("wall_s", "fallbacks")
MOST_ROWS = 200


def curves_beside(policy: Path) -> dict[str, dict[str, list[float | None]]]:
    """Return the columns of each file with rows in the run folder of ``policy``, thinned to `MOST_ROWS`.

    A file that is missing, empty or not a table gives none: a policy needs no training to be evaluated.
    """
    folder = policy.resolve().parent
    if not (folder / CONFIG).is_file():
        return {}
    curves = {}
    for name in FILES:
        try:
            rows = pl.read_csv(folder / name)
        except (OSError, pl.exceptions.PolarsError):
            continue
        if rows.height < 2 or STEPS not in rows.columns:
            continue
        rows = rows.select(pl.selectors.numeric()).gather_every(-(-rows.height // MOST_ROWS))
        curves[name] = {column.name: column.to_list() for column in rows if column.name not in LEFT_OUT}
    return curves


def curves_of(description: dict[str, Any]) -> dict[str, dict[str, dict[str, list[float | None]]]]:
    """Return the curves that an evaluation's description has, by policy and file."""
    policies = description["config"]["policies"]
    return {name: policy[KEY] for name, policy in policies.items() if policy.get(KEY)}
