"""The two Parquet files of a run's series, written and read back in parts."""

from __future__ import annotations

import functools
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from pyarrow.lib import ArrowException

from leogym.common.atomic import sync_file, sync_folder
from leogym.common.digests import sha256
from leogym.common.errors import InputError
from leogym.evaluation.recorded.damage import METADATA_KEY
from leogym.evaluation.runs.plan import Run
from leogym.results.measurement import Measurement

LINKS_KEY = "leogym_links"
"""Key of the links' summaries, as JSON, in the metadata of ``series/links``."""

KINDS = ("flows", "links")
IDENTITY = ["suite", "scenario", "scheme", "backend", "repeat"]
READ_BACK = ["time_s", "flow", "goodput_mbps", "rtt_ms", "base_rtt_ms"]


def files_of(evaluation: Path, name: str) -> dict[str, Path]:
    """Return the paths of the series of the run ``name`` of an evaluation's folder by kind.

    Each kind has its own folder, because readers take all files of a folder for one table.
    """
    return {kind: evaluation / "series" / kind / f"{name}.parquet" for kind in KINDS}


def key_of(path: Path) -> str:
    """Return the name by which an evaluation records a series' digest, such as ``flows/NAME.parquet``."""
    return f"{path.parent.name}/{path.name}"


def difference(path: Path, digest: str | None) -> str | None:
    """Return how a recorded series differs from its digest; None if it has the bytes that were written."""
    try:
        about = path.stat()
        unchanged = digest == _digest(path, about.st_mtime_ns, about.st_size)
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return None if unchanged else "changed since it was recorded"


@functools.lru_cache(maxsize=1 << 16)
def _digest(path: Path, modified_ns: int, size: int) -> str:
    """Return a file's SHA-256; several claims and figures read the same series."""
    return sha256(path)


def read_table(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Return a series' table, or its ``columns``; raise an `InputError` if it cannot be read."""
    try:
        return pl.read_parquet(path, columns=None if columns is None else list(columns))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: cannot be read: {' '.join(str(error).split())}") from None


def summaries_of(links: Path) -> list[dict[str, Any]]:
    """Return the summaries of a run's links from ``series/links/NAME.parquet``; old files have none."""
    encoded = (pq.read_metadata(links).metadata or {}).get(LINKS_KEY.encode())
    return json.loads(encoded) if encoded is not None else []


def require_apart(evaluation: Path) -> None:
    """Raise an `InputError` if the series of both kinds lie in one folder, as earlier versions wrote them."""
    if any((evaluation / "series").glob("*.parquet")):
        raise InputError(
            f"{evaluation}: series: series/KIND--NAME.parquet is of an earlier version: move each file to "
            "series/KIND/NAME.parquet (KIND is flows or links)"
        )


class SeriesWriter:
    """Writes ``series/flows/NAME.parquet`` and ``series/links/NAME.parquet``: one row group per part.

    Holds one part in memory. The run's identity is in each file's first columns, so all files of a kind read
    as one table. `finish` renames complete files into place; without it, the ``with`` block deletes them.
    """

    def __init__(self, evaluation: Path, name: str, run: Run, description: dict[str, Any]) -> None:
        self._paths = files_of(evaluation, name)
        self._temporary = {kind: path.with_name(f".{path.name}.tmp") for kind, path in self._paths.items()}
        self._run = run
        self._metadata = {METADATA_KEY: json.dumps(description)}
        self._writers: dict[str, pq.ParquetWriter] = {}
        self.parts = 0

    def __enter__(self) -> SeriesWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for writer in self._writers.values():
            with suppress(OSError):  # unfinished files are deleted
                writer.close()
        for path in self._temporary.values():
            path.unlink(missing_ok=True)

    def write(self, part: Measurement) -> None:
        """Append a part's rows."""
        links = dict(part.link_series)
        links["link"] = np.array(part.link_names)[links["link"]]
        schemes = np.array([str(flow["scheme"]) for flow in part.flows])
        flows = {"flow_scheme": schemes[part.flow_series["flow"]], **part.flow_series}
        for kind, columns in zip(KINDS, (flows, links), strict=True):
            self._append(kind, pl.DataFrame(columns))
        if part.links:
            self._summarise(json.dumps(part.links, default=int))
        self.parts += 1

    def copy(self, files: Mapping[str, bytes]) -> None:
        """Write another run's series files, given as bytes by kind; a ValueError means invalid files."""
        try:
            for kind in KINDS:
                file = pq.ParquetFile(io.BytesIO(files[kind]))
                for group in range(file.num_row_groups):
                    table = pl.from_arrow(file.read_row_group(group))
                    assert isinstance(table, pl.DataFrame)
                    self._append(kind, table.drop(IDENTITY))
                if (summary := (file.metadata.metadata or {}).get(LINKS_KEY.encode())) is not None:
                    self._summarise(summary.decode())
        except (KeyError, ArrowException, pl.exceptions.PolarsError) as error:
            raise ValueError(f"invalid series: {error}") from None

    def _append(self, kind: str, columns: pl.DataFrame) -> None:
        table = _with_identity(self._run, columns).to_arrow()
        if kind not in self._writers:
            self._writers[kind] = pq.ParquetWriter(
                self._temporary[kind], table.schema.with_metadata(self._metadata), compression="zstd"
            )
        self._writers[kind].write_table(table, row_group_size=max(1, len(table)))

    def _summarise(self, links: str) -> None:
        self._writers["links"].add_key_value_metadata({LINKS_KEY: links})

    def finish(self) -> dict[str, str]:
        """Rename the files into place once their bytes are on disk; return their SHA-256 by `key_of`."""
        hashes = {}
        for kind in KINDS:
            self._writers.pop(kind).close()
            sync_file(self._temporary[kind])
            hashes[key_of(self._paths[kind])] = sha256(self._temporary[kind])
            os.replace(self._temporary[kind], self._paths[kind])
        for path in self._paths.values():
            sync_folder(path.parent)
        return hashes

    def remove(self) -> None:
        """Delete finished files."""
        for path in self._paths.values():
            path.unlink(missing_ok=True)

    def read_back(self, link_names: list[str]) -> Iterator[Measurement]:
        """Yield the parts again with the columns that metrics need; call after `finish`."""
        numbers = {name: index for index, name in enumerate(link_names)}
        files = [pq.ParquetFile(self._paths[kind]) for kind in KINDS]
        try:
            for group in range(self.parts):
                flows = files[0].read_row_group(group, READ_BACK)
                links = files[1].read_row_group(group, ["time_s", "link", "capacity_mbps"])
                flow_series = {name: flows[name].to_numpy() for name in flows.column_names}
                link_series = {name: links[name].to_numpy() for name in ("time_s", "capacity_mbps")}
                link_series["link"] = np.array([numbers[name] for name in links["link"].to_pylist()], int)
                yield Measurement([], [], flow_series, link_series, link_names)
        finally:
            for file in files:
                file.close()


def _with_identity(run: Run, columns: pl.DataFrame) -> pl.DataFrame:
    values = (run.suite, run.scenario.name, run.scheme, run.backend)
    return columns.select(
        *(pl.lit(value).alias(name) for name, value in zip(IDENTITY, values, strict=False)),
        pl.lit(run.repeat, dtype=pl.Int64).alias("repeat"),
        pl.all(),
    )
