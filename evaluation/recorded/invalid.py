"""``invalid.csv``: runs that failed, or that the machine was too slow for; no other table has them."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from leogym.common.atomic import write_atomically
from leogym.common.errors import InputError
from leogym.evaluation.runs.plan import Run

NAME = "invalid.csv"
SCHEMA = {
    "suite": pl.String,
    "scenario": pl.String,
    "scheme": pl.String,
    "backend": pl.String,
    "repeat": pl.Int64,
    "why": pl.String,
    "run_id": pl.String,
}


@dataclass(frozen=True)
class Reason:
    """Why a run is invalid; returned instead of its rows."""

    why: str


def read(folder: Path) -> pl.DataFrame:
    """Return one row per invalid run of the evaluation in ``folder``."""
    path = folder / NAME
    if not path.exists():
        return pl.DataFrame(schema=SCHEMA)
    try:
        return pl.read_csv(path, schema=SCHEMA)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None


def add(folder: Path, run: Run, why: str) -> None:
    """Record an invalid run."""
    row = {
        "suite": run.suite,
        "scenario": run.scenario.name,
        "scheme": run.scheme,
        "backend": run.backend,
        "repeat": run.repeat,
        "why": why,
        "run_id": run.run_id,
    }
    _write(folder, pl.concat([read(folder), pl.DataFrame([row], schema=SCHEMA)]))


def forget(folder: Path, run_ids: Collection[str]) -> None:
    """Remove runs that run again."""
    rows = read(folder)
    if not rows.is_empty():
        _write(folder, rows.filter(~pl.col("run_id").is_in(list(run_ids))))


def _write(folder: Path, rows: pl.DataFrame) -> None:
    if rows.is_empty():
        (folder / NAME).unlink(missing_ok=True)
    else:
        write_atomically(folder / NAME, rows.write_csv().encode())
