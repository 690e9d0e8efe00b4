"""Cost of building all named path traces, for a whole revolution at 100 ms."""

import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path

from leogym.traces.path import batch, named_paths
from tests.bench import yardstick
from tests.bench.row import Row

MUST_HOLD = 12.0
JOBS = 2


def rows() -> Iterator[Row]:
    """Yield CPU seconds of both jobs relative to the yardstick; less is better."""
    specs = [named_paths.spec(name) for name in named_paths.names()]
    begin_s = cpu_s()
    with tempfile.TemporaryDirectory() as folder:
        for _ in batch.write_all(specs, Path(folder), JOBS):
            pass
    spent_s = cpu_s() - begin_s
    measure_s = yardstick.cpu_s()
    yield Row("traces.named-paths", spent_s, "CPU s", measure_s, yardstick.AGAINST_S, MUST_HOLD, at_most=True)


def cpu_s() -> float:
    """Return the CPU time in s of this process and its ended children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)
