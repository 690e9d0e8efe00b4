"""Runs a scenario on the host's real TCP stack behind link shells."""

import json
import os
import select
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from leogym.common.errors import InputError
from leogym.common.units import NS_PER_S
from leogym.configs.scenario import Scenario
from leogym.kernel_bridge.bridge import process as bridge_process
from leogym.kernel_bridge.bridge.client import BridgeError
from leogym.kernel_bridge.host.namespaces import folders, start_in_namespaces
from leogym.kernel_bridge.host.schemes import available
from leogym.kernel_bridge.inside.ending import GRACE_S, SETUP_S
from leogym.kernel_bridge.inside.session import RunSession
from leogym.kernel_bridge.runner.link_shells import Backend, Folders, LinkShells
from leogym.kernel_bridge.runner.plan import Plan, plan
from leogym.kernel_bridge.runner.run_folder import FIRST_PORT, TooSlowError, access, describe, raise_for, read
from leogym.kernel_bridge.runner.served_flows import Served, runnable_schemes
from leogym.kernel_bridge.runner.stop import Stop
from leogym.results.measurement import Measurement

PREPARE_S = SETUP_S + GRACE_S
"""Limit for the preparation of a run."""


def execute(
    scenario: Scenario,
    traces: Mapping[str, bytes],
    backend: Backend,
    series_ms: float = 100.0,
    policies: Mapping[str, Path] | None = None,
    stop: Stop | None = None,
) -> Measurement:
    """Run a scenario to its end, in real time.

    Args:
        scenario: resolved.
        traces: the CSV of every path trace that it names.
        backend: the backend for its links.
        series_ms: the interval of the series.
        policies: folders of the policies that steer flows, by scheme.
        stop: ends the run early.

    Raises:
        InputError: the machine lacks something, or the backend cannot express the scenario.
        StoppedError: ``stop`` was used.
        TooSlowError: the machine did not prepare or end the run in time.
        RuntimeError: shells or flows could not be set up, or were killed.
    """
    policies = policies or {}
    planned = check(scenario, traces, backend, policies)
    stop = stop or Stop()
    with Run(planned, backend, policies) as run, stop.by(run.kill):
        return run.finish(series_ms)


def check(
    scenario: Scenario,
    traces: Mapping[str, bytes],
    backend: Backend,
    policies: Collection[str] = (),
    *,
    agents: bool = False,
    schemes: Collection[str] | None = None,
) -> Plan:
    """Return the plan of a scenario if the backend can run it here.

    Args:
        scenario: resolved.
        traces: the CSV of every path trace that it names.
        backend: the backend for its links.
        policies: schemes that policies replace.
        agents: whether the caller steers flows of the scheme ``agent``.
        schemes: schemes of the kernel; by default, this machine's.

    Raises:
        InputError: the backend cannot run it.
    """
    if (lack := backend.missing()) is not None:
        raise InputError(lack)
    if policies and (lack := bridge_process.missing()) is not None:
        raise InputError(f"{scenario.name}: --backend {backend.name}: policies: {lack}")
    if schemes is None:
        schemes = runnable_schemes(available(), policies, agents=agents)
    planned = plan(scenario, traces, schemes, backend.name)
    for link in planned.chain:
        backend.check(planned, link)
    for flow in planned.flows:
        access(planned, flow, backend, Folders(Path(), Path()))
    return planned


class Run:
    """A run of a scenario in real time, for as long as the ``with`` block or to its end.

    Args:
        planned: the result of `check`.
        backend: the backend for its links.
        policies: policy folders by scheme.
        interval_ms: the monitor interval of agents.
        agent: the specification of agents, which sets how windows move between commands and when intervals
            end.

    Attributes:
        program: the module of `kernel_bridge.inside` that carries out the session.
        served: the bridge for flows that need one.

    Raises:
        InputError: the machine lacks something, or a policy is invalid.
    """

    program = "scenario"

    def __init__(
        self,
        planned: Plan,
        backend: Backend,
        policies: Mapping[str, Path] | None = None,
        interval_ms: float = 30.0,
        *,
        agent: str = "astraea",
    ) -> None:
        self.plan = planned
        self.served = Served(planned, policies or {}, interval_ms, agent=agent)
        self._backend = backend
        self._origin_ns: int | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._root, work = stack.enter_context(folders(f"run-{self._backend.name}"))
            stack.enter_context(self.served)
            start_reader, start_writer = os.pipe()
            self._start_reader = stack.enter_context(os.fdopen(start_reader))
            session, self._shells = self.describe(work, start_writer)
            file = self._root / "session.json"
            file.write_text(json.dumps(session))
            self._process = start_in_namespaces(self.program, file, start_writer)
            stack.callback(self._end_now)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def describe(self, work: Path, start_descriptor: int) -> tuple[RunSession, list[LinkShells]]:
        """Return the session and the links' shells, as `describe` does."""
        return describe(self.plan, self._backend, self.served.scheme, self._root, work, start_descriptor)

    def kill(self) -> None:
        """Kill everything in the namespaces. Another thread may call this while one waits."""
        self._process.kill()

    def _end_now(self) -> None:
        with self._process:
            self.kill()

    def begin(self) -> int:
        """Wait for the preparation and return the run's imminent start, in ns on the monotonic clock.

        Raises:
            TooSlowError: the machine was too slow.
            RuntimeError: shells or flows could not be set up.
        """
        if self._origin_ns is None:
            if not select.select([self._start_reader], [], [], PREPARE_S)[0]:
                raise TooSlowError(f"{self._backend.name}: the run was not prepared within {PREPARE_S:g} s")
            line = self._start_reader.readline()
            if not line:
                self._end(GRACE_S)
                raise RuntimeError(f"{self._backend.name}: the run ended before it began")
            self._origin_ns = int(line)
            self.served.announce(self._origin_ns, FIRST_PORT)
        return self._origin_ns

    def finish(self, series_ms: float = 100.0) -> Measurement:
        """Wait for the run's end and return its log. Calls `begin` if needed.

        Raises:
            TooSlowError: the machine was too slow.
            RuntimeError: shells or flows could not be set up, or were killed.
        """
        self.wait()
        served = self.served
        return read(
            self.plan,
            self._backend,
            self._shells,
            self._root,
            series_ms,
            served.fault,
            fallbacks=lambda: served.fallbacks(FIRST_PORT),
        )

    def wait(self) -> None:
        """Wait for the run's end; raises what `finish` does."""
        self.begin()
        self._end((self.plan.duration_ns + self.plan.lead_ns) / NS_PER_S + 4 * GRACE_S)

    def _end(self, limit_s: float) -> None:
        """Wait until the session's first process has ended successfully."""
        name = self._backend.name
        with ExitStack() as stack:
            ended = os.pidfd_open(self._process.pid)
            stack.callback(os.close, ended)
            daemon = []
            if (pid := self.served.pid) is not None:
                daemon.append(os.pidfd_open(pid))
                stack.callback(os.close, daemon[0])
            ready, _, _ = select.select([ended, *daemon], [], [], limit_s)
        if not ready:
            raise TooSlowError(f"{name}: the run was not done within {limit_s:g} s")
        if ended not in ready:
            raise BridgeError("leo-bridge: ended before the run, or was killed")
        _, stderr = self._process.communicate()
        raise_for(self._process.returncode, stderr, name)
