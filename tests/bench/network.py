"""Cost of a packet on each link of a network and of finding routes, and what a second thread saves."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import leosim

from leogym.configs import network as schema
from leogym.configs.queue import Queue
from leogym.configs.scenario import Flow, Link, Reverse, Scenario
from leogym.traces.network import description
from leogym.traces.network.description import Description
from tests.bench.row import Row

SECONDS = 3.0
REPEATS = 3
HOP_BAR = 1.5
"""At most this many times the cost of a packet on a static link."""
ROUTE_SHARE = 0.5
"""At most this much of the time for packets goes into routes."""
THREADED = ("starlink-1000", 2.0)
"""The network of the comparison of two threads with one, and its duration in s."""
THREAD_GAIN = 1.7
"""Two threads are at least this much faster."""


@dataclass(frozen=True)
class Timed:
    """A run on one or two threads."""

    traffic: dict[str, int]
    wall_s: float
    busier_s: float
    """CPU time of the busier thread, which the other waits for."""


def rows() -> Iterator[Row]:
    """Yield the costs, measured in turns."""
    described = description.describe(schema.load("starlink-100").model_copy(update={"duration_s": SECONDS}))
    flows = len(described.flows)
    hop_ns, routes_s, packets_s, link_ns = zip(
        *((*_network(described), _link(flows)) for _ in range(REPEATS)), strict=True
    )
    against = f"{flows} flows over one static link of as much capacity, taking turns"
    yield Row(
        "network.hop", min(hop_ns), "CPU ns/packet and link", min(link_ns), against, HOP_BAR, at_most=True
    )
    against = "the packets of the same run"
    yield Row("network.routes", min(routes_s), "CPU s", min(packets_s), against, ROUTE_SHARE, at_most=True)
    yield from _thread_rows()


def _thread_rows() -> Iterator[Row]:
    """Yield the speed with two threads, by wall time and by the CPU time of the busier thread."""
    name, duration_s = THREADED
    described = description.describe(schema.load(name).model_copy(update={"duration_s": duration_s}))
    runs = [(_threaded(described, 1), _threaded(described, 2)) for _ in range(2)]
    if any(alone.traffic != both.traffic for alone, both in runs):
        raise RuntimeError(f"{name}: two threads give other results than one")
    hops = runs[0][0].traffic["hops"]
    wall = [hops / min(run.wall_s for run in side) for side in zip(*runs, strict=True)]
    busier = [hops / min(run.busier_s for run in side) for side in zip(*runs, strict=True)]
    unit, against = "packets and links", "one thread, taking turns"
    yield Row("network.threads.wall", wall[1], f"{unit}/wall s", wall[0], against, THREAD_GAIN)
    unit += "/CPU s of the busier thread"
    yield Row("network.threads.cpu", busier[1], unit, busier[0], against, THREAD_GAIN)


def _threaded(described: Description, threads: int) -> Timed:
    """Run a network on one or two threads; the busier one is found anew at each update of routes."""
    simulation = leosim.Constellation(described.core(), series_ms=0, threads=threads)
    wall_s = busier_s = 0.0
    for start_s, end_s in described.steps():
        moment = described.topology.moment(start_s)
        begin, begin_own, begin_all = time.monotonic(), time.thread_time(), time.process_time()
        simulation.follow(moment.laser_km, moment.station, moment.satellite, moment.km)
        simulation.advance(end_s)
        own_s = time.thread_time() - begin_own
        busier_s += max(own_s, time.process_time() - begin_all - own_s)
        wall_s += time.monotonic() - begin
    return Timed(simulation.traffic(), wall_s, busier_s)


def _network(described: Description) -> tuple[float, float, float]:
    """Return the CPU time in ns of a packet and link, and the CPU time in s of routes and of packets."""
    simulation = leosim.Constellation(described.core(), series_ms=0)
    routes_s = packets_s = 0.0
    for start_s, end_s in described.steps():
        begin = time.process_time()
        described.follow(simulation, start_s)
        routed = time.process_time()
        simulation.advance(end_s)
        routes_s, packets_s = routes_s + routed - begin, packets_s + time.process_time() - routed
    return 1e9 * packets_s / simulation.traffic()["hops"], routes_s, packets_s


def _link(flows: int) -> float:
    """Return the CPU time in ns of a packet and link, where data and ACKs cross a link each."""
    rate_mbps, queue = 20.0 * flows, Queue(packets=100 * flows)
    reverse = Reverse(rate_mbps=rate_mbps, queue=queue)
    link = Link(rate_mbps=rate_mbps, delay_ms=40.0, queue=queue, reverse=reverse)
    schemes = ("cubic", "bbr3")
    each = [Flow(scheme=scheme, route=["link"], count=flows // 2) for scheme in schemes]
    text = Scenario(duration_s=SECONDS, handshake=True, links={"link": link}, flows=each).to_json()
    begin = time.process_time()
    [log] = leosim.run([text], {}, series_ms=0.0, threads=1)
    spent_s = time.process_time() - begin
    return 1e9 * spent_s / sum(link["delivered_packets"] for link in log.links)
