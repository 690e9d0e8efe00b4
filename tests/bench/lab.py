"""The lab: what a virtual second costs, and how long a guest takes until it runs."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator

from configs.scenario import parse
from kernel_bridge.lab import execute, image, links, machine
from tests.bench.row import Row

CORE_S_PER_VIRTUAL_S = 1.6
BEGIN_S = 5.0
"""What must hold (issue 6)."""

SHORT_S, LONG_S = 2, 8


def rows() -> Iterator[Row]:
    """Yield what 100 Mbit/s over three hops costs, and the beginning of a run (less is better)."""
    if (lack := links.missing()) is not None:
        print(f"bench: lab: left out: {lack}", file=sys.stderr)
        return
    machine.ready(image.latest())
    # Starting and ending is in both runs.
    cost = (core_s(LONG_S) - core_s(SHORT_S)) / (LONG_S - SHORT_S)
    yield Row("lab.virtual_second", cost, "core s", CORE_S_PER_VIRTUAL_S, "must hold")
    yield Row("lab.begin", min(begin_s() for _ in range(3)), "s", BEGIN_S, "must hold")


def core_s(duration_s: float) -> float:
    """Return the CPU time of a run of one flow over three hops."""
    link = {"rate_mbps": 100, "delay_ms": 8}
    data = {
        "duration_s": duration_s,
        "links": {"a": link, "b": link, "c": link},
        "flows": [{"scheme": "cubic", "route": ["a", "b", "c"]}],
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    execute.execute(parse(data, "bench"), {})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def begin_s() -> float:
    """Return the wall time until a job begins."""
    started = time.perf_counter()
    begun: list[float] = []
    job = machine.Job(["/bin/busybox", "true"], {}, {}, [], 1.0)
    machine.run(image.latest(), job, seed=1, progress=lambda _: begun.append(time.perf_counter()))
    return begun[0] - started
