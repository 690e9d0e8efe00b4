"""Translates a scenario to nested shells: a chain of links, and the positions of each flow's ends on it.

A process inside n nested shells reaches one inside k < n through the n - k shells between them. So all links
must form one chain, and each flow crosses a contiguous part of it. The links next to the senders are the
innermost shells.
"""

import itertools
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import leosim
import numpy as np

from leogym.common.errors import InputError
from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.configs.queue import Queue
from leogym.configs.scenario import Flow, Link, Scenario
from leogym.kernel_bridge.host.schemes import DATAGRAMS, OVER_UDP
from leogym.kernel_bridge.workloads import app
from leogym.traces.path import cache

LEAD_NS = 2 * NS_PER_S
"""Default of `Plan.lead_ns`."""
MAX_FLOWS = 256
PACKET_BYTES = 1500
HOST_JITTER_US = 1_000.0
"""Jitter above this is a property of the path, not of a host."""

ECN_BACKEND = "lab"
"""The backend whose hosts' ECN a scenario sets; others keep the host's setting."""
_TCP_ECN = {"True": "1", "classic": "1", "accurate": "3"}
"""Linux's ``tcp_ecn``: ECN in both directions as in RFC 3168, or as in RFC 9768 (from Linux 7.0 on)."""


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
    """Prefix of its file names."""
    spec: Link
    """The scenario's entry."""
    csv: bytes | None
    """The path trace's CSV."""
    period_ns: int
    """Period of the path trace, or 0."""
    schedule: leosim.LinkPlan
    limit: Limit | None
    """Queue size; None uses the discipline's default."""
    outside: int
    """The level at its receiving end; level ``n + 1`` is behind the link ``n``. In a chain, ``n``."""

    @property
    def seed(self) -> int:
        """The seed of its random losses (as in the simulator) and of its queue."""
        return self.schedule.loss_seed


@dataclass(frozen=True)
class PlannedWorkload:
    """The workload of a flow, which is one of its connections."""

    spec: str
    """As JSON, for `kernel_bridge/workloads`."""
    connections: int
    """Number of its flows, which follow each other."""
    place: int
    """The flow's place among them; the first one's row in the run log has what users feel."""


@dataclass(frozen=True)
class PlannedFlow:
    """One flow; a scenario's flow with ``count``, or a page over several connections, becomes several."""

    scheme: str
    start_ns: int
    stop_ns: int
    sender_level: int
    """Number of chain links, from the receivers' end, that the sender is behind."""
    receiver_level: int
    extra_delay_ns: int
    """Delay in each direction."""
    rate_bps: int = 0
    """Rate of a udp flow or a TCP flow's application, in whole IP packets; 0 means unlimited."""
    transfer_bytes: int = 0
    """Size after which a TCP flow stops; 0 means that it stops only at ``stop_ns``."""
    completed: bool = False
    """After the run: whether the transfer was fully acknowledged, at ``stop_ns``."""
    periods_ns: tuple[tuple[int, int], ...] = ()
    """Times when a udp flow sends."""
    workload: PlannedWorkload | None = None


@dataclass(frozen=True)
class Plan:
    """A scenario as shells and processes."""

    name: str
    seed: int
    duration_ns: int
    chain: tuple[PlannedLink, ...]
    """From the outermost shell (the receivers' side) to the innermost; with programs, any tree of links."""
    flows: tuple[PlannedFlow, ...]
    ack_jitter_ns: int = 0
    """Maximum extra delay of ACKs; 0 leaves it to the hosts."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The scenario's ``tcp_rmem``, ``tcp_wmem`` and ``tcp_ecn`` for all flows, as Linux writes them."""
    lead_ns: int = LEAD_NS
    """Lead time of shells with varying links before the run, which covers the preparation of its ends."""

    def links_of(self, flow: PlannedFlow) -> tuple[PlannedLink, ...]:
        """Return the links that a flow crosses, outermost first."""
        links: list[PlannedLink] = []
        level = flow.sender_level
        while level != flow.receiver_level:
            links.append(self.chain[level - 1])
            level = links[-1].outside
        return tuple(reversed(links))


def plan(scenario: Scenario, traces: Mapping[str, bytes], schemes: Collection[str], backend: str) -> Plan:
    """Return a scenario's plan.

    Args:
        scenario: resolved.
        traces: the CSV of every path trace that it names.
        schemes: schemes of the machine's kernel.
        backend: its name, for messages.

    Raises:
        InputError: nested shells cannot express the scenario, or a scheme is unknown.
    """
    where = f"{scenario.name}: --backend {backend}"
    if scenario.events:
        raise InputError(f"{where}: events: this backend supports no reroutes")
    for name in {name for flow in scenario.flows for name in flow.route}:
        if scenario.links[name].reverse is not None:
            raise InputError(f"{where}: links.{name}.reverse: this backend has no queue on the reverse path")
    check_flows(scenario, schemes, where, backend)
    names = chain([flow.route for flow in scenario.flows], where)
    links = plan_links(scenario, traces, dict(zip(reversed(names), itertools.count(), strict=False)), where)
    return Plan(
        scenario.name,
        scenario.seed,
        round(scenario.duration_s * NS_PER_S),
        links,
        tuple(flows(scenario, links)),
        ack_jitter_ns(scenario),
        _buffers(scenario, where) | _ecn(scenario, where),
    )


def check_flows(scenario: Scenario, schemes: Collection[str], where: str, backend: str) -> None:
    """Raise an InputError, which ``where`` begins, for a flow that real hosts cannot run."""
    planned_workloads = plan_workloads(scenario)
    for index, flow in enumerate(scenario.flows):
        if flow.arrivals is not None:
            raise InputError(f"{where}: flows.{index}.arrivals: this backend supports no random arrivals")
        if flow.on_off is not None and flow.scheme != DATAGRAMS:
            raise InputError(f"{where}: flows.{index}.on_off: this backend supports it only for udp")
        if flow.ecn not in (False, "none") and backend != ECN_BACKEND:
            raise InputError(f"{where}: flows.{index}.ecn: this backend uses the host's setting")
        if flow.workload is not None and (lack := app.missing()) is not None:
            raise InputError(f"{where}: flows.{index}.workload: {lack}")
        if flow.scheme not in schemes:
            raise InputError(
                f"{where}: flows.{index}.scheme: {flow.scheme}: not a scheme that this kernel runs "
                f"({', '.join(schemes)})"
            )
    total = sum(
        flow.count * (1 if workload is None else workload[1])
        for flow, workload in zip(scenario.flows, planned_workloads, strict=True)
    )
    if total > MAX_FLOWS:
        raise InputError(f"{where}: flows: {total} exceed the limit of {MAX_FLOWS}")


def plan_workloads(scenario: Scenario) -> list[tuple[str, int] | None]:
    """Return the specification and the number of connections of each flow's workload, or None."""
    if all(flow.workload is None for flow in scenario.flows):
        return [None] * len(scenario.flows)
    return leosim.plan_workloads(scenario.model_dump_json())


def plan_links(
    scenario: Scenario, traces: Mapping[str, bytes], outside: Mapping[str, int], where: str
) -> tuple[PlannedLink, ...]:
    """Return the links in the order of ``outside``, which has the level at the receiving end of each.

    Raises:
        InputError: a link never has capacity; ``where`` begins the message.
    """
    parsed = {name: cache.parse(csv, name) for name, csv in traces.items()}
    schedules = {
        schedule.name: schedule for schedule in leosim.plan_links(scenario.model_dump_json(), parsed)
    }
    duration_ns = round(scenario.duration_s * NS_PER_S)
    links: list[PlannedLink] = []
    for name, level in outside.items():
        spec, schedule = scenario.links[name], schedules[name]
        if not schedule.capacity_bits(np.array([0]), np.array([duration_ns]))[0]:
            raise InputError(f"{where}: links.{name}: never has capacity during the scenario")
        links.append(
            PlannedLink(
                name=name,
                file_stem=f"link-{len(links)}",
                spec=spec,
                csv=traces[spec.trace] if spec.trace is not None else None,
                period_ns=parsed[spec.trace].period_ns if spec.trace is not None else 0,
                schedule=schedule,
                limit=_limit(spec.queue, schedule),
                outside=level,
            )
        )
    return tuple(links)


def ack_jitter_ns(scenario: Scenario) -> int:
    """Return the jitter that links must add; real hosts themselves have up to `HOST_JITTER_US`."""
    return round(scenario.host_jitter_us * 1e3) if scenario.host_jitter_us > HOST_JITTER_US else 0


def _buffers(scenario: Scenario, where: str) -> dict[str, str]:
    """Return the socket buffers of TCP flows.

    Raises:
        InputError: they differ between flows, but Linux has one setting per host.
    """
    streams = [flow for flow in scenario.flows if flow.scheme not in OVER_UDP]
    buffers = {}
    for name in ("tcp_rmem", "tcp_wmem"):
        sizes_of_flows = {getattr(flow, name) and tuple(getattr(flow, name)) for flow in streams}
        if len(sizes_of_flows) > 1:
            raise InputError(f"{where}: flows: {name}: must be the same for all flows, as on one host")
        if (sizes := next(iter(sizes_of_flows), None)) is not None:
            buffers[name] = " ".join(map(str, sizes))
    return buffers


def _ecn(scenario: Scenario, where: str) -> dict[str, str]:
    """Return TCP's setting of ECN, if flows set it.

    Raises:
        InputError: they differ, but Linux has one setting per host.
    """
    settings = [flow.ecn for flow in scenario.flows if flow.scheme not in OVER_UDP]
    if all(ecn in (False, "none") for ecn in settings):
        return {}
    if any(ecn != settings[0] for ecn in settings) or (setting := _TCP_ECN.get(str(settings[0]))) is None:
        raise InputError(f"{where}: flows: ecn: must be the same for all flows and both ends, as on one host")
    return {"tcp_ecn": setting}


def chain(routes: Sequence[Sequence[str]], where: str) -> list[str]:
    """Return an order of links in which every route is contiguous.

    Raises:
        InputError: no such order exists.
    """
    after: dict[str, str] = {}
    before: dict[str, str] = {}
    for index, route in enumerate(routes):
        for here, there in itertools.pairwise(route):
            if after.setdefault(here, there) != there or before.setdefault(there, here) != here:
                raise InputError(
                    f"{where}: flows.{index}.route: nested shells are one chain of links, but this route "
                    "leaves or joins the route of another flow in its middle"
                )
    links = list(dict.fromkeys(link for route in routes for link in route))
    order: list[str] = []
    for first in links:
        link = first if first not in before else None
        while link is not None:
            order.append(link)
            link = after.get(link)
    if len(order) < len(links):
        raise InputError(f"{where}: flows: the routes form a circle, but nested shells are a chain")
    return order


def _limit(queue: Queue, schedule: leosim.LinkPlan) -> Limit | None:
    if queue.bytes is not None:
        return Limit("bytes", queue.bytes)
    if queue.packets is None and queue.bdp is None:
        return None
    assert schedule.limit_packets is not None
    return Limit("packets", schedule.limit_packets)


def flows(scenario: Scenario, links: Sequence[PlannedLink]) -> Iterator[PlannedFlow]:
    """Yield the flows of a scenario over planned links, in order."""
    levels = {link.name: number for number, link in enumerate(links, 1)}
    end_ns = round(scenario.duration_s * NS_PER_S)
    planned_workloads = plan_workloads(scenario)
    for index, (flow, described) in enumerate(zip(scenario.flows, planned_workloads, strict=True)):
        start_ns = round(flow.start_s * NS_PER_S)
        stop_ns = end_ns if flow.stop_s is None else min(end_ns, round(flow.stop_s * NS_PER_S))
        spec, connections = described or ("", 1)
        for copy, place in itertools.product(range(flow.count), range(connections)):
            random_ = random.Random(f"{scenario.seed}/{index}/{copy}")
            yield PlannedFlow(
                scheme=flow.scheme,
                start_ns=start_ns,
                stop_ns=stop_ns,
                sender_level=levels[flow.route[0]],
                receiver_level=links[levels[flow.route[-1]] - 1].outside,
                extra_delay_ns=round(flow.extra_delay_ms * NS_PER_MS),
                rate_bps=round(flow.rate_mbps * 1e6) if flow.rate_mbps is not None else 0,
                transfer_bytes=flow.transfer_bytes or 0,
                periods_ns=tuple(_periods(flow, start_ns, stop_ns, random_))
                if flow.scheme == DATAGRAMS and described is None
                else (),
                workload=PlannedWorkload(spec, connections, place) if described is not None else None,
            )


def _periods(flow: Flow, start_ns: int, stop_ns: int, random_: random.Random) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each period in which a udp flow sends, starting with a burst."""
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
