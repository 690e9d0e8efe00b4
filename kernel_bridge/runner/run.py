"""Running a scenario on the host's real TCP stack, behind shells."""

from __future__ import annotations

import json
import os
import select
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from configs.errors import InputError
from configs.scenario import Scenario
from configs.units import NS_PER_S
from kernel_bridge.bridge import process as bridge_process
from kernel_bridge.bridge.client import BridgeError
from kernel_bridge.host.namespaces import folders, start_in_namespaces
from kernel_bridge.host.schemes import available
from kernel_bridge.inside.ending import GRACE_S, SETUP_S
from kernel_bridge.runner.link_shells import LEAD_S, Backend, Folders
from kernel_bridge.runner.plan import Plan, plan
from kernel_bridge.runner.run_folder import FIRST_PORT, TooSlowError, access, describe, raise_for, read
from kernel_bridge.runner.served_flows import Served, known
from kernel_bridge.runner.stop import Stop
from results.measurement import Measurement

PREPARE_S = SETUP_S + GRACE_S
"""How long it may take until the flows can begin."""


def execute(
    scenario: Scenario,
    traces: Mapping[str, bytes],
    backend: Backend,
    series_ms: float = 100.0,
    policies: Mapping[str, Path] | None = None,
    stop: Stop | None = None,
) -> Measurement:
    """Run a scenario in real time, to its end.

    Args:
        scenario: resolved.
        traces: the CSV of every path trace that it names.
        backend: whose shells make its links.
        series_ms: the interval of the series.
        policies: policy folders by scheme, of the flows that they steer.
        stop: ends the run before its time.

    Raises:
        InputError: the machine lacks something, or the scenario has what the backend cannot express.
        StoppedError: somebody asked for the end.
        TooSlowError: the machine could not even prepare the run, or end it, in time.
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
    """Return the plan of a scenario that the backend can run here.

    Args:
        scenario: resolved.
        traces: the CSV of every path trace that it names.
        backend: whose shells make its links.
        policies: the schemes that policies stand for.
        agents: whether somebody will steer its agents.
        schemes: what the kernel runs; by default, what this machine's does.

    Raises:
        InputError: it cannot.
    """
    if (lack := backend.missing()) is not None:
        raise InputError(lack)
    if policies and (lack := bridge_process.missing()) is not None:
        raise InputError(f"{scenario.name}: --backend {backend.name}: policies: {lack}")
    if schemes is None:
        schemes = known(available(), policies, agents=agents)
    planned = plan(scenario, traces, schemes, backend.name)
    for link in planned.chain:
        backend.check(planned, link)
    for flow in planned.flows:
        access(planned, flow, backend, Folders(Path(), Path()))
    return planned


class Run:
    """A scenario that runs in real time as long as the ``with`` block, or to its end.

    Args:
        planned: what `check` returned.
        backend: whose shells make its links.
        policies: policy folders by scheme.
        interval_ms: the monitor interval of agents.
        agent: the specification of agents: what moves their windows between commands, and when intervals end.

    Attributes:
        served: the bridge for those of its flows that need one.

    Raises:
        InputError: the machine lacks something, or a policy is wrong.
    """

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
            logs = self._root / "logs"
            logs.mkdir()
            heard, told = os.pipe()
            self._heard = stack.enter_context(os.fdopen(heard))
            session, self._shells = describe(
                self.plan, self._backend, self.served.scheme, self._root, work, logs, told
            )
            file = self._root / "session.json"
            file.write_text(json.dumps(session))
            self._process = start_in_namespaces("scenario", file, told)
            stack.callback(self._end_now)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def kill(self) -> None:
        """End everything that runs in the namespaces, as another thread may want while this one waits."""
        self._process.kill()

    def _end_now(self) -> None:
        with self._process:
            self.kill()

    def begin(self) -> int:
        """Wait until all is prepared; return the run's start, on the monotonic clock in ns: very soon.

        Raises:
            TooSlowError: the machine was too slow.
            RuntimeError: shells or flows could not be set up.
        """
        if self._origin_ns is None:
            if not select.select([self._heard], [], [], PREPARE_S)[0]:
                raise TooSlowError(f"{self._backend.name}: not prepared after {PREPARE_S:g} s")
            told = self._heard.readline()
            if not told:
                self._end(GRACE_S)
                raise RuntimeError(f"{self._backend.name}: the run ended before it began")
            self._origin_ns = int(told)
            self.served.announce(self._origin_ns, FIRST_PORT)
        return self._origin_ns

    def finish(self, series_ms: float = 100.0) -> Measurement:
        """Wait for the run's end and return its log; `begin` is called unless it was.

        Raises:
            TooSlowError: the machine was too slow.
            RuntimeError: shells or flows could not be set up, or were killed.
        """
        self.begin()
        self._end(self.plan.duration_ns / NS_PER_S + LEAD_S + 4 * GRACE_S)
        return read(self.plan, self._backend, self._shells, self._root, series_ms, self.served.fault)

    def _end(self, limit_s: float) -> None:
        """Wait until the session's first process has ended well."""
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
            raise TooSlowError(f"{name}: not done after {limit_s:g} s")
        if ended not in ready:
            raise BridgeError("leo-bridge: it was killed, or ended before the run did")
        _, stderr = self._process.communicate()
        raise_for(self._process.returncode, stderr, name)
