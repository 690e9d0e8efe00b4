"""How long all named path traces take to build, for a whole revolution at 100 ms."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.row import Row
from traces import batch, named_paths

MUST_HOLD_S = 60.0
JOBS = 2


def rows() -> Iterator[Row]:
    """Yield wall seconds on two cores; less is better."""
    specs = [named_paths.spec(name) for name in named_paths.names()]
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for _ in batch.write_all(specs, Path(folder), JOBS):
            pass
    yield Row("traces.named-paths", time.perf_counter() - begin, "s", MUST_HOLD_S, "must hold, at most")
