"""How long a whole suite takes: `leo-single` for twenty schemes, six paths, five seeds, 300 s each."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import leosim

from tests.bench.row import Row

MUST_HOLD_S = 15 * 60.0
SCHEMES = 20


def rows() -> Iterator[Row]:
    """Yield wall seconds on this machine's cores, report included, and CPU seconds a core; less is better.

    Where others want the cores, too, the second says how long it takes without them.
    """
    schemes = [name for name in leosim.schemes() if name != "udp"][:SCHEMES]
    begin, cpu_s = time.perf_counter(), _cpu_s()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "leo-single"
        command = [sys.executable, "evaluate.py", "leo-single", "--schemes", ",".join(schemes), "--out", out]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - begin
    name = f"suite.leo-single-{len(schemes)}-schemes"
    yield Row(name, wall, "s", MUST_HOLD_S, "must hold, at most")
    a_core_s = (_cpu_s() - cpu_s) / (os.cpu_count() or 1)
    yield Row(f"{name}.cpu", a_core_s, "CPU s/core", MUST_HOLD_S, "must hold, at most")


def _cpu_s() -> float:
    """Return the CPU time in s of all processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
