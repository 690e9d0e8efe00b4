"""The output folder: ``runs.parquet``, ``series/flows/`` and ``series/links/``, each file written atomically.

``runs.parquet`` lists a run only once its series are in place, so every file is readable at any time and
``--resume`` repeats only unfinished runs. The file is not replaced after each run: a kill also loses runs
that ended within the last moments, up to `AGAIN` times as long as a replacement takes.
"""

from __future__ import annotations

import errno
import io
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from leogym.common import digests
from leogym.common.atomic import DISK_FULL_ERRORS, write_atomically
from leogym.common.errors import InputError
from leogym.evaluation.recorded import description as run_json
from leogym.evaluation.recorded import file_names
from leogym.evaluation.recorded.damage import METADATA_KEY, ROWS, DamagedError
from leogym.evaluation.recorded.invalid import Reason
from leogym.evaluation.recorded.series import KINDS, SeriesWriter, files_of, require_apart
from leogym.evaluation.runs.plan import Run
from leogym.results.measurement import COLUMNS, Measurement
from leogym.results.metrics import SHARED_METRICS, flow_rows

TYPES = {
    **dict.fromkeys(("f64", "Option<f64>"), pl.Float64),
    **dict.fromkeys(("u64", "Option<u64>"), pl.Int64),
    "Option<String>": pl.String,
}
"""Of the run log's columns."""
SCHEMA: dict[str, Any] = {
    "suite": pl.String,
    "scenario": pl.String,
    "scheme": pl.String,
    "backend": pl.String,
    "repeat": pl.Int64,
    "seed": pl.Int64,
    "offset_s": pl.Float64,
    **{name: TYPES[kind] for name, kind in COLUMNS["flows"].items() if name != "scheme"},
    **dict.fromkeys(SHARED_METRICS, pl.Float64),
    "share": pl.Float64,
    "run_scheme": pl.String,
    "interval_ms": pl.Float64,
    "trace_sha256": pl.String,
    "policy_sha256": pl.String,
    "setup_id": pl.String,
    "run_id": pl.String,
}
SERIES_KEY, DIGEST_KEY = "leogym_series", "leogym_sha256"
"""Keys of the series' digests and of the file's own in the metadata of ``runs.parquet``."""
_SEALED = re.compile(DIGEST_KEY.encode() + b".{0,4}?([0-9a-f]{64})", re.DOTALL)
"""The digest in the file's bytes: a changed file is not parsed."""
AGAIN = 20.0
"""At most 1/`AGAIN` of the time goes into replacing ``runs.parquet``."""


@dataclass(frozen=True)
class Record:
    """The contents of ``runs.parquet``."""

    rows: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SCHEMA))
    digests: dict[str, str] | None = None
    """SHA-256 of the kept series by `series.key_of`; None in a file of a version that recorded none."""
    description: dict[str, Any] | None = None


def file_name(suite: str, scenario: str, scheme: str, repeat: int) -> str:
    """Return the name of a run's files in ``series/``, such as ``leo-single--sd-ny-bp--cubic--0``."""
    return file_names.joined(suite, scenario, scheme, str(repeat))


def require_writable(folder: Path) -> None:
    """Raise an `InputError` unless ``folder`` is writable or could be created."""
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not nearest.is_dir():
        raise InputError(f"{folder}: --out: cannot be written: {os.strerror(errno.ENOTDIR)}")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: --out: cannot be written: {os.strerror(errno.EACCES)}")


class Store:
    """An evaluation's folder. Create it with `create` or `resume`."""

    def __init__(self, folder: Path, description: dict[str, Any], record: Record) -> None:
        self.folder = folder
        self._description = description
        self._rows = record.rows
        self._digests = dict(record.digests or {})
        self._new_digests: dict[str, dict[str, str]] = {}
        self._again_s = 0.0

    @classmethod
    def create(cls, folder: Path, description: dict[str, Any]) -> Store:
        """Start an evaluation in ``folder``; raise an `InputError` if it already holds one."""
        if not read_record(folder).rows.is_empty():
            raise InputError(
                f"{folder}: runs.parquet: holds an evaluation (continue with --resume, or name another --out)"
            )
        return cls.opened(folder, description, Record())

    @classmethod
    def resume(cls, folder: Path, description: dict[str, Any]) -> Store:
        """Continue in ``folder`` and keep recorded runs; `recorded.setup` checks that this is valid."""
        require_apart(folder)
        return cls.opened(folder, description, read_record(folder))

    @classmethod
    def opened(cls, folder: Path, description: dict[str, Any], record: Record) -> Store:
        """Continue in ``folder`` with the runs of ``record`` only."""
        store = cls(folder, description, record)
        try:
            for part in (folder, *(folder / "series" / kind for kind in KINDS), folder / "figures"):
                part.mkdir(parents=True, exist_ok=True)
            for leftover in (folder / "series").rglob(".*.tmp"):  # files beside it are written again
                leftover.unlink()
            store.flush()
        except OSError as error:
            if error.errno in DISK_FULL_ERRORS:
                raise
            raise InputError(f"{folder}: --out: cannot be written: {error.strerror}") from None
        return store

    @property
    def rows(self) -> pl.DataFrame:
        """All recorded rows, one per flow and run."""
        return self._rows.sort(
            "suite", "scenario", "run_scheme", "backend", "repeat", "flow", maintain_order=True
        )

    @property
    def recorded(self) -> set[str]:
        """The ``run_id`` of each recorded run."""
        return set(self._rows["run_id"])

    def record(self, run: Run, measurement: Measurement) -> None:
        """Write a finished run's series, then its rows."""
        rows = self.take(run, [measurement])
        if isinstance(rows, Reason):
            raise ValueError(f"{run.run_id}: {rows.why}")
        self.add(run, rows)
        self.flush()

    def take(
        self, run: Run, parts: Iterable[Measurement], *, keep_series: bool = True
    ) -> list[dict[str, Any]] | Reason:
        """Write a run's series as its parts arrive; return its rows, one per flow, for `add`.

        Keeps nothing of an invalid run and returns the reason. Thread-safe for different runs: it touches
        only the run's own files. Only the last part has ``flows`` and ``links``.
        """
        with self._writer(run) as writer:
            last = None
            # Look ahead only without keep_series: a part of a long run can be large.
            for last, more in ((part, True) for part in parts) if keep_series else _and_whether_more(parts):
                if last.invalid is not None:
                    return Reason(last.invalid)
                if more or writer.parts:
                    writer.write(last)
            if last is None:
                raise ValueError(f"{run.run_id}: a run must have at least one part")
            if writer.parts:
                written = writer.finish()
                if keep_series:
                    self._new_digests[run.run_id] = written
        again = (lambda: writer.read_back(last.link_names)) if writer.parts > 1 else None
        rows = flow_rows(last, run.scenario, run.fairness_last_s, again, run.compare)
        if not keep_series:
            writer.remove()
        return rows

    def copy_series(self, run: Run, files: Mapping[str, bytes]) -> None:
        """Write a run's series from another's files by kind; raise a ValueError if they are invalid."""
        with self._writer(run) as writer:
            writer.copy(files)
            self._new_digests[run.run_id] = writer.finish()

    def series_files(self, run: Run) -> dict[str, Path]:
        """Return the paths of a run's series by kind; they may not exist."""
        name = file_name(run.suite, run.scenario.name, run.scheme, run.repeat)
        return files_of(self.folder, name)

    def _writer(self, run: Run) -> SeriesWriter:
        name = file_name(run.suite, run.scenario.name, run.scheme, run.repeat)
        about = {**run_json.of_run(self._description, run), "run": run_description(run)}
        return SeriesWriter(self.folder, name, run, about)

    def add(self, run: Run, rows: list[dict[str, Any]]) -> None:
        """Record a finished run's rows; its series are in place. Call `flush` at the end."""
        identity = {
            "suite": run.suite,
            "scenario": run.scenario.name,
            "run_scheme": run.scheme,
            "backend": run.backend,
            "repeat": run.repeat,
            "seed": run.scenario.seed,
            "offset_s": run.offset_s,
            "interval_ms": run.interval_ms,
            "trace_sha256": ",".join(run.traces.values()) or None,
            "setup_id": run.setup_id,
            "run_id": run.run_id,
        }
        complete = [{**identity, **row, "policy_sha256": run.policies.get(row["scheme"])} for row in rows]
        self._rows = pl.concat([self._rows, pl.DataFrame(complete, schema=SCHEMA)])
        self._digests |= self._new_digests.pop(run.run_id, {})
        if time.monotonic() >= self._again_s:
            self.flush()

    def flush(self) -> None:
        """Write the rows of all added runs."""
        begun_s = time.monotonic()
        self._rows = self.rows.rechunk()
        metadata = {
            METADATA_KEY: json.dumps(self._description),
            SERIES_KEY: json.dumps(self._digests, sort_keys=True),
            DIGEST_KEY: digests.UNSEALED,
        }
        buffer = io.BytesIO()
        self._rows.write_parquet(buffer, metadata=metadata)
        write_atomically(self.folder / ROWS, digests.seal(buffer.getvalue()))
        ended_s = time.monotonic()
        self._again_s = ended_s + AGAIN * (ended_s - begun_s)


def _and_whether_more(parts: Iterable[Measurement]) -> Iterator[tuple[Measurement, bool]]:
    parts = iter(parts)
    part = next(parts, None)
    while part is not None:
        following = next(parts, None)
        yield part, following is not None
        part = following


def read_record(folder: Path) -> Record:
    """Return what ``runs.parquet`` in ``folder`` records; nothing without the file.

    Raises:
        DamagedError: the file changed since it was written.
        InputError: it cannot be read, or has other columns.
    """
    path = folder / ROWS
    if not path.exists():
        return Record()
    record = read_rows(folder)
    if dict(record.rows.schema) != SCHEMA:
        raise InputError(f"{path}: columns: differ from this version's; name another --out")
    return record


def read_rows(folder: Path) -> Record:
    """Like `read_record`, but with the columns of any version, and a file that must exist."""
    path = folder / ROWS
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise DamagedError(path, "missing", folder) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    sealed = _SEALED.search(data)
    # Without the key, it is an earlier version's file.
    if DIGEST_KEY.encode() in data and not (sealed and digests.is_intact(data, sealed[1].decode())):
        raise DamagedError(path, "changed since it was written", folder)
    try:
        metadata = pl.read_parquet_metadata(io.BytesIO(data))
        rows = pl.read_parquet(io.BytesIO(data))
        description = json.loads(metadata.get(METADATA_KEY, "null"))
        series = json.loads(metadata.get(SERIES_KEY, "null"))
    except (ValueError, pl.exceptions.PolarsError) as error:
        why = f"cannot be read: {' '.join(str(error).split())}"
        raise DamagedError(path, why, folder) from None
    return Record(rows, series, description)


def run_description(run: Run) -> dict[str, Any]:
    """Return a run's identity: its resolved scenario, and its traces and policies by hash."""
    return {
        "suite": run.suite,
        "scheme": run.scheme,
        "backend": run.backend,
        "repeat": run.repeat,
        "scenario": run.scenario.model_dump(mode="json"),
        "interval_ms": run.interval_ms,
        "fairness_last_s": run.fairness_last_s,
        "compare": run.compare.model_dump(mode="json"),
        "traces": run.traces,
        "policies": run.policies,
        "run_id": run.run_id,
    }
