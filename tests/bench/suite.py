"""Cost of a whole suite: `leo-single` with twenty schemes, six paths, five seeds, 300 s each."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import leosim

from tests.bench import yardstick
from tests.bench.row import Row
from tests.bench.traces import cpu_s

MUST_HOLD = 300.0
SCHEMES = 20


def rows() -> Iterator[Row]:
    """Yield CPU seconds of all cores including the report, relative to the yardstick; less is better."""
    schemes = [name for name in leosim.schemes() if name != "udp"][:SCHEMES]
    begin_s = cpu_s()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "leo-single"
        command = [sys.executable, "evaluate.py", "leo-single", "--schemes", ",".join(schemes), "--out", out]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    spent_s = cpu_s() - begin_s
    name, measure_s = f"suite.leo-single-{len(schemes)}-schemes", yardstick.cpu_s()
    yield Row(name, spent_s, "CPU s", measure_s, yardstick.AGAINST_S, MUST_HOLD, at_most=True)
