"""How long a whole suite takes: `leo-single` for twenty schemes, six paths, five seeds, 300 s each."""

from __future__ import annotations

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
    """Yield wall seconds on this machine's cores, report included; less is better."""
    schemes = [name for name in leosim.schemes() if name != "udp"][:SCHEMES]
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "leo-single"
        command = [sys.executable, "evaluate.py", "leo-single", "--schemes", ",".join(schemes), "--out", out]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - begin
    yield Row(f"suite.leo-single-{len(schemes)}-schemes", wall, "s", MUST_HOLD_S, "must hold, at most")
