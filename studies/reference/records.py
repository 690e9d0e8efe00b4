"""The study's data, which `leogym.baselines` ships: a row per cell and evaluation."""

from pathlib import Path

import polars as pl

from leogym.results.baselines import FILE
from studies.reference import training
from studies.reference.cells import Cell

SCHEMA = {
    "algorithm": pl.String,
    "id": pl.String,
    "seed": pl.Int64,
    "point": pl.Int64,
    "steps": pl.Int64,
    "return_mean": pl.Float64,
    "return_min": pl.Float64,
    "return_max": pl.Float64,
    "cpu_s": pl.Float64,
    "wall_s": pl.Float64,
    "digest": pl.String,
}
_ORDER = ("algorithm", "id", "seed", "point")


def read(file: Path = FILE) -> pl.DataFrame:
    """Return the rows of ``file``; none if it is missing."""
    return pl.read_parquet(file) if file.is_file() else pl.DataFrame(schema=SCHEMA)


def reached(cell: Cell, table: pl.DataFrame) -> int:
    """Return the last point of ``cell`` in ``table`` with its present hyperparameters; 0 if there is none."""
    rows = table.filter(
        pl.col("algorithm") == cell.algorithm,
        pl.col("id") == cell.id,
        pl.col("seed") == cell.seed,
        pl.col("digest") == cell.digest(),
    )
    return int(rows["point"].max() or 0)  # type: ignore[arg-type]


def of_cell(cell: Cell, folder: Path) -> pl.DataFrame:
    """Return the rows of the cell in ``folder``."""
    rows = [
        {
            **{"algorithm": cell.algorithm, "id": cell.id, "seed": cell.seed},
            **{name: row[name] for name in ("point", "steps", "cpu_s", "wall_s")},
            "return_mean": sum(row["returns"]) / len(row["returns"]),
            "return_min": min(row["returns"]),
            "return_max": max(row["returns"]),
            "digest": cell.digest(),
        }
        for row in training.rows(cell, folder)
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def merge(table: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Return ``table`` with the rows of ``new``, which replace all others of their cells."""
    cells = new.select("algorithm", "id", "seed").unique()
    rest = table.join(cells, on=["algorithm", "id", "seed"], how="anti")
    return pl.concat([rest.select(*SCHEMA), new.select(*SCHEMA)]).sort(_ORDER)


def write(table: pl.DataFrame, file: Path = FILE) -> None:
    """Write ``table`` to ``file``."""
    draft = file.with_suffix(".draft")
    table.sort(_ORDER).write_parquet(draft, compression="zstd")
    draft.replace(file)
