"""Instructions per packet by part of the simulator, and what many flows and losses add, from callgrind."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.bench.row import Row

ROOT = Path(__file__).parents[2]
CELLS = {
    "cubic-1": ("1", "100"),
    "cubic-10": ("10", "100"),
    "fq-codel-1": ("1", "100", "fq_codel"),
    "bbr-1": ("1", "100", "droptail", "bbr"),
    "bbr3-1": ("1", "100", "droptail", "bbr3"),
    "leotcp-1": ("1", "100", "droptail", "leotcp"),
    "clone-1": ("1", "100", "droptail", str(ROOT / "agents" / "trained" / "clone" / "policy")),
}
BASELINES = {
    "cubic-1": 784.0,
    "cubic-10": 892.0,
    "fq-codel-1": 1186.0,
    "bbr-1": 1004.0,
    "bbr3-1": 1040.0,
    "leotcp-1": 2430.0,
    "clone-1": 1554.0,
}
"""Instructions per packet when last reduced (journal.md)."""
MUST_HOLD = 1.03
"""Maximum ratio to these: a change elsewhere moves them by a per cent or two."""
IN_PARTS = "cubic-1"
BEGIN_S, END_S = 2, 6
MANY = ("1000", "10000")
"""1,000 flows over 10 Gbit/s for a second."""
BASELINES_MANY = {"instructions": 1299.0, "misses": 6.74}
LOSS = "0.1137"
"""The share of its packets that the queue drops in the second of these cells."""
GROWTH = {
    "1-flow": (("1", "100"), 2, 4),
    "1000-flows": (("1000", "100"), 2, 4),
    "1-flow-with-loss": (("1", "10000", "droptail", "cubic", LOSS), 200, 900),
    "1000-flows-with-loss": (("1000", "10000", "droptail", "cubic", LOSS), 2, 3),
}
"""Cells over 100 Mbit/s, and cells over an empty link that loses packets at random; first and last second."""
CACHES = ("--cache-sim=yes", "--D1=49152,12,64", "--LL=1048576,16,64")
"""A core's private caches: 48 KiB and 1 MiB."""


def rows() -> Iterator[Row]:
    """Yield instructions per data packet for some cells, and each part's share for one."""
    if shutil.which("valgrind") is None:
        print("bench: instructions: skipped: valgrind is not installed", file=sys.stderr)
        return
    binary = _build()
    for name, cell in CELLS.items():
        early, late = (_profile(binary, cell, seconds) for seconds in (BEGIN_S, END_S))
        packets = late[0] - early[0]
        costs = {part: (late[1][part] - early[1][part]) / packets for part in late[1]}
        yield _row(name, sum(costs.values()), "instructions/packet", BASELINES[name])
        for part, cost in sorted(costs.items(), key=lambda item: -item[1]):
            if name == IN_PARTS and cost >= 1.0:
                yield Row(
                    f"instructions.{name}.{part}", cost, "instructions/packet", BASELINES[name], "the whole"
                )
    yield from _many(binary)
    yield from _growth(binary)


def _growth(binary: Path) -> Iterator[Row]:
    """Yield the cost of a sent packet by number of flows, without and with losses, against one flow."""
    values = {}
    for name, (cell, *span) in GROWTH.items():
        early, late = (_profile(binary, cell, seconds, CACHES) for seconds in span)
        sent = late[3] - early[3]
        values[name] = (late[1].total() - early[1].total()) / sent
        misses = max(late[2] - early[2], 0) / sent
        against = f"one flow without losses; {misses:.1f} misses of 1 MiB/packet"
        yield Row(
            f"instructions.growth.{name}", values[name], "instructions/packet sent", values["1-flow"], against
        )


def _many(binary: Path) -> Iterator[Row]:
    packets, costs, misses, _ = _profile(binary, MANY, 1, CACHES)
    name = f"cubic-{MANY[0]}"
    instructions = costs.total() / packets
    yield _row(name, instructions, "instructions/packet", BASELINES_MANY["instructions"])
    yield _row(f"{name}.misses", misses / packets, "misses of 1 MiB/packet", BASELINES_MANY["misses"])


def _row(name: str, value: float, unit: str, baseline: float) -> Row:
    return Row(f"instructions.{name}", value, unit, baseline, "when last reduced", MUST_HOLD, at_most=True)


def _build() -> Path:
    environment = {**os.environ, "CARGO_PROFILE_RELEASE_DEBUG": "line-tables-only"}
    target = Path(environment.setdefault("CARGO_TARGET_DIR", str(ROOT / "target" / "instructions")))
    command = ["cargo", "build", "--quiet", "--release", "--locked", "-p", "leo-sim", "--example", "cell"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return target / "release" / "examples" / "cell"


def _profile(
    binary: Path, cell: tuple[str, ...], seconds: int, more: tuple[str, ...] = ()
) -> tuple[int, Counter[str], int, int]:
    """Return a run's packets, instructions by part, on request last-level cache misses, and sent packets."""
    flows, rate, *queue = cell
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        command = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}", *more]
        command += ["--compress-strings=no", "--compress-pos=no", binary, flows, rate, str(seconds), *queue]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        profile = out.read_text()
        delivered, sent = map(int, done.stdout.split())
        return delivered, _by_part(profile), _misses(profile), sent


def _misses(profile: str) -> int:
    columns = {
        key: line.split()[1:]
        for line in profile.splitlines()
        if (key := line.split(":")[0]) in ("events", "totals")
    }
    counts = dict(zip(columns["events"], columns["totals"], strict=False))
    return int(counts.get("DLmr", 0)) + int(counts.get("DLmw", 0))


def _by_part(profile: str) -> Counter[str]:
    """Sum callgrind's self costs by source file; inlined code counts where it was written."""
    costs: Counter[str] = Counter()
    part, inherited = "", False
    for line in profile.splitlines():
        if line.startswith(("fl=", "fi=", "fe=")):
            part = _part(line[3:])
        elif line.startswith("calls="):
            inherited = True
        elif re.match(r"(0x[0-9a-f]+|\d+|[+*-]\d*) ", line):
            # The line after a call has the callee's cost, which counts there.
            if not inherited:
                costs[part] += int(line.split()[1])
            inherited = False
    return costs


def _part(path: str) -> str:
    match = re.search(r"core/(\w+)/src/([\w/]+)\.rs$", path)
    if match is None:
        return "library"
    crate, file = match.groups()
    return f"{crate}.{file.split('/')[0]}"
