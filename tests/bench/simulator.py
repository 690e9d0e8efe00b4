"""How fast the simulator is on one core: packets and simulated seconds a second."""

from __future__ import annotations

import time
from collections.abc import Iterator

import leosim

from configs.queue import Queue
from configs.scenario import Flow, Link, Scenario
from tests.bench.row import Row

SECONDS = 60.0
REPEATS = 5

# Measured on a machine of the same kind, same cell: 100 Mbit/s, 50 ms, 417 packets, 60 s, one core.
NS3_PACKETS, HTSIM_PACKETS = 47_000.0, 8_000_000.0
NS3_SECONDS, HTSIM_SECONDS = 5.6, 1_087.0
MUST_HOLD_PACKETS = 1_000_000.0


def cell(flows: int) -> Scenario:
    """Cubic flows on a static link of 100 Mbit/s, 50 ms, 1 BDP."""
    link = Link(rate_mbps=100.0, delay_ms=25.0, queue=Queue(bdp=1.0))
    cubic = Flow(scheme="cubic", route=["bottleneck"], count=flows)
    return Scenario(name=f"cubic-{flows}", duration_s=SECONDS, links={"bottleneck": link}, flows=[cubic])


def fastest(scenario: Scenario) -> tuple[float, int]:
    """Return the shortest wall time of several runs in s, and the packets that the bottleneck carried."""
    text, best, packets = scenario.to_json(), float("inf"), 0
    for _ in range(REPEATS):
        begin = time.perf_counter()
        (log,) = leosim.run([text], {}, series_ms=0.0, threads=1)
        best = min(best, time.perf_counter() - begin)
        packets = log.links[0]["delivered_packets"]
    return best, packets


def rows() -> Iterator[Row]:
    """Yield packets/s and simulated s/s, for one flow and for ten."""
    for flows in (1, 10):
        wall, packets = fastest(cell(flows))
        name = f"simulator.cubic-{flows}"
        if flows == 1:
            yield Row(name, packets / wall, "packets/s", MUST_HOLD_PACKETS, "must hold")
        yield Row(name, packets / wall, "packets/s", HTSIM_PACKETS, "htsim, NewReno without SACK")
        yield Row(name, packets / wall, "packets/s", NS3_PACKETS, "ns-3-dev, one Cubic flow")
        yield Row(name, SECONDS / wall, "simulated s/s", NS3_SECONDS, "ns-3-dev, one Cubic flow")
        yield Row(name, SECONDS / wall, "simulated s/s", HTSIM_SECONDS, "htsim, NewReno without SACK")
