"""From a scenario to what real shells can express: a chain of links, and where on it each flow's ends are.

Shells nest. A process inside n of them reaches one inside k < n through the n - k shells between them. So all
flows' links must form one chain, of which each flow crosses a stretch: the links nearest to the senders are
the innermost shells.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import leosim
import numpy as np

from configs.errors import InputError
from configs.queue import Queue
from configs.scenario import Flow, Link, Scenario
from configs.units import NS_PER_MS, NS_PER_S
from kernel_bridge.host.schemes import DATAGRAMS

MAX_FLOWS = 256
"""Each has two processes of its own."""
PACKET_BYTES = 1500
HOST_JITTER_US = 1_000.0
"""More than this is no host's, but a path's."""


@dataclass(frozen=True)
class Limit:
    """A queue's size."""

    unit: Literal["packets", "bytes"]
    size: int


@dataclass(frozen=True)
class PlannedLink:
    """A link of the chain."""

    name: str
    file_stem: str
    """What its files' names begin with."""
    spec: Link
    """As the scenario has it."""
    csv: bytes | None
    """Its path trace."""
    period_ns: int
    """The path trace's, or 0."""
    schedule: leosim.LinkPlan
    """Delay, capacity, loss and outages over the run."""
    limit: Limit | None
    """The queue's size; None leaves it to the discipline."""

    @property
    def seed(self) -> int:
        """The seed of its random losses, which are the simulator's, and of what its queue draws."""
        return self.schedule.loss_seed


@dataclass(frozen=True)
class PlannedFlow:
    """One flow; equal flows (``count``) are several."""

    scheme: str
    start_ns: int
    stop_ns: int
    sender_level: int
    """How many links of the chain, counted from the receivers' end, the sender is behind."""
    receiver_level: int
    extra_delay_ns: int
    """One way, each way."""
    rate_bps: int = 0
    """Of a udp flow, or of what a TCP flow's application writes, counting whole IP packets; 0: no limit."""
    transfer_bytes: int = 0
    """After which a TCP flow stops; 0: at its time only."""
    completed: bool = False
    """Of a flow that has run: whether all that it was to transfer was acknowledged, at ``stop_ns``."""
    periods_ns: tuple[tuple[int, int], ...] = ()
    """When a udp flow sends."""


@dataclass(frozen=True)
class Plan:
    """A scenario as shells and processes."""

    name: str
    seed: int
    duration_ns: int
    chain: tuple[PlannedLink, ...]
    """From the outermost shell, the receivers' side, to the innermost."""
    flows: tuple[PlannedFlow, ...]
    ack_jitter_ns: int = 0
    """Acknowledgements take up to this much longer, as the scenario asks; 0: as hosts have it."""
    buffers: Mapping[str, str] = field(default_factory=dict)
    """``tcp_rmem`` and ``tcp_wmem`` of all flows, as Linux writes them, where the scenario gives them."""

    def links_of(self, flow: PlannedFlow) -> tuple[PlannedLink, ...]:
        """Return the links that a flow crosses."""
        return self.chain[flow.receiver_level : flow.sender_level]


def plan(scenario: Scenario, traces: Mapping[str, bytes], schemes: Collection[str], backend: str) -> Plan:
    """Return a scenario's plan.

    Args:
        scenario: resolved.
        traces: the CSV of every path trace that it names.
        schemes: what the machine's kernel runs.
        backend: its name, for messages.

    Raises:
        InputError: the scenario has what nested shells cannot express, or a scheme that is not there.
    """
    where = f"{scenario.name}: --backend {backend}"
    if scenario.events:
        raise InputError(f"{where}: events: flows cannot change their route here")
    for name in {name for flow in scenario.flows for name in flow.route}:
        if scenario.links[name].reverse is not None:
            raise InputError(f"{where}: links.{name}.reverse: the way back has no queue of its own here")
    for index, flow in enumerate(scenario.flows):
        if flow.arrivals is not None:
            raise InputError(f"{where}: flows.{index}.arrivals: each flow begins at a time of its own here")
        if flow.on_off is not None and flow.scheme != DATAGRAMS:
            raise InputError(f"{where}: flows.{index}.on_off: a TCP flow's application does not pause here")
        if flow.ecn:
            raise InputError(f"{where}: flows.{index}.ecn: the host's own setting holds here")
        if flow.scheme not in schemes:
            raise InputError(
                f"{where}: flows.{index}.scheme: {flow.scheme}: not a scheme that this kernel runs "
                f"({', '.join(schemes)})"
            )
    total = sum(flow.count for flow in scenario.flows)
    if total > MAX_FLOWS:
        raise InputError(f"{where}: flows: {total} are more than the {MAX_FLOWS} that it runs")
    names = chain([flow.route for flow in scenario.flows], where)
    parsed = {name: leosim.PathTrace.parse(csv.decode(), name) for name, csv in traces.items()}
    schedules = {found.name: found for found in leosim.plan_links(scenario.model_dump_json(), parsed)}
    duration_ns = round(scenario.duration_s * NS_PER_S)
    links = []
    for name in reversed(names):
        spec, schedule = scenario.links[name], schedules[name]
        if not schedule.capacity_bits(np.array([0]), np.array([duration_ns]))[0]:
            raise InputError(f"{where}: links.{name}: never has capacity while the scenario lasts")
        links.append(
            PlannedLink(
                name=name,
                file_stem=f"link-{len(links)}",
                spec=spec,
                csv=traces[spec.trace] if spec.trace is not None else None,
                period_ns=parsed[spec.trace].period_ns if spec.trace is not None else 0,
                schedule=schedule,
                limit=_limit(spec.queue, schedule),
            )
        )
    return Plan(
        scenario.name,
        scenario.seed,
        duration_ns,
        tuple(links),
        tuple(_flows(scenario, names)),
        ack_jitter_ns(scenario),
        _buffers(scenario, where),
    )


def ack_jitter_ns(scenario: Scenario) -> int:
    """Return the jitter that links have to add: up to `HOST_JITTER_US` real hosts have it themselves."""
    return round(scenario.host_jitter_us * 1e3) if scenario.host_jitter_us > HOST_JITTER_US else 0


def _buffers(scenario: Scenario, where: str) -> dict[str, str]:
    """Return the buffers that TCP flows' ends are given: Linux has one setting for a host's flows.

    Raises:
        InputError: the flows' differ.
    """
    streams = [flow for flow in scenario.flows if flow.scheme != DATAGRAMS]
    found = {}
    for name in ("tcp_rmem", "tcp_wmem"):
        given = {getattr(flow, name) and tuple(getattr(flow, name)) for flow in streams}
        if len(given) > 1:
            raise InputError(f"{where}: flows: {name}: must be the same for all flows, as on one host")
        if (sizes := next(iter(given), None)) is not None:
            found[name] = " ".join(map(str, sizes))
    return found


def chain(routes: Sequence[Sequence[str]], where: str) -> list[str]:
    """Return one order of links in which every route is an uninterrupted stretch.

    Raises:
        InputError: there is none.
    """
    after: dict[str, str] = {}
    before: dict[str, str] = {}
    for index, route in enumerate(routes):
        for here, there in itertools.pairwise(route):
            if after.setdefault(here, there) != there or before.setdefault(there, here) != here:
                raise InputError(
                    f"{where}: flows.{index}.route: nested shells are one chain of links, and this route "
                    "leaves or joins that of another flow in its middle"
                )
    links = list(dict.fromkeys(link for route in routes for link in route))
    found: list[str] = []
    for first in links:
        link = first if first not in before else None
        while link is not None:
            found.append(link)
            link = after.get(link)
    if len(found) < len(links):
        raise InputError(f"{where}: flows: their routes form a circle, which nested shells cannot")
    return found


def _limit(queue: Queue, schedule: leosim.LinkPlan) -> Limit | None:
    if queue.bytes is not None:
        return Limit("bytes", queue.bytes)
    if queue.packets is None and queue.bdp is None:
        return None
    assert schedule.limit_packets is not None
    return Limit("packets", schedule.limit_packets)


def _flows(scenario: Scenario, names: list[str]) -> Iterator[PlannedFlow]:
    end_ns = round(scenario.duration_s * NS_PER_S)
    for index, flow in enumerate(scenario.flows):
        start_ns = round(flow.start_s * NS_PER_S)
        stop_ns = end_ns if flow.stop_s is None else min(end_ns, round(flow.stop_s * NS_PER_S))
        for copy in range(flow.count):
            random_ = random.Random(f"{scenario.seed}/{index}/{copy}")
            yield PlannedFlow(
                scheme=flow.scheme,
                start_ns=start_ns,
                stop_ns=stop_ns,
                sender_level=len(names) - names.index(flow.route[0]),
                receiver_level=len(names) - 1 - names.index(flow.route[-1]),
                extra_delay_ns=round(flow.extra_delay_ms * NS_PER_MS),
                rate_bps=round(flow.rate_mbps * 1e6) if flow.rate_mbps is not None else 0,
                transfer_bytes=flow.transfer_bytes or 0,
                periods_ns=tuple(_periods(flow, start_ns, stop_ns, random_))
                if flow.scheme == DATAGRAMS
                else (),
            )


def _periods(flow: Flow, start_ns: int, stop_ns: int, random_: random.Random) -> Iterator[tuple[int, int]]:
    """Yield from when to when a udp flow sends, beginning with a burst."""
    if flow.on_off is None:
        yield start_ns, stop_ns
        return

    def drawn_ns(mean_s: float) -> int:
        exponential = flow.on_off is not None and flow.on_off.distribution == "exponential"
        return max(1, round((random_.expovariate(1 / mean_s) if exponential else mean_s) * NS_PER_S))

    now = start_ns
    while now < stop_ns:
        end = now + drawn_ns(flow.on_off.on_s)
        yield now, min(end, stop_ns)
        now = end + drawn_ns(flow.on_off.off_s)
