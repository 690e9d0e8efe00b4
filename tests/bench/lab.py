"""Cost of a virtual second in the lab, and of starting a guest.

The baseline is QEMU itself with a guest that only counts: one instruction per virtual nanosecond.
"""

import resource
import sys
from collections.abc import Iterator

from leogym.configs.scenario import parse
from leogym.kernel_bridge.lab import image, links, machine, virtual_run
from tests.bench.row import Row

MOST_COUNTING_S = 1.5
"""Three hops at 100 Mbit/s also use timers and devices, which cost more than counting."""
MOST_TO_BEGIN_S = 5.0

SHORT_S, LONG_S = 2, 8
FEW, MANY = 20_000, 220_000
COUNTING = "a virtual second of a guest that counts, here and now"


def rows() -> Iterator[Row]:
    """Yield the cost of 100 Mbit/s over three hops and of starting a run (less is better)."""
    if (lack := links.missing()) is not None:
        print(f"bench: lab: left out: {lack}", file=sys.stderr)
        return
    machine.ready(image.latest())
    # Both runs include start and end.
    counting = counting_core_s()
    cost = (core_s(LONG_S) - core_s(SHORT_S)) / (LONG_S - SHORT_S)
    yield Row("lab.virtual_second", cost, "core s", counting, COUNTING, MOST_COUNTING_S, True)
    begin = min(begin_core_s() for _ in range(3))
    yield Row("lab.begin", begin, "core s", counting, COUNTING, MOST_TO_BEGIN_S, True)


def counting_core_s() -> float:
    """Return the CPU time of a virtual second, a billion instructions, of a guest that counts."""
    (few_core_s, few_s), (many_core_s, many_s) = _count(FEW), _count(MANY)
    return (many_core_s - few_core_s) / (many_s - few_s)


def _count(to: int) -> tuple[float, float]:
    """Return the CPU time and the virtual time of a guest that counts and exits."""
    loop = f"i=0; while [ $i -lt {to} ]; do i=$((i+1)); done"
    job = machine.Job(["/bin/busybox", "sh", "-c", loop], {}, {}, [], 10.0)
    before = _children_s()
    outcome = machine.run(image.latest(), job, seed=1)
    return _children_s() - before, outcome.virtual_s


def core_s(duration_s: float) -> float:
    link = {"rate_mbps": 100, "delay_ms": 8}
    data = {
        "duration_s": duration_s,
        "links": {"a": link, "b": link, "c": link},
        "flows": [{"scheme": "cubic", "route": ["a", "b", "c"]}],
    }
    before = _children_s()
    virtual_run.execute(parse(data, "bench"), {})
    return _children_s() - before


def begin_core_s() -> float:
    before = _children_s()
    machine.run(image.latest(), machine.Job(["/bin/busybox", "true"], {}, {}, [], 1.0), seed=1)
    return _children_s() - before


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
