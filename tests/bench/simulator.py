"""How fast the simulator is on one core: packets and simulated seconds a second."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import leosim

from configs.queue import Queue
from configs.scenario import Flow, Link, Scenario
from tests.bench.row import Row

SECONDS = 60.0
REPEATS = 5
REPEATS_OF_MANY = 15
"""Thousands of windows lie in the cache that other machines share, too: more turns to find a quiet one."""

# Measured on a machine of the same kind, same cell: 100 Mbit/s, 50 ms, 417 packets, 60 s, one core.
NS3_PACKETS, HTSIM_PACKETS = 47_000.0, 8_000_000.0
NS3_SECONDS, HTSIM_SECONDS = 5.6, 1_087.0
MUST_HOLD_PACKETS = {1: 2_000_000.0, 10: 1_200_000.0}
MUST_HOLD_FQ_CODEL = 1_000_000.0
MUST_HOLD_GROWTH = 1.5
MANY = 1_000
KEPT_KIB = 30.3
"""Memory a flow when it was first measured, so that a regression shows as a ratio above 1."""
_PEAK = """
import re, sys, leosim
leosim.run([sys.stdin.read()], {}, series_ms=0.0, threads=1)
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""


def cell(flows: int, rate_mbps: float = 100.0, seconds: float = SECONDS, queue: str = "droptail") -> Scenario:
    """Cubic flows on a static link of 50 ms and 1 BDP."""
    link = Link(rate_mbps=rate_mbps, delay_ms=25.0, queue=Queue(kind=queue, bdp=1.0))  # type: ignore[arg-type]
    cubic = Flow(scheme="cubic", route=["bottleneck"], count=flows)
    return Scenario(name=f"cubic-{flows}", duration_s=seconds, links={"bottleneck": link}, flows=[cubic])


def fastest(*scenarios: Scenario, repeats: int = REPEATS) -> list[tuple[float, int]]:
    """Return each scenario's least CPU time of some runs in s and the packets that the bottleneck carried.

    CPU time, for one thread does it all and others may want the core; in turns, so that they disturb all.
    """
    texts, best = [scenario.to_json() for scenario in scenarios], [(float("inf"), 0)] * len(scenarios)
    for _ in range(repeats):
        for index, text in enumerate(texts):
            begin = time.process_time()
            (log,) = leosim.run([text], {}, series_ms=0.0, threads=1)
            spent = time.process_time() - begin
            best[index] = min(best[index], (spent, log.links[0]["delivered_packets"]))
    return best


def peak_kib(scenario: Scenario) -> int:
    """Return the most memory that a process which runs the scenario ever has, in KiB."""
    command = [sys.executable, "-c", _PEAK]
    return int(
        subprocess.run(command, input=scenario.to_json(), check=True, capture_output=True, text=True).stdout
    )


def rows() -> Iterator[Row]:
    """Yield packets/s and simulated s/s for one flow and for ten, behind FQ-CoDel, and the cost with many."""
    for flows in (1, 10):
        ((spent, packets),) = fastest(cell(flows))
        name = f"simulator.cubic-{flows}"
        yield Row(name, packets / spent, "packets/s", MUST_HOLD_PACKETS[flows], "must hold")
        yield Row(name, packets / spent, "packets/s", HTSIM_PACKETS, "htsim, NewReno without SACK")
        yield Row(name, packets / spent, "packets/s", NS3_PACKETS, "ns-3-dev, one Cubic flow")
        yield Row(name, SECONDS / spent, "simulated s/s", NS3_SECONDS, "ns-3-dev, one Cubic flow")
        yield Row(name, SECONDS / spent, "simulated s/s", HTSIM_SECONDS, "htsim, NewReno without SACK")
    for flows in (1, 10):
        ((spent, packets),) = fastest(cell(flows, queue="fq_codel"))
        yield Row(
            f"simulator.fq-codel-{flows}", packets / spent, "packets/s", MUST_HOLD_FQ_CODEL, "must hold"
        )
    # 100 Mbit/s alone, 10 Mbit/s each together: windows large enough that losses do not decide the cost.
    (alone_s, alone), (many_s, many) = fastest(cell(1), cell(MANY, 10.0 * MANY, 3.0), repeats=REPEATS_OF_MANY)
    growth = (many_s / many) / (alone_s / alone)
    yield Row(f"simulator.cost-1-to-{MANY}-flows", growth, "ratio", MUST_HOLD_GROWTH, "must hold, at most")
    # At 10 Mbit/s each: window, RTT histogram and the packets under way, 83 a flow.
    (few, many) = (peak_kib(cell(flows, 10.0 * flows, 3.0)) for flows in (10, MANY))
    yield Row("simulator.memory-per-flow", (many - few) / (MANY - 10), "KiB/flow", KEPT_KIB, "first version")
