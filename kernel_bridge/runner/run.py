"""Running a scenario on the host's real TCP stack, behind shells."""

from __future__ import annotations

import json
import os
import select
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from configs.errors import InputError
from configs.scenario import Scenario
from kernel_bridge.bridge import process as bridge_process
from kernel_bridge.bridge.client import BridgeError
from kernel_bridge.host.namespaces import PATH, folders, ordinary_user, start_in_namespaces
from kernel_bridge.host.schemes import DATAGRAMS, available
from kernel_bridge.runner import inside
from kernel_bridge.runner.link_shells import LEAD_S, Backend, Folders, LinkEvents, LinkShells, Origin
from kernel_bridge.runner.plan import Plan, PlannedFlow, plan
from kernel_bridge.runner.run_log import FlowRecord, RunLog, run_log
from kernel_bridge.runner.schedule import NS_PER_MS, NS_PER_S
from kernel_bridge.runner.served_flows import Served, known
from kernel_bridge.runner.socket_log import read_counts, read_samples
from kernel_bridge.runner.stop import Stop

PREPARE_S = inside.SETUP_S + inside.GRACE_S
"""How long it may take until the flows can begin."""
LATE_SHARE = 0.01
"""A sender that was not awake for more of its time than this did not offer what was asked for."""
FIRST_PORT = 5000
"""Flow ``n`` of a plan goes to port ``FIRST_PORT + n``."""


class TooSlowError(RuntimeError):
    """The machine could not keep up, so there is no result."""


def execute(
    scenario: Scenario,
    traces: Mapping[str, bytes],
    backend: Backend,
    series_ms: float = 100.0,
    policies: Mapping[str, Path] | None = None,
    stop: Stop | None = None,
) -> RunLog:
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
        _access(planned, flow, backend, Folders(Path(), Path()))
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
            self._process = start_in_namespaces(Path(inside.__file__), file, told)
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
                self._end(inside.GRACE_S)
                raise RuntimeError(f"{self._backend.name}: the run ended before it began")
            self._origin_ns = int(told)
            self.served.announce(self._origin_ns, FIRST_PORT)
        return self._origin_ns

    def finish(self, series_ms: float = 100.0) -> RunLog:
        """Wait for the run's end and return its log; `begin` is called unless it was.

        Raises:
            TooSlowError: the machine was too slow.
            RuntimeError: shells or flows could not be set up, or were killed.
        """
        self.begin()
        self._end(self.plan.duration_ns / NS_PER_S + LEAD_S + 4 * inside.GRACE_S)
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


def raise_for(status: int, stderr: str, name: str) -> None:
    """Raise what the exit status of a run's first process stands for, unless it ended well."""
    why = "; ".join(stderr.strip().splitlines())
    if status == inside.TOO_SLOW:
        raise TooSlowError(f"{name}: {why}")
    if status:
        raise RuntimeError(f"{name}: {why or f'the run {inside.left(status)}'}")


def read(
    planned: Plan,
    backend: Backend,
    shells: list[LinkShells],
    root: Path,
    series_ms: float,
    fault: Callable[[], str | None] = lambda: None,
    take: Callable[[Sequence[FlowRecord]], None] = lambda _: None,
) -> RunLog:
    """Return the log of a run that has ended, from its folder.

    Args:
        planned: what was run.
        backend: whose shells made its links.
        shells: of each link.
        root: the folder.
        series_ms: the interval of the series.
        fault: says why the run is no result where the links do not.
        take: called with what both ends of every flow logged.
    """
    told = json.loads((root / "result.json").read_text())
    origin = Origin(told["origin_ns"], told["origin_epoch_ns"])
    events = [
        backend.events(link, of_link, origin, planned.duration_ns)
        for link, of_link in zip(planned.chain, shells, strict=True)
    ]
    logs = root / "logs"
    records = [_record(logs, index, flow.scheme) for index, flow in enumerate(planned.flows)]
    take(records)
    # What went away is an error, whatever else was wrong.
    served = fault()
    planned = replace(planned, flows=tuple(map(_as_far_as_it_came, planned.flows, told["senders"])))
    return run_log(planned, records, events, series_ms, _invalid(planned, events, told["senders"]) or served)


def _access(planned: Plan, flow: PlannedFlow, backend: Backend, places: Folders) -> list[str] | None:
    """Return the shell that a flow's sender is behind beside the links', if any."""
    if not flow.extra_delay_ns:
        return None
    where = f"{planned.name}: --backend {backend.name}: extra_delay_ms"
    return backend.access(flow.extra_delay_ns, where, places)


def describe(
    planned: Plan,
    backend: Backend,
    scheme: Callable[[str, Literal["send", "receive"]], str],
    root: Path,
    work: Path,
    logs: Path,
    told: int,
) -> tuple[dict[str, Any], list[LinkShells]]:
    """Return what `inside` is told, and the links' shells.

    Args:
        planned: what to run.
        backend: whose shells make its links.
        scheme: the kernel's name of a flow's scheme, at the end ``send`` or ``receive``.
        root: the run's folder; in it, ``work`` is the ordinary user's and ``logs`` the flows' ends'.
        work: see there.
        logs: see there.
        told: the descriptor that the run's start is written to.
    """
    uid, gid = ordinary_user()
    places = Folders(work, root / "private")
    links = [backend.link(planned, link, places) for link in planned.chain]
    for file in work.iterdir():
        file.chmod(0o644)
    branches: list[dict[str, Any]] = []
    flows: list[dict[str, Any]] = []
    for index, flow in enumerate(planned.flows):
        level = flow.sender_level
        if (shell := _access(planned, flow, backend, places)) is not None:
            branches.append({"level": level, "shell": shell})
            level = len(links) + len(branches)
        described = {
            "protocol": "udp" if flow.scheme == DATAGRAMS else "tcp",
            "port": FIRST_PORT + index,
            "start_ns": flow.start_ns,
            "stop_ns": flow.stop_ns,
            "rate_bps": flow.rate_bps,
            "bytes": flow.transfer_bytes,
            "send": {
                "level": level,
                "scheme": scheme(flow.scheme, "send"),
                "log": str(logs / f"{index}-sent"),
            },
            "receive": {
                "level": flow.receiver_level,
                "scheme": scheme(flow.scheme, "receive"),
                "log": str(logs / f"{index}-received"),
            },
        }
        if flow.scheme == DATAGRAMS:
            periods = root / f"{index}-periods"
            np.array(flow.periods_ns, dtype="<i8").tofile(periods)
            described["periods"] = str(periods)
        flows.append(described)
    session = {
        "private": str(places.private),
        "programs": [str(program) for program in backend.programs()],
        "folder": str(work),
        "result": str(root / "result.json"),
        "told": told,
        "uid": uid,
        "gid": gid,
        "env": {"PATH": PATH, "HOME": str(work), "LANG": "C.UTF-8"},
        "shells": [[list(command) for command in link.commands] for link in links],
        "branches": branches,
        "flows": flows,
        "aligned": [
            str(log)
            for link, shells in zip(planned.chain, links, strict=True)
            for log in shells.logs
            if link.schedule.varies
        ],
        "lead_ns": round(LEAD_S * NS_PER_S),
        "duration_ns": planned.duration_ns,
        "settings": dict(planned.buffers),
    }
    return session, links


def _record(logs: Path, index: int, scheme: str) -> FlowRecord:
    sent = logs / f"{index}-sent"
    return FlowRecord(
        read_counts(sent) if scheme == DATAGRAMS else read_samples(sent),
        read_counts(logs / f"{index}-received"),
    )


def _as_far_as_it_came(flow: PlannedFlow, said: str) -> PlannedFlow:
    """Return a flow that stops when its transfer was complete, if it was."""
    completed = [int(line.split()[1]) for line in said.splitlines() if line.startswith("completed_ns ")]
    return replace(flow, stop_ns=completed[0], completed=True) if completed else flow


def _invalid(planned: Plan, events: list[LinkEvents], said: list[str]) -> str | None:
    """Say why a run is no result, or None."""
    for link, found in zip(planned.chain, events, strict=True):
        if found.late is not None:
            return f"links.{link.name}: {found.late}: this machine is too slow or too busy"
    for index, (flow, lines) in enumerate(zip(planned.flows, said, strict=True)):
        late_ns = sum(int(line.split()[1]) for line in lines.splitlines() if line.startswith("late_ns "))
        if late_ns > LATE_SHARE * (flow.stop_ns - flow.start_ns):
            stood_ms = late_ns / NS_PER_MS
            return f"flow {index}: its sender stood still for {stood_ms:.0f} ms: this machine is too busy"
    return None
