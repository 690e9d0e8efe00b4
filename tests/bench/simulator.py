"""Speed of the simulator on one core, cost of a packet with many flows, and memory per flow.

Compared with the yardstick, to cancel the machine's speed, and with htsim and ns-3 if their programs are
given. Measured in turns, so other work affects all alike.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import leosim

from leogym.configs.queue import Queue
from leogym.configs.scenario import Flow, Link, Scenario
from tests.bench import yardstick
from tests.bench.peer import Peer
from tests.bench.row import Row

SECONDS = 60.0
REPEATS = 5
MUST_HOLD = {"droptail": 0.15, "fq_codel": 0.08}
"""Minimum ratio to the yardstick's packets per second. Low, as shared caches slow the simulator more: a busy
machine gave .18 to .31 and .10 to .15. `instructions` counts the simulator's own cost exactly."""
MUST_HOLD_PEER = 0.9

FLOWS = (1, 10, 100, 1_000)
RATES = {100.0: 20.0, 1_000.0: 3.0, 10_000.0: 1.0}
"""Duration in s by the cell's Mbit/s: 160,000 packets or more."""
GROWTH_S = 20.0
MUST_HOLD_GROWTH = 1.5

KEPT_KIB = 30.3
"""Memory per flow when first measured; independent of the machine."""
_PEAK = """
import re, sys, leosim
leosim.run([sys.stdin.read()], {}, series_ms=0.0, threads=1)
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""


def cell(flows: int, rate_mbps: float = 100.0, seconds: float = SECONDS, queue: str = "droptail") -> Scenario:
    """Return Cubic flows on a static link of 50 ms and 1 BDP."""
    link = Link(rate_mbps=rate_mbps, delay_ms=25.0, queue=Queue(kind=queue, bdp=1.0))  # type: ignore[arg-type]
    cubic = Flow(scheme="cubic", route=["bottleneck"], count=flows)
    return Scenario(name=f"cubic-{flows}", duration_s=seconds, links={"bottleneck": link}, flows=[cubic])


Speed = Callable[[], float]
"""Runs once and returns packets per second of CPU time."""


def ours(scenario: Scenario, *, sent: bool = False) -> Speed:
    """Return a run of the scenario; ``sent`` counts sent packets, not those that the bottleneck delivers.

    Measures CPU time: one thread does all work, and others may share the core.
    """
    text = scenario.to_json()

    def speed() -> float:
        begin = time.process_time()
        (log,) = leosim.run([text], {}, series_ms=0.0, threads=1)
        spent_s = time.process_time() - begin
        packets = (
            sum(flow["sent_packets"] for flow in log.flows) if sent else log.links[0]["delivered_packets"]
        )
        return packets / spent_s

    return speed


def theirs(peer: Peer, flows: int) -> Speed:

    def speed() -> float:
        spent_s, packets = peer.run(flows, 100.0, SECONDS)
        return packets / spent_s

    return speed


def fastest(*runs: Speed, repeats: int = REPEATS) -> list[float]:
    return [max(column) for column in zip(*([run() for run in runs] for _ in range(repeats)), strict=True)]


def peak_kib(scenario: Scenario) -> int:
    """Return the peak memory in KiB of a process that runs the scenario."""
    command = [sys.executable, "-c", _PEAK]
    return int(
        subprocess.run(command, input=scenario.to_json(), check=True, capture_output=True, text=True).stdout
    )


def rows(peers: Sequence[Peer] = ()) -> Iterator[Row]:
    """Yield packets per second against the yardstick and peers, growth with flows, and memory per flow."""
    yield from _speeds(peers)
    yield from growth()
    # At 10 Mbit/s each: window, RTT histogram and 83 packets in flight per flow.
    few, many = (peak_kib(cell(flows, 10.0 * flows, 3.0)) for flows in (10, FLOWS[-1]))
    kib = (many - few) / (FLOWS[-1] - 10)
    yield Row("simulator.memory-per-flow", kib, "KiB/flow", KEPT_KIB, "first version", 1.0, at_most=True)


def _speeds(peers: Sequence[Peer]) -> Iterator[Row]:
    for queue, bar in MUST_HOLD.items():
        for flows in (1, 10):
            name = f"simulator.{queue.replace('_', '-')}-{flows}"
            speed, measure = fastest(ours(cell(flows, queue=queue)), yardstick.packets_per_s)
            yield Row(name, speed, "packets/CPU s", measure, yardstick.AGAINST, bar)
    for peer in peers:
        for flows in (1, 10):
            # A run of ns-3 takes half a minute. It is a hundred times slower: a few per cent do not matter.
            speed, other = fastest(ours(cell(flows)), theirs(peer, flows), repeats=2)
            against = f"{peer.name}, the same cell here and now"
            yield Row(f"simulator.droptail-{flows}", speed, "packets/CPU s", other, against, MUST_HOLD_PEER)


def growth() -> Iterator[Row]:
    """Yield the cost of a packet with many flows relative to one flow, for each cell.

    Counts sent packets: lost ones are simulated too, an eighth with windows of a packet or two.
    """
    alone = ours(cell(1, seconds=GROWTH_S), sent=True)
    for rate_mbps, seconds in RATES.items():
        for flows in FLOWS:
            many, single = fastest(ours(cell(flows, rate_mbps, seconds), sent=True), alone)
            name = f"simulator.cost-{flows}-flows-{rate_mbps:g}-mbps"
            against = "one flow over 100 Mbit/s, taking turns"
            yield Row(
                name, 1e9 / many, "CPU ns/packet sent", 1e9 / single, against, MUST_HOLD_GROWTH, at_most=True
            )
