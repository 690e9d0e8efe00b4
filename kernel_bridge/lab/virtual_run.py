"""Run a scenario on the guest's kernel."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import leosim

from leogym.common.errors import InputError
from leogym.common.extras import install
from leogym.common.units import NS_PER_S
from leogym.configs.scenario import Scenario
from leogym.kernel_bridge.bridge import own_objects
from leogym.kernel_bridge.bridge import process as bridge_process
from leogym.kernel_bridge.host.namespaces import folders
from leogym.kernel_bridge.host.schemes import DATAGRAMS, OVER_UDP
from leogym.kernel_bridge.inside.ending import GRACE_S
from leogym.kernel_bridge.inside.session import GuestSession, ModuleSession, Role
from leogym.kernel_bridge.lab import image, links, machine, own_modules, quic_flows, served_in_guest
from leogym.kernel_bridge.lab.initramfs import File
from leogym.kernel_bridge.lab.served_in_guest import Policies, ServedInGuest
from leogym.kernel_bridge.quic import stacks
from leogym.kernel_bridge.runner import run
from leogym.kernel_bridge.runner.plan import Plan, ack_jitter_ns
from leogym.kernel_bridge.runner.run_folder import FIRST_PORT, describe, raise_for, read
from leogym.kernel_bridge.runner.run_log import FlowRecord
from leogym.kernel_bridge.runner.served_flows import SATCP
from leogym.kernel_bridge.runner.stop import Stop
from leogym.kernel_bridge.workloads import app
from leogym.results.measurement import Measurement
from leogym.traces.path import cache

CUBICS = {
    "cubic": {"hystart": 1, "hystart_detect": 3},
    "cubic-hystart-delay": {"hystart": 1, "hystart_detect": 2},
    "cubic-hystart-train": {"hystart": 1, "hystart_detect": 1},
    "cubic-nohystart": {"hystart": 0, "hystart_detect": 3},
}
"""Variants of Linux's cubic: parameters of its module, which hold for all flows of a kernel."""
SCHEMES = (
    *("bbr", "bic", "cdg", *CUBICS, "highspeed", "htcp", "hybla", "illinois", "lp", "nv"),
    *("reno", "scalable", "vegas", "veno", "westwood", "yeah"),
)
"""Linux's schemes."""
BBRS = {"bbr": 1, "bbr3": 3}
"""Schemes of Linux's module tcp_bbr, with its version; stock kernels have version 1."""
START_S = 0.6
"""Time from the last preparation to the run's start. Linux's pie first computes its probability half a second
after its creation, and a path's queue is older than its flows."""
FOLDER = "/lab"  # a run's folder in the guest, the same for every run

Progress = Callable[[Mapping[str, object]], None]


def kernel_schemes(built: image.Image) -> list[str]:
    """Return the schemes of an image's kernel."""
    version = built.manifest.get("bbr", 1)
    return sorted([scheme for scheme in {*SCHEMES, *BBRS} if BBRS.get(scheme, version) == version])


def schemes() -> list[str]:
    """Return the schemes that flows can use: Linux's, the user's own, leo-bridge's, QUIC stacks', UDP's."""
    try:
        own = own_modules.registered(image.latest())
    except InputError:
        own = {}  # without an image, the run's check says so
    served = [*bridge_process.SCHEMES, *own_objects.registered()]
    return [*SCHEMES, "bbr3", *own, *served, *stacks.registered(), *OVER_UDP]


def execute(
    scenario: Scenario,
    traces: Mapping[str, bytes],
    series_ms: float = 100.0,
    progress: Progress | None = None,
    policies: Policies | None = None,
    on_records: Callable[[Sequence[FlowRecord]], None] = lambda _: None,
    stop: Stop | None = None,
    on_kernel_log: Callable[[bytes], None] = lambda _: None,
) -> Measurement:
    """Run a scenario in virtual time.

    Args:
        scenario: resolved; its seed is also the guest's.
        traces: the CSV of each of its path traces.
        series_ms: the interval of the series.
        progress: called with the guest's progress messages.
        policies: the files of each scheme's policy folder.
        on_records: called with the full logs of every flow's ends; the run log keeps an extract.
        stop: ends the run early.
        on_kernel_log: called with what the guest's kernel has logged.

    Raises:
        InputError: the machine lacks something, or the guest cannot express the scenario.
        GuestError: the guest failed.
        StoppedError: ``stop`` was used.
    """
    policies = policies or {}
    planned = with_simulated_starts(check(scenario, traces, policies), scenario, traces)
    bridge = ServedInGuest(planned, policies, FOLDER)
    quic = quic_flows.QuicFlows(planned, FOLDER)
    links_backend = backend(scenario)
    with folders(f"run-{links.NAME}") as (root, work):
        described, shells = describe(
            planned, links_backend, lambda *end: kernel_name(bridge, *end), root, work, -1
        )
        queue_logs = [str(log) for of_link in shells for log in of_link.logs]
        session: GuestSession = {
            **described,
            "served": bridge.described(FIRST_PORT),
            "start_s": START_S,
            "tcp_cubic": cubic_parameters(planned),
            "modules": module_sessions(planned),
            "queue_logs": queue_logs if isinstance(links_backend, links.Wires) else None,
        }
        if quic:
            session = quic.session(session, shells, root)
        in_guest(
            session,
            root,
            planned,
            {**bridge.files, **quic.files, **module_files(planned)},
            program=quic.program,
            folders=quic.folders,
            progress=progress,
            stop=stop,
        )
        on_kernel_log((root / "logs/kernel").read_bytes())
        result: Any = json.loads((root / "result.json").read_text())
        served = result["served"]
        return read(
            planned,
            links_backend,
            shells,
            root,
            series_ms,
            lambda: bridge.fault(served),
            on_records,
            lambda: bridge.fallbacks(served, FIRST_PORT),
            quic.records(root, result),
        )


def check(scenario: Scenario, traces: Mapping[str, bytes], policies: Collection[str] = ()) -> Plan:
    """Return a scenario's plan.

    Raises:
        InputError: the guest cannot run the scenario.
    """
    links_backend = backend(scenario)
    planned = run.check(scenario, traces, links_backend, schemes=[*schemes(), *policies])
    if (
        any(flow.workload for flow in planned.flows)
        and f"bin/{app.NAME}" not in image.latest().manifest["files"]
    ):
        remedy = f"{install('kernel')}, or make setup in a clone; then {image.BUILD}"
        raise InputError(f"{scenario.name}: --backend {links.NAME}: the image has no {app.NAME}: {remedy}")
    check_schemes(scenario, policies)
    quic_flows.check(scenario, links.NAME)
    return quic_flows.with_lead(planned)


def check_schemes(scenario: Scenario, policies: Collection[str] = ()) -> None:
    """Raise an InputError if the image's kernel cannot run the schemes of a scenario's flows together."""
    named = {flow.scheme for flow in scenario.flows}
    cubics = sorted(named & CUBICS.keys())
    # SaTCP runs the kernel's cubic and so uses the same parameters.
    unlike = [*([SATCP] if SATCP in named and cubics != ["cubic"] else []), *cubics]
    if len(unlike) > 1:
        raise InputError(
            f"{scenario.name}: --backend {links.NAME}: flows: {unlike[0]} and {unlike[1]} differ in a "
            "setting of the whole kernel, so they cannot run together"
        )
    for scheme in sorted(named & BBRS.keys()):
        if scheme not in kernel_schemes(image.latest()):
            raise InputError(
                f"{scenario.name}: --backend {links.NAME}: {scheme}: the image's kernel has another version "
                f"of BBR: {image.BUILD}; for bbr3 with --kernel"
            )
    needing = sorted(named & {*bridge_process.SCHEMES, *own_objects.registered(), *policies})
    if needing and (lack := served_in_guest.missing(image.latest())) is not None:
        raise InputError(f"{scenario.name}: --backend {links.NAME}: {needing[0]}: {lack}")


def kernel_name(bridge: ServedInGuest, scheme: str, role: Role) -> str:
    """Return the ``TCP_CONGESTION`` of a flow's end."""
    if (served := bridge.scheme(scheme, role)) is not None:
        return served
    if scheme.startswith(own_objects.PREFIX):
        return own_modules.used([scheme])[0].scheme
    return "cubic" if scheme in CUBICS else "bbr" if scheme in BBRS else scheme


def cubic_parameters(planned: Plan) -> dict[str, int]:
    """Return the parameters of tcp_cubic for the variant that a run uses."""
    return CUBICS[next((flow.scheme for flow in planned.flows if flow.scheme in CUBICS), "cubic")]


def module_sessions(planned: Plan) -> list[ModuleSession]:
    """Return the modules that a run loads."""
    modules = own_modules.used({flow.scheme for flow in planned.flows})
    return [
        {"file": f"{FOLDER}/{module.name}.ko", "parameters": list(module.parameters)} for module in modules
    ]


def module_files(planned: Plan) -> dict[str, File]:
    """Return the files of `module_sessions`."""
    modules = own_modules.used({flow.scheme for flow in planned.flows})
    return {f"{FOLDER}/{module.name}.ko": File(module.module) for module in modules}


def backend(scenario: Scenario) -> links.LeoInGuest | links.Wires:
    """Return the backend of a scenario's links: Linux's disciplines, or mm-leo.

    mm-leo is for links that the disciplines cannot express, and for the hosts of QUIC flows.
    """
    beyond = any(link.queue.kind == "gateway" for link in scenario.links.values()) or ack_jitter_ns(scenario)
    beyond = beyond or any(quic_flows.is_quic(flow.scheme) for flow in scenario.flows)
    return links.LeoInGuest() if scenario.traces or beyond else links.Wires()


def with_simulated_starts(planned: Plan, scenario: Scenario, traces: Mapping[str, bytes]) -> Plan:
    """Return the plan with the start times that TCP flows have in the simulator with the same seed.

    Packets of flows that begin at the same instant would meet at queues in the same order in every run, and
    the order decides which flows drop-tail queues favour (Floyd and Jacobson, "On Traffic Phase Effects in
    Packet-Switched Gateways", 1992): runs with different seeds would be one sample.
    """
    flows = [
        flow if flow.scheme in OVER_UDP else flow.model_copy(update={"scheme": "reno"})
        for flow in scenario.flows
    ]
    parsed = {name: cache.parse(csv, name) for name, csv in traces.items()}
    simulation = leosim.Simulation(scenario.model_copy(update={"flows": flows}).to_json(), parsed)
    starts_ns = [round(row["start_s"] * NS_PER_S) for row in simulation.run_log().flows]
    begun = [
        flow if flow.scheme == DATAGRAMS and flow.workload is None else replace(flow, start_ns=start_ns)
        for flow, start_ns in zip(planned.flows, starts_ns, strict=True)
    ]
    return replace(planned, flows=tuple(begun))


def in_guest(
    session: GuestSession,
    root: Path,
    planned: Plan,
    more: Mapping[str, File],
    *,
    program: str = "guest_scenario",
    folders: Sequence[str] = (),
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> machine.Outcome:
    """Run a session in the guest; write its results into ``root``, the run's folder on this machine.

    Args:
        session: the session; its paths are in ``root`` or `FOLDER`.
        root: the run's folder, whose files go to `FOLDER`.
        planned: the run's plan.
        more: further files, by absolute path in the guest.
        program: the module of `kernel_bridge.inside` that runs the session.
        folders: further folders in `FOLDER`, whose files are results.
        progress: called with the guest's progress messages.
        stop: ends the run early.
    """
    described = json.dumps(session).replace(str(root), FOLDER)
    inner = {f"{FOLDER}/{path.relative_to(root)}": path for path in sorted(root.rglob("*")) if path.is_file()}
    files = {name: File(path.read_bytes()) for name, path in inner.items()}
    files |= more
    files[f"{FOLDER}/session.json"] = File(described.encode())
    modes = {"logs": 0o755, "work": 0o777, **dict.fromkeys(folders, 0o755)}
    job = machine.Job(
        command=[f"leogym.kernel_bridge.inside.{program}", f"{FOLDER}/session.json"],
        files=files,
        folders={f"{FOLDER}/{name}": mode for name, mode in {**modes, "private": 0o755}.items()},
        results=[*(f"{FOLDER}/{name}" for name in modes), f"{FOLDER}/result.json"],
        virtual_s=(planned.duration_ns + planned.lead_ns) / NS_PER_S + START_S + GRACE_S,
    )
    outcome = machine.run(image.latest(), job, seed=planned.seed, progress=progress, stop=stop)
    raise_for(outcome.status, outcome.stderr, links.NAME)
    for name, data in outcome.files.items():
        file = root / Path(name).relative_to(FOLDER)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return outcome
