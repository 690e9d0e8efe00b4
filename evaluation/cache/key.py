"""The cache key of a run: a hash of exactly the inputs that determine its results."""

import functools
import hashlib
import inspect
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from leogym.evaluation.recorded import series
from leogym.evaluation.runs.backends import SERIES_MS
from leogym.evaluation.runs.plan import Run
from leogym.results import measurement, metrics

FORMAT = 2
"""Increase it when the content of entries changes for the same inputs."""
_MEASURED_BY = (metrics, measurement, series)


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


def digest(files: Iterable[Path], *more: str) -> str:
    """Return a hash of the files' bytes and of ``more``."""
    parts = [hashlib.sha256(path.read_bytes()).digest() for path in files]
    return hashlib.sha256(b"".join(parts) + "\0".join(more).encode()).hexdigest()
