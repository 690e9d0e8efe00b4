"""Select the recorded runs that ``--resume`` keeps: those whose files are intact."""

import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import polars as pl

from leogym.common.digests import sha256
from leogym.evaluation.recorded import description as run_json
from leogym.evaluation.recorded import setup
from leogym.evaluation.recorded.damage import DESCRIPTION, ROWS, DamagedError
from leogym.evaluation.recorded.series import KINDS, difference, files_of, key_of, require_apart
from leogym.evaluation.recorded.store import Record, Store, file_name, read_record
from leogym.evaluation.runs.plan import Run

MOST_NAMED = 3
"""Most runs that the line names; the others are counted."""


def resumed(
    folder: Path, described: dict[str, Any], planned: Collection[Run]
) -> tuple[Store, dict[str, Any]]:
    """Return the store of the evaluation in ``folder``, and ``described`` merged with its description.

    Missing or changed files are made again, which a line on stderr reports: ``run.json`` from
    ``runs.parquet``, all runs without ``runs.parquet``, and a run whose series differ.

    Raises:
        InputError: the folder has another setup, or a damaged run is not ``planned``.
    """
    require_apart(folder)
    record = _record(folder)
    if record.rows.is_empty():
        return Store.opened(folder, described, Record()), described
    before = _description(folder, record)
    setup.require_same(folder, before, described, record.rows, planned)
    if record.digests is None:  # an earlier version recorded none: use the series on disk
        record = Record(record.rows, _digests_of(folder, record.rows), record.description)
    record = _without_damaged(folder, record, {run.run_id for run in planned})
    described = run_json.merge(described, before)
    return Store.opened(folder, described, record), described


def _record(folder: Path) -> Record:
    path = folder / ROWS
    if not path.exists() and (folder / DESCRIPTION).exists():
        print(f"{path}: missing: all runs are run again", file=sys.stderr)
    try:
        return read_record(folder)
    except DamagedError as error:
        print(f"{path}: {error.why}: all runs are run again", file=sys.stderr)
        return Record()


def _description(folder: Path, record: Record) -> dict[str, Any]:
    try:
        return run_json.read(folder)
    except DamagedError as error:
        if record.description is None:
            raise
        print(f"{error.path}: {error.why}: made again from {ROWS}", file=sys.stderr)
        return record.description


def _files(folder: Path, row: dict[str, Any]) -> list[Path]:
    name = file_name(row["suite"], row["scenario"], row["run_scheme"], row["repeat"])
    return [files_of(folder, name)[kind] for kind in KINDS]


def _runs(rows: pl.DataFrame) -> list[dict[str, Any]]:
    return rows.unique("run_id", keep="first", maintain_order=True).rows(named=True)


def _digests_of(folder: Path, rows: pl.DataFrame) -> dict[str, str]:
    files = [path for row in _runs(rows) for path in _files(folder, row)]
    return {key_of(path): sha256(path) for path in files if path.exists()}


def _without_damaged(folder: Path, record: Record, planned: Collection[str]) -> Record:
    """Return the record without the runs whose series are missing or changed."""
    digests = dict(record.digests or {})
    lost: list[str] = []
    names: list[str] = []
    for row in _runs(record.rows):
        files = [path for path in _files(folder, row) if key_of(path) in digests]
        faults = [(path, why) for path in files if (why := difference(path, digests[key_of(path)]))]
        if not faults:
            continue
        if row["run_id"] not in planned:
            raise DamagedError(*faults[0], folder)
        lost.append(row["run_id"])
        names.append(f"{row['suite']} {row['scenario']} {row['run_scheme']} {row['repeat']}")
        for path in files:
            del digests[key_of(path)]
    if lost:
        more = f" (and {len(names) - MOST_NAMED} more)" if len(names) > MOST_NAMED else ""
        listing = f"{'; '.join(names[:MOST_NAMED])}{more}"
        print(f"{folder}: recorded series are missing or changed: run again: {listing}", file=sys.stderr)
    return Record(record.rows.filter(~pl.col("run_id").is_in(lost)), digests, record.description)
