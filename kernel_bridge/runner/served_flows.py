"""Flows whose congestion control leo-bridge serves: its own schemes, exported policies, and agents."""

from __future__ import annotations

import itertools
import os
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from kernel_bridge.bridge import process as bridge_process
from kernel_bridge.bridge.announcer import Announcer
from kernel_bridge.bridge.client import Bridge, BridgeError
from kernel_bridge.bridge.process import SCHEMES, BridgeProcess, Offered
from kernel_bridge.host.schemes import OURS
from kernel_bridge.inside.session import Role
from kernel_bridge.runner import handovers
from kernel_bridge.runner.plan import Plan

AGENT = "agent"
"""The scheme of flows that a client steers."""
SATCP = "satcp"
RECEIVERS_SCHEME = "reno"
"""Of the other end of a served flow, which sends nothing: every kernel has it."""

_numbers = itertools.count()


def served() -> list[str]:
    """Return the schemes that leo-bridge adds to the kernel's here, without a policy."""
    return list(SCHEMES) if bridge_process.missing() is None else []


class Served:
    """The bridge of one run, if its plan needs one; a context manager.

    The congestion controls are registered under names of this run's own, so that several may run at a time.

    Args:
        plan: whose flows it serves.
        policies: policy folders by scheme.
        interval_ms: the monitor interval of agents.
        agent: the specification of agents: what moves their windows between commands, and when intervals end.

    Raises:
        InputError: the machine lacks something, or a policy is wrong.
    """

    def __init__(
        self, plan: Plan, policies: Mapping[str, Path], interval_ms: float, *, agent: str = "astraea"
    ) -> None:
        self._plan = plan
        self._kinds = deciders(plan, policies, agent)
        self._names = {scheme: f"{OURS}{os.getpid():x}.{next(_numbers) % 256:x}" for scheme in self._kinds}
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
        """Return what an end of a flow of ``scheme`` sets ``TCP_CONGESTION`` to."""
        if scheme not in self._names:
            return scheme
        return self._names[scheme] if role == "send" else RECEIVERS_SCHEME

    @property
    def pid(self) -> int | None:
        """Return the daemon's process, if there is one."""
        return self._bridge.pid if self._bridge is not None else None

    def client(self) -> Bridge:
        """Return a new connection to the bridge, which is closed with this."""
        assert self._bridge is not None, "no flow of the plan is served"
        return self._stack.enter_context(self._bridge.client())

    def agents(self) -> Bridge:
        """Return a connection that has subscribed to the plan's agents, and steers them."""
        client = self.client()
        client.subscribe(self._names[AGENT])
        return client

    def announce(self, origin_ns: int, first_port: int) -> None:
        """From now on tell SaTCP flows of their paths' handovers.

        Args:
            origin_ns: the run's start, on the monotonic clock.
            first_port: flow ``n`` of the plan goes to port ``first_port + n``.
        """
        if SATCP in self._names:
            client = self.client()
            client.subscribe(self._names[SATCP])
            self._announcer = Announcer(client, reports(self._plan, first_port), origin_ns)
            self._stack.callback(self._announcer.end)
            self._announcer.start()

    def status(self, scheme: str) -> Mapping[str, Any]:
        """Return what the bridge says of a scheme that it serves: decisions, how late they were, fallbacks.

        Raises:
            BridgeError: the bridge went away during the run.
        """
        assert self._bridge is not None, "no flow of the plan is served"
        try:
            with self._bridge.client() as client:
                told = client.status()["schemes"]
        except (OSError, ValueError, BridgeError) as error:
            raise BridgeError(f"leo-bridge: it went away during the run: {error}") from None
        return next(one for one in told if one["scheme"] == self._names[scheme])

    @property
    def reported_handovers(self) -> int:
        """Return how many reports of handovers SaTCP flows were given so far."""
        return self._announcer.reported if self._announcer is not None else 0

    def fault(self) -> str | None:
        """Say why the flows were not served as they should have been, once they are over; None if they were.

        Raises:
            BridgeError: the bridge went away during the run.
        """
        for scheme in self._kinds:
            told = self.status(scheme)
            if scheme == AGENT:
                continue  # whoever steers knows how late it was
            if (why := unserved(scheme, told)) is not None:
                return why
        return self._announcer.fault() if self._announcer is not None else None


def deciders(
    plan: Plan, policies: Mapping[str, Path], agent: str = "astraea"
) -> dict[str, Path | str | Offered | None]:
    """Return who decides for the flows of each of a plan's schemes that the kernel does not have itself.

    A policy's folder, one of the bridge's schemes, or a client, as an agent of the specification ``agent``.
    """
    found: dict[str, Path | str | Offered | None] = {}
    for scheme in dict.fromkeys(flow.scheme for flow in plan.flows):
        if scheme in policies:
            found[scheme] = policies[scheme]
        elif scheme in SCHEMES:
            found[scheme] = scheme
        elif scheme == AGENT:
            found[scheme] = Offered(agent)
    return found


def reports(plan: Plan, first_port: int) -> dict[int, list[tuple[int, int]]]:
    """Return when SaTCP flows are told of handovers, by port: flow ``n`` goes to ``first_port + n``."""
    return {
        first_port + index: handovers.of_flow(plan, flow)
        for index, flow in enumerate(plan.flows)
        if flow.scheme == SATCP
    }


def unserved(scheme: str, told: Mapping[str, Any]) -> str | None:
    """Say why a scheme's flows were not served as they should have been, from the bridge's status."""
    if told["too_late"] is not None:
        return f"leo-bridge: {scheme}: {told['too_late']}"
    if told["fallbacks"]:
        return f"leo-bridge: {scheme}: flows fell back to Cubic {told['fallbacks']} times"
    return None


def known(available: Collection[str], policies: Collection[str], *, agents: bool) -> list[str]:
    """Return what a flow's scheme may be."""
    return [*dict.fromkeys([*available, *served(), *policies, *([AGENT] if agents else [])])]
