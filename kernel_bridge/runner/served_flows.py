"""Flows whose congestion control leo-bridge loads: its schemes, policies, agents, and own BPF objects."""

import itertools
import json
import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.kernel_bridge.bridge import own_objects
from leogym.kernel_bridge.bridge import process as bridge_process
from leogym.kernel_bridge.bridge.announcer import Announcer
from leogym.kernel_bridge.bridge.client import Bridge, BridgeError
from leogym.kernel_bridge.bridge.process import SCHEMES, BridgeProcess, Decider, Offered, OwnObject
from leogym.kernel_bridge.host.schemes import NAME_PREFIX
from leogym.kernel_bridge.inside.session import Role
from leogym.kernel_bridge.runner.plan import Plan, PlannedFlow, PlannedLink
from leogym.traces.path import cache

AGENT = "agent"
"""The scheme of flows that a client steers."""
SATCP = "satcp"
RECEIVERS_SCHEME = "reno"
"""Scheme of a served flow's receiver, which sends no data; every kernel has it."""

_numbers = itertools.count()


def bridge_schemes() -> list[str]:
    """Return the schemes that leo-bridge adds to this kernel's, without policies."""
    return [*SCHEMES, *own_objects.registered()] if bridge_process.missing() is None else []


class Served:
    """The bridge of one run, if its plan needs one; a context manager.

    The congestion controls are registered under names unique to this run, so several runs can share a
    machine.

    Args:
        plan: the plan whose flows it serves.
        policies: policy folders by scheme.
        interval_ms: the monitor interval of agents.
        agent: the specification of agents, which sets how windows move between commands and when intervals
            end.

    Raises:
        InputError: the machine lacks something, or a policy is invalid.
    """

    def __init__(
        self, plan: Plan, policies: Mapping[str, Path], interval_ms: float, *, agent: str = "astraea"
    ) -> None:
        self._plan = plan
        self._kinds = deciders(plan, policies, own_objects.registered(), agent)
        self._names = {
            scheme: f"{NAME_PREFIX}{os.getpid():x}.{next(_numbers) % 256:x}" for scheme in self._kinds
        }
        self._interval_ms = interval_ms
        self._bridge: BridgeProcess | None = None
        self._announcer: Announcer | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if self._kinds:
            schemes = {self._names[scheme]: kind for scheme, kind in self._kinds.items()}
            bridge = BridgeProcess(schemes, interval_ms=self._interval_ms, seed=self._plan.seed)
            self._bridge = self._stack.enter_context(bridge)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def scheme(self, scheme: str, role: Role) -> str:
        """Return the ``TCP_CONGESTION`` value for an end of a flow of ``scheme``."""
        if scheme not in self._names:
            return scheme
        return self._names[scheme] if role == "send" else RECEIVERS_SCHEME

    @property
    def pid(self) -> int | None:
        """The daemon's process ID, if there is one."""
        return self._bridge.pid if self._bridge is not None else None

    def client(self) -> Bridge:
        """Return a new connection to the bridge, which closes with this object."""
        assert self._bridge is not None, "no flow of the plan is served"
        return self._stack.enter_context(self._bridge.client())

    def agents(self) -> Bridge:
        """Return a connection that is subscribed to the plan's agents."""
        client = self.client()
        client.subscribe(self._names[AGENT])
        return client

    def announce(self, origin_ns: int, first_port: int) -> None:
        """Start to send SaTCP flows the handovers of their paths.

        Flow ``n`` of the plan uses port ``first_port + n``; ``origin_ns`` is the run's start on the monotonic
        clock.
        """
        if SATCP in self._names:
            client = self.client()
            client.subscribe(self._names[SATCP])
            self._announcer = Announcer(client, reports(self._plan, first_port), origin_ns)
            self._stack.callback(self._announcer.end)
            self._announcer.start()

    def status(self, scheme: str) -> Mapping[str, Any]:
        """Return the bridge's status of a scheme: decisions, lateness, fallbacks.

        Raises:
            BridgeError: the bridge ended during the run.
        """
        assert self._bridge is not None, "no flow of the plan is served"
        try:
            with self._bridge.client() as client:
                statuses = client.status()["schemes"]
        except (OSError, ValueError, BridgeError) as error:
            raise BridgeError(f"leo-bridge: ended during the run: {error}") from None
        return next(status for status in statuses if status["scheme"] == self._names[scheme])

    def fallbacks(self, first_port: int) -> dict[int, int]:
        """Return how often policies gave their flows to Cubic; see `count_cubic_fallbacks`."""
        statuses = {scheme: self.status(scheme) for scheme in self._decided() if scheme != AGENT}
        return count_cubic_fallbacks(self._plan, statuses, first_port)

    def _decided(self) -> list[str]:
        """Return the schemes for which the bridge decides."""
        return decided(self._kinds)

    @property
    def reported_handovers(self) -> int:
        """The number of handover reports that SaTCP flows received so far."""
        return self._announcer.reported if self._announcer is not None else 0

    def fault(self) -> str | None:
        """Return why the bridge failed to serve the flows, or None. Call it after the flows have ended.

        Raises:
            BridgeError: the bridge ended during the run.
        """
        for scheme in self._decided():
            status = self.status(scheme)
            if scheme == AGENT:
                continue  # the client tracks its own lateness
            if (why := find_service_fault(scheme, status)) is not None:
                return why
        return self._announcer.fault() if self._announcer is not None else None


def deciders(
    plan: Plan, policies: Mapping[str, Path], objects: Mapping[str, Path], agent: str = "astraea"
) -> dict[str, Decider]:
    """Return the decider for each scheme of a plan that the kernel lacks.

    It is a policy's folder, a scheme of the bridge, the file of a BPF object, or a client as an agent of the
    specification ``agent``.
    """
    chosen: dict[str, Decider] = {}
    for scheme in dict.fromkeys(flow.scheme for flow in plan.flows):
        if scheme in policies:
            chosen[scheme] = policies[scheme]
        elif scheme in SCHEMES:
            chosen[scheme] = scheme
        elif scheme in objects:
            chosen[scheme] = OwnObject(objects[scheme])
        elif scheme == AGENT:
            chosen[scheme] = Offered(agent)
    return chosen


def decided(chosen: Mapping[str, Decider]) -> list[str]:
    """Return the schemes for which the bridge decides and so has a status; BPF objects decide alone."""
    return [scheme for scheme, decider in chosen.items() if not isinstance(decider, OwnObject)]


def reports(plan: Plan, first_port: int) -> dict[int, list[tuple[int, int]]]:
    """Return the handover reports of SaTCP flows by port: flow ``n`` uses ``first_port + n``."""
    return {
        first_port + index: handovers_of_flow(plan, flow)
        for index, flow in enumerate(plan.flows)
        if flow.scheme == SATCP
    }


def count_cubic_fallbacks(
    plan: Plan, statuses: Mapping[str, Mapping[str, Any]], first_port: int
) -> dict[int, int]:
    """Return how often each flow's policy gave it to Cubic: outside its known ranges, or without an action.

    The result omits flows of policies that name neither ranges nor a fallback.

    Args:
        plan: its flow ``n`` goes to port ``first_port + n``.
        statuses: the bridge's status by scheme, after the flows have ended.
        first_port: the first flow's port.
    """
    counts = {}
    for index, flow in enumerate(plan.flows):
        status = statuses.get(flow.scheme)
        if status is not None and status.get("guarded"):
            suffix = f":{first_port + index}"
            counts[index] = sum(
                times for remote, times in status["given_to_cubic"] if remote.endswith(suffix)
            )
    return counts


def find_service_fault(scheme: str, status: Mapping[str, Any]) -> str | None:
    """Return why the bridge failed to serve a scheme's flows, from its status, or None."""
    if status["too_late"] is not None:
        return f"leo-bridge: {scheme}: {status['too_late']}"
    if status["fallbacks"]:
        return f"leo-bridge: {scheme}: flows fell back to Cubic {status['fallbacks']} times"
    return None


def runnable_schemes(available: Collection[str], policies: Collection[str], *, agents: bool) -> list[str]:
    """Return the schemes that a flow may have on this machine."""
    return [*dict.fromkeys([*available, *bridge_schemes(), *policies, *([AGENT] if agents else [])])]


# Handover reports for SaTCP flows, as in the simulator. A report starts T_err = 0.6 s before the expected
# handover, because about 90 % of predictions are within that error (SaTCP, INFOCOM 2023, V-B). It lasts
# 2 T_err + TCP_RTO_MIN + 0.1 s = 1.5 s (V-C).
REPORT_ERROR_NS = 600 * NS_PER_MS
INHIBITION_NS = 2 * REPORT_ERROR_NS + 200 * NS_PER_MS + 100 * NS_PER_MS


def expected_handovers_ns(link: PlannedLink, duration_ns: int) -> list[int]:
    """Return a link's expected handovers within a run, in ns from its start."""
    if link.csv is None:
        return []
    metadata = json.loads(cache.parse(link.csv, link.name).metadata or "{}")
    offset_ns = round(link.spec.offset_s * NS_PER_S) % link.period_ns
    rounds = (duration_ns + offset_ns) // link.period_ns + 1
    times = (
        number * link.period_ns + max(0, round(handover["predicted_s"] * NS_PER_S)) - offset_ns
        for number in range(rounds)
        for handover in metadata.get("handovers", [])
    )
    return sorted(time_ns for time_ns in times if 0 <= time_ns < duration_ns)


def handover_reports_ns(expected: Iterable[int]) -> list[tuple[int, int]]:
    """Return begin and end of handover reports; overlapping reports are merged."""
    merged: list[tuple[int, int]] = []
    for time_ns in sorted(expected):
        begin = max(0, time_ns - REPORT_ERROR_NS)
        end = begin + INHIBITION_NS
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((begin, end))
    return merged


def handovers_of_flow(plan: Plan, flow: PlannedFlow) -> list[tuple[int, int]]:
    """Return begin and end of the handover reports on a flow's links."""
    return handover_reports_ns(
        time for link in plan.links_of(flow) for time in expected_handovers_ns(link, plan.duration_ns)
    )
