"""Get a run's results from the cache, or by running it."""

import functools
import hashlib
import inspect
import json
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from leogym.evaluation.cache.folder import Folder
from leogym.evaluation.entries import confinement, process
from leogym.evaluation.recorded import series
from leogym.evaluation.recorded.invalid import Reason
from leogym.evaluation.recorded.store import Store
from leogym.evaluation.runs import programs
from leogym.evaluation.runs.backends import SERIES_MS
from leogym.evaluation.runs.plan import Run
from leogym.results import flow_report, measurement, metrics
from leogym.results.measurement import Measurement

FORMAT = 2
"""Increase it when the content of entries changes for the same inputs."""
_MEASURED_BY = (metrics, measurement, series)
PROGRAMS_RUN_BY = (
    process.WORKER,
    *(Path(inspect.getfile(module)) for module in (programs, process, confinement, flow_report)),
)
"""What runs programs that steer flows."""


def key(run: Run, version: str) -> str:
    """Return the key of a run, given `backends.Backend.version`.

    Names of suites, scenarios and trace files are not part of it: equal content is the same run.
    """
    content: dict[str, Any] = {
        "format": FORMAT,
        "backend": run.backend,
        "version": version,
        "measured_by": _measured_by(),
        "scenario": _nameless(run),
        "interval_ms": run.interval_ms,
        "series_ms": SERIES_MS,
        "fairness_last_s": run.fairness_last_s,
        "compare": run.compare.model_dump(mode="json"),
        "policies": run.policies,
    }
    if run.policies:  # some may be programs
        content["steered_by"] = _steered_by()
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _nameless(run: Run) -> dict[str, Any]:
    """Return the run's scenario without its name, with trace hashes for names."""
    scenario = run.scenario.model_dump(mode="json", exclude={"name"})
    for link in scenario["links"].values():
        if link["trace"] is not None:
            link["trace"] = run.traces[link["trace"]]
    return scenario


@functools.cache
def _measured_by() -> str:
    return digest([Path(inspect.getfile(module)) for module in _MEASURED_BY], np.__version__)


@functools.cache
def _steered_by() -> str:
    return digest(PROGRAMS_RUN_BY)


def digest(files: Iterable[Path], *more: str) -> str:
    """Return a hash of the files' bytes and of ``more``."""
    parts = [hashlib.sha256(path.read_bytes()).digest() for path in files]
    return hashlib.sha256(b"".join(parts) + "\0".join(more).encode()).hexdigest()


class Taking:
    """The callback of `evaluation.runs.execute` for each run; counts cache hits."""

    def __init__(
        self, store: Store, folder: Folder | None, version: str | None, without_series: Collection[str] = ()
    ) -> None:
        """Prepare for an evaluation.

        Without ``folder`` or ``version`` (results are not reproducible), nothing is cached.
        ``without_series`` has the ``run_id`` of runs whose series need not be kept.
        """
        self._store = store
        self._folder = folder if version is not None else None
        self._version = version or ""
        self._without_series = without_series
        self._lock = threading.Lock()
        self._seconds: dict[str, float] = {}
        self.kept = 0

    def has(self, run: Run) -> bool:
        """Return whether the cache seems to hold a run's results."""
        return self._folder is not None and any(map(self._folder.has, self._names(run)))

    def __call__(self, run: Run, parts: Iterator[Measurement]) -> list[dict[str, Any]] | Reason:
        """Return a run's rows and store its series; on a cache hit ``parts`` is not started."""
        if (rows := self._kept(run)) is not None:
            with self._lock:
                self.kept += 1
            return rows
        keep_series = self._keeps_series(run)
        begun_s = time.monotonic()
        rows_or_reason = self._store.take(run, parts, keep_series=keep_series)
        if self._folder is not None and not isinstance(rows_or_reason, Reason):
            series = self._store.series_files(run) if keep_series else {}
            self._folder.put(self._names(run)[0], rows_or_reason, series)
        self._seconds[run.run_id] = time.monotonic() - begun_s
        return rows_or_reason

    def seconds(self, run: Run) -> float | None:
        """Return how long a finished run took; None for a cache hit."""
        return self._seconds.get(run.run_id)

    def _kept(self, run: Run) -> list[dict[str, Any]] | None:
        if (folder := self._folder) is None:
            return None
        for name in self._names(run):
            entry = folder.get(name)
            if entry is None:
                continue
            if self._keeps_series(run):
                try:
                    self._store.copy_series(run, entry.series)
                except ValueError as error:
                    folder.damaged(name, str(error))
                    continue
            return entry.rows
        return None

    def _names(self, run: Run) -> list[str]:
        """Return the keys of usable entries; this evaluation would write the first."""
        name = key(run, self._version)
        return [f"{name}-series"] if self._keeps_series(run) else [name, f"{name}-series"]

    def _keeps_series(self, run: Run) -> bool:
        return run.run_id not in self._without_series
