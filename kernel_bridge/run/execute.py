"""Running a scenario on the host's real TCP stack, behind shells."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from configs.errors import InputError
from configs.scenario import Scenario
from kernel_bridge.namespaces import PATH, folders, in_namespaces, ordinary_user
from kernel_bridge.run import inside
from kernel_bridge.run.link_shells import LEAD_S, Backend, Folders, LinkEvents, LinkShells, Origin
from kernel_bridge.run.plan import Plan, PlannedFlow, plan
from kernel_bridge.run.run_log import FlowRecord, RunLog, run_log
from kernel_bridge.run.schedule import NS_PER_S
from kernel_bridge.run.schemes import DATAGRAMS, available
from kernel_bridge.run.socket_log import read_counts, read_samples

_FIRST_PORT = 5000


class TooSlowError(RuntimeError):
    """The machine could not keep up, so there is no result."""


def in_private_namespaces(session: dict[str, Any], root: Path, planned: Plan, backend: Backend) -> None:
    """Carry out a run on this machine's kernel; its results are in the run's folder ``root`` then.

    Raises:
        TooSlowError: the machine could not even prepare the run, or end it, in time.
        RuntimeError: shells or flows could not be set up.
    """
    file = root / "session.json"
    file.write_text(json.dumps(session))
    limit_s = planned.duration_ns / NS_PER_S + LEAD_S + inside.SETUP_S + 4 * inside.GRACE_S
    try:
        status, _, stderr = in_namespaces(Path(inside.__file__), file, limit_s, backend.name)
    except TimeoutError as error:
        raise TooSlowError(str(error)) from None
    raise_for(status, stderr, backend)


def raise_for(status: int, stderr: str, backend: Backend) -> None:
    """Raise what the exit status of a run's first process stands for, if it failed."""
    why = "; ".join(stderr.strip().splitlines())
    if status == inside.TOO_SLOW:
        raise TooSlowError(f"{backend.name}: {why}")
    if status:
        raise RuntimeError(f"{backend.name}: {why or f'exit status {status}'}")


CarryOut = Callable[[dict[str, Any], Path, Plan, Backend], None]
"""Called with what `inside` is told, the run's folder, which its paths are in, the plan and the backend."""


def execute(
    scenario: Scenario,
    traces: Mapping[str, bytes],
    backend: Backend,
    series_ms: float = 100.0,
    carry_out: CarryOut = in_private_namespaces,
    schemes: Collection[str] | None = None,
) -> RunLog:
    """Run a scenario on real TCP.

    Args:
        scenario: resolved.
        traces: the CSV of every path trace that it names.
        backend: whose shells make its links.
        series_ms: the interval of the series.
        carry_out: where; on this machine's kernel by default.
        schemes: what the kernel there runs; by default, what this machine's does.

    Raises:
        InputError: the machine lacks something, or the scenario has what the backend cannot express.
        TooSlowError: the machine could not even prepare the run, or end it, in time.
        RuntimeError: shells or flows could not be set up.
    """
    planned = check(scenario, traces, backend, schemes)
    with folders(f"run-{backend.name}") as (root, work):
        logs = root / "logs"
        logs.mkdir()
        session, shells = _session(planned, backend, root, work, logs)
        carry_out(session, root, planned, backend)
        told = json.loads((root / "result.json").read_text())
        origin = Origin(told["origin_ns"], told["origin_epoch_ns"])
        events = [
            backend.events(link, of_link, origin, planned.duration_ns)
            for link, of_link in zip(planned.chain, shells, strict=True)
        ]
        records = [_record(logs, index, flow.scheme) for index, flow in enumerate(planned.flows)]
        return run_log(planned, records, events, series_ms, _invalid(planned, events))


def check(
    scenario: Scenario,
    traces: Mapping[str, bytes],
    backend: Backend,
    schemes: Collection[str] | None = None,
) -> Plan:
    """Return the plan of a scenario that the backend can run here.

    Raises:
        InputError: it cannot.
    """
    if (lack := backend.missing()) is not None:
        raise InputError(lack)
    planned = plan(scenario, traces, available() if schemes is None else schemes, backend.name)
    for link in planned.chain:
        backend.check(planned, link)
    for flow in planned.flows:
        _access(planned, flow, backend, Folders(Path(), Path()))
    return planned


def _access(planned: Plan, flow: PlannedFlow, backend: Backend, places: Folders) -> list[str] | None:
    """Return the shell that a flow's sender is behind beside the links', if any."""
    if not flow.extra_delay_ns:
        return None
    where = f"{planned.name}: --backend {backend.name}: extra_delay_ms"
    return backend.access(flow.extra_delay_ns, where, places)


def _session(
    planned: Plan, backend: Backend, root: Path, work: Path, logs: Path
) -> tuple[dict[str, Any], list[LinkShells]]:
    """Return what `inside` is told, and the links' shells."""
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
            "scheme": flow.scheme,
            "port": _FIRST_PORT + index,
            "start_ns": flow.start_ns,
            "stop_ns": flow.stop_ns,
            "send": {"level": level, "log": str(logs / f"{index}-sent")},
            "receive": {"level": flow.receiver_level, "log": str(logs / f"{index}-received")},
        }
        if flow.scheme == DATAGRAMS:
            periods = root / f"{index}-periods"
            np.array(flow.periods_ns, dtype="<i8").tofile(periods)
            described |= {"rate_bps": flow.rate_bps, "periods": str(periods)}
        flows.append(described)
    session = {
        "private": str(places.private),
        "programs": [str(program) for program in backend.programs()],
        "folder": str(work),
        "result": str(root / "result.json"),
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
    }
    return session, links


def _record(logs: Path, index: int, scheme: str) -> FlowRecord:
    sent = logs / f"{index}-sent"
    return FlowRecord(
        read_counts(sent) if scheme == DATAGRAMS else read_samples(sent),
        read_counts(logs / f"{index}-received"),
    )


def _invalid(planned: Plan, events: list[LinkEvents]) -> str | None:
    """Say why a run is no result, or None."""
    for link, found in zip(planned.chain, events, strict=True):
        if found.late is not None:
            return f"links.{link.name}: {found.late}: this machine is too slow or too busy"
    return None
