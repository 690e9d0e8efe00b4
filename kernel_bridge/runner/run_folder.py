"""A run's folder: writes the session description and reads the results of shells and flows."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from leogym.common.units import NS_PER_MS
from leogym.kernel_bridge.host.namespaces import PATH, ordinary_user
from leogym.kernel_bridge.host.schemes import DATAGRAMS
from leogym.kernel_bridge.inside.ending import EXIT_TOO_SLOW, describe_exit
from leogym.kernel_bridge.inside.scenario import START_S
from leogym.kernel_bridge.inside.session import (
    Branch,
    Role,
    RunResult,
    RunSession,
    SessionFlow,
    WorkloadSession,
)
from leogym.kernel_bridge.runner.link_shells import Backend, Folders, LinkEvents, LinkShells, Origin
from leogym.kernel_bridge.runner.plan import Plan, PlannedFlow
from leogym.kernel_bridge.runner.run_log import FlowRecord, run_log
from leogym.kernel_bridge.runner.socket_log import read_counts, read_samples
from leogym.kernel_bridge.workloads import app
from leogym.results.measurement import Measurement

LATE_SHARE = 0.01
"""A run is invalid if a sender slept for more than this share of its time."""
FIRST_PORT = 5000
"""Flow ``n`` of a plan uses port ``FIRST_PORT + n``."""


class TooSlowError(RuntimeError):
    """The machine could not keep up, so there is no result."""


def describe(
    planned: Plan,
    backend: Backend,
    scheme: Callable[[str, Role], str],
    root: Path,
    work: Path,
    start_descriptor: int,
) -> tuple[RunSession, list[LinkShells]]:
    """Return the session for `kernel_bridge.inside.scenario`, and the links' shells.

    Args:
        planned: the plan to run.
        backend: the backend for its links.
        scheme: maps a flow's scheme and role to the kernel's name of the scheme.
        root: the run's folder, which gets a folder ``logs`` for the flows' ends.
        work: the ordinary user's folder in it.
        start_descriptor: the file descriptor to which the run's start is written.
    """
    uid, gid = ordinary_user()
    logs = root / "logs"
    logs.mkdir()
    places = Folders(work, root / "private")
    links = [backend.link(planned, link, places) for link in planned.chain]
    for file in filter(Path.is_file, work.iterdir()):
        file.chmod(0o644)
    branches: list[Branch] = []
    flows: list[SessionFlow] = []
    for index, flow in enumerate(planned.flows):
        level = flow.sender_level
        if (shell := access(planned, flow, backend, places)) is not None:
            branches.append({"level": level, "shell": shell})
            level = len(links) + len(branches)
        periods = None
        if flow.scheme == DATAGRAMS and flow.workload is None:
            file = root / f"{index}-periods"
            np.array(flow.periods_ns, dtype="<i8").tofile(file)
            periods = str(file)
        described: SessionFlow = {
            "protocol": "udp" if flow.scheme == DATAGRAMS else "tcp",
            "port": FIRST_PORT + index,
            "start_ns": flow.start_ns,
            "stop_ns": flow.stop_ns,
            "rate_bps": flow.rate_bps,
            "bytes": flow.transfer_bytes,
            "periods": periods,
            "workload": _workload(flow),
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
        flows.append(described)
    session: RunSession = {
        "private": str(places.private),
        "programs": [str(program) for program in backend.programs()],
        "iptables": backend.calls_iptables,
        "folder": str(work),
        "result": str(root / "result.json"),
        "start_descriptor": start_descriptor,
        "uid": uid,
        "gid": gid,
        "env": {"PATH": PATH, "HOME": str(work), "LANG": "C.UTF-8"},
        "app": str(app.program()) if any(flow.workload for flow in planned.flows) else "",
        "shells": [[list(command) for command in link.commands] for link in links],
        "branches": branches,
        "flows": flows,
        "aligned": [
            str(log)
            for link, shells in zip(planned.chain, links, strict=True)
            for log in shells.logs
            if link.schedule.varies
        ],
        "lead_ns": planned.lead_ns,
        "start_s": START_S,
        "duration_ns": planned.duration_ns,
        "settings": dict(planned.settings),
    }
    return session, links


def raise_for(status: int, stderr: str, name: str) -> None:
    """Raise the error for the exit status of a run's first process; none if it ended well."""
    why = "; ".join(stderr.strip().splitlines())
    if status == EXIT_TOO_SLOW:
        raise TooSlowError(f"{name}: {why}")
    if status:
        raise RuntimeError(f"{name}: {why or f'the run {describe_exit(status)}'}")


def read(
    planned: Plan,
    backend: Backend,
    shells: list[LinkShells],
    root: Path,
    series_ms: float,
    fault: Callable[[], str | None] = lambda: None,
    on_records: Callable[[Sequence[FlowRecord]], None] = lambda _: None,
    fallbacks: Callable[[], Mapping[int, int]] = dict,
    others: Mapping[int, FlowRecord] | None = None,
) -> Measurement:
    """Return the log of a finished run from its folder.

    Args:
        planned: the plan that was run.
        backend: the backend of its links.
        shells: shells per link.
        root: the folder.
        series_ms: the interval of the series.
        fault: returns why the run is invalid for reasons other than its links.
        on_records: called with the logs of both ends of every flow.
        fallbacks: returns how often policies gave flows to Cubic; called after ``fault``.
        others: the logs of flows that `kernel_bridge.inside.scenario` has not started, by flow.
    """
    others = others or {}
    result: RunResult = json.loads((root / "result.json").read_text())
    origin = Origin(result["origin_ns"], result["origin_epoch_ns"], planned.lead_ns)
    events = [
        backend.events(link, of_link, origin, planned.duration_ns)
        for link, of_link in zip(planned.chain, shells, strict=True)
    ]
    logs = root / "logs"
    senders = iter(result["senders"])
    records: list[FlowRecord] = []
    for index, flow in enumerate(planned.flows):
        if index in others:
            records.append(others[index])
        elif flow.workload is None:
            records.append(_record(logs, index, flow.scheme, next(senders)))
        elif flow.workload.place == 0:
            records += _workload_records(logs, index, flow, json.loads(next(senders)))
    on_records(records)
    # Call fault first: a bridge that ended is an error, even if the run is invalid for other reasons.
    served = fault()
    planned = replace(planned, flows=tuple(map(_at_its_times, planned.flows, records)))
    invalid = _find_fault(planned, events, records) or served
    return run_log(planned, records, events, series_ms, invalid, fallbacks())


def access(planned: Plan, flow: PlannedFlow, backend: Backend, places: Folders) -> list[str] | None:
    """Return the access shell of a flow's sender, if any."""
    if not flow.extra_delay_ns:
        return None
    where = f"{planned.name}: --backend {backend.name}: extra_delay_ms"
    return backend.access(flow.extra_delay_ns, where, places)


def _record(logs: Path, index: int, scheme: str, stderr: str) -> FlowRecord:
    sent = logs / f"{index}-sent"
    lines = [line.split() for line in stderr.splitlines()]
    return FlowRecord(
        read_counts(sent) if scheme == DATAGRAMS else read_samples(sent),
        read_counts(logs / f"{index}-received"),
        completed_ns=next((int(words[1]) for words in lines if words[:1] == ["completed_ns"]), None),
        late_ns=sum(int(words[1]) for words in lines if words[:1] == ["late_ns"]),
    )


def _workload(flow: PlannedFlow) -> WorkloadSession | None:
    if flow.workload is None:
        return None
    return {
        "spec": flow.workload.spec,
        "connections": flow.workload.connections if flow.workload.place == 0 else 0,
    }


def _workload_records(
    logs: Path, first: int, flow: PlannedFlow, report: Mapping[str, Any]
) -> Iterator[FlowRecord]:
    """Yield the records of a workload's flows, of which ``first`` is the first, from its program's report."""
    columns = report["columns"]
    read_sent = read_counts if columns["workload"] == "call" else read_samples
    for place, times in enumerate(report["connections"]):
        # A connection that was never opened has no duration.
        start_ns, stop_ns = (times["start_ns"], times["stop_ns"]) if times else (flow.stop_ns, flow.stop_ns)
        yield FlowRecord(
            read_sent(logs / f"{first + place}-sent"),
            read_counts(logs / f"{first + place}-received"),
            start_ns=start_ns,
            stop_ns=stop_ns,
            late_ns=report["late_ns"] if place == 0 else 0,
            columns=columns if place == 0 else {"workload": columns["workload"]},
        )


def _at_its_times(flow: PlannedFlow, record: FlowRecord) -> PlannedFlow:
    """Return the flow with its actual start and stop; a transfer stops when it is complete."""
    if record.start_ns is not None:
        flow = replace(flow, start_ns=record.start_ns)
    if record.stop_ns is not None:
        flow = replace(flow, stop_ns=record.stop_ns)
    return flow if record.completed_ns is None else replace(flow, stop_ns=record.completed_ns, completed=True)


def _find_fault(planned: Plan, events: list[LinkEvents], records: Sequence[FlowRecord]) -> str | None:
    """Return why a run is invalid, or None."""
    for link, link_events in zip(planned.chain, events, strict=True):
        # Workloads pause.
        is_steady = any(flow.workload is None and link in planned.links_of(flow) for flow in planned.flows)
        why = link_events.late or (link_events.late_if_steady if is_steady else None)
        if why is not None:
            return f"links.{link.name}: {why}: this machine is too slow or too busy"
    for index, (flow, record) in enumerate(zip(planned.flows, records, strict=True)):
        if record.late_ns > LATE_SHARE * (flow.stop_ns - flow.start_ns):
            stood_ms = record.late_ns / NS_PER_MS
            return f"flow {index}: its sender slept for {stood_ms:.0f} ms: this machine is too busy"
    return None
