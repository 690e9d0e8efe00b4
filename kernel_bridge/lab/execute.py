"""Running a scenario on the guest's kernel."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from configs.errors import InputError
from configs.scenario import Scenario
from kernel_bridge.lab import image, links, machine
from kernel_bridge.lab.initramfs import File
from kernel_bridge.namespaces import folders
from kernel_bridge.run import execute as run
from kernel_bridge.run import inside
from kernel_bridge.run.link_shells import LEAD_S
from kernel_bridge.run.plan import Plan
from kernel_bridge.run.run_log import RunLog
from kernel_bridge.run.schedule import NS_PER_S
from kernel_bridge.run.schemes import DATAGRAMS

SCHEMES = (
    *("bbr", "bic", "cdg", "cubic", "cubic-nohystart", "highspeed", "htcp", "hybla", "illinois", "lp", "nv"),
    *("reno", "scalable", "vegas", "veno", "westwood", "yeah"),
)
"""Linux's own, by its names; ``cubic-nohystart`` is cubic with its module's parameter hystart off."""
NO_HYSTART = "cubic-nohystart"
START_S = 0.6
"""From the last preparation to the run's start: Linux's pie computes its probability for the first time half
a second after it was made, and a path's queue is older than its flows."""
FOLDER = "/lab"
"""A run's folder in the guest, the same for every run."""

Progress = Callable[[Mapping[str, object]], None]


def schemes() -> list[str]:
    """Return what a flow's scheme may be."""
    return [*SCHEMES, DATAGRAMS]


def execute(
    scenario: Scenario,
    traces: Mapping[str, bytes],
    series_ms: float = 100.0,
    progress: Progress | None = None,
) -> RunLog:
    """Run a scenario in virtual time.

    Args:
        scenario: resolved; its seed is also that of the guest's randomness.
        traces: the CSV of every path trace that it names.
        series_ms: the interval of the series.
        progress: called with what the guest tells while it runs.

    Raises:
        InputError: the machine lacks something, or the scenario has what the guest cannot express.
        GuestError: the guest did not come to its end.
    """
    planned = check(scenario, traces)
    made = backend(scenario)
    with folders(f"run-{links.NAME}") as (root, work):
        logs = root / "logs"
        logs.mkdir()
        session, shells = run.describe(planned, made, _kernel_name, root, work, logs, -1)
        session["start_s"] = START_S
        session["hystart"] = all(flow.scheme != NO_HYSTART for flow in planned.flows)
        if isinstance(made, links.Wires):
            session["queue_logs"] = [str(log) for of_link in shells for log in of_link.logs]
        _carry_out(session, root, planned, progress)
        return run.read(planned, made, shells, root, series_ms)


def _kernel_name(scheme: str, _: str) -> str:
    return "cubic" if scheme == NO_HYSTART else scheme


def check(scenario: Scenario, traces: Mapping[str, bytes]) -> Plan:
    """Return the plan of a scenario that the guest can run.

    Raises:
        InputError: it cannot.
    """
    named = {flow.scheme for flow in scenario.flows}
    if {"cubic", NO_HYSTART} <= named:
        raise InputError(
            f"{scenario.name}: --backend {links.NAME}: flows: cubic and {NO_HYSTART} differ in a "
            "setting of the whole kernel, so they cannot run at once"
        )
    return run.check(scenario, traces, backend(scenario), schemes=schemes())


def backend(scenario: Scenario) -> links.LeoInGuest | links.Wires:
    """Return what makes a scenario's links."""
    return links.LeoInGuest() if scenario.traces else links.Wires()


def _carry_out(session: dict[str, Any], root: Path, planned: Plan, progress: Progress | None) -> None:
    """Run the session in a guest, bring its results into the run's folder."""
    described = json.dumps(session).replace(str(root), FOLDER)
    inner = {f"{FOLDER}/{path.relative_to(root)}": path for path in sorted(root.rglob("*")) if path.is_file()}
    files = {name: File(path.read_bytes()) for name, path in inner.items()}
    files[f"{FOLDER}/session.json"] = File(described.encode())
    modes = {"logs": 0o755, "work": 0o777, "private": 0o755}
    job = machine.Job(
        command=["/bin/python3", "-I", "/project/kernel_bridge/lab/guest/run.py", f"{FOLDER}/session.json"],
        files=files,
        folders={f"{FOLDER}/{name}": mode for name, mode in modes.items()},
        results=[f"{FOLDER}/logs", f"{FOLDER}/work", f"{FOLDER}/result.json"],
        virtual_s=planned.duration_ns / NS_PER_S + LEAD_S + START_S + inside.GRACE_S,
    )
    outcome = machine.run(image.latest(), job, seed=planned.seed, progress=progress)
    run.raise_for(outcome.status, outcome.stderr, links.NAME)
    for name, data in outcome.files.items():
        (root / Path(name).relative_to(FOLDER)).write_bytes(data)
