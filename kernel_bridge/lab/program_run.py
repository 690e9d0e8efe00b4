"""Run programs on hosts in the guest."""

import json
import time
from collections.abc import Mapping
from pathlib import Path

from leogym.common.errors import InputError
from leogym.configs.program_run import ProgramRun
from leogym.kernel_bridge.host.namespaces import folders
from leogym.kernel_bridge.inside.session import GuestProgramsSession, HostSession
from leogym.kernel_bridge.lab import image, links, virtual_run
from leogym.kernel_bridge.lab.initramfs import File
from leogym.kernel_bridge.lab.served_in_guest import Policies, ServedInGuest
from leogym.kernel_bridge.programs import outcome, roots
from leogym.kernel_bridge.programs.session import FOLDERS, hosts_text, levels, plan, session
from leogym.kernel_bridge.runner.plan import Plan
from leogym.kernel_bridge.runner.run_folder import FIRST_PORT
from leogym.kernel_bridge.runner.stop import Stop

LEAD_S = 10.0
"""Virtual time for the servers to start, which costs little."""
_ROOTS = f"{virtual_run.FOLDER}/hosts"
_OPENSSL = f"{_ROOTS}/_openssl"


def check(run: ProgramRun, traces: Mapping[str, bytes], policies: Policies) -> Plan:
    """Return a run's plan.

    Raises:
        InputError: the guest cannot run it.
    """
    schemes = [*virtual_run.schemes(), *policies]
    planned = plan(run, traces, links.LeoInGuest(both_ways=True), schemes, LEAD_S)
    virtual_run.check_schemes(run.scenario().model_copy(update={"flows": run.flows}), policies)
    return planned


def execute(
    run: ProgramRun,
    folder: Path,
    traces: Mapping[str, bytes],
    out: Path,
    policies: Policies | None = None,
    progress: virtual_run.Progress | None = None,
    stop: Stop | None = None,
) -> outcome.Finished:
    """Run programs in virtual time, and write their output into ``out``.

    Args:
        run: the description.
        folder: this machine's folder for relative paths.
        traces: the CSV of each of its path traces.
        out: the output folder.
        policies: the files of each scheme's policy folder.
        progress: called with the guest's progress messages.
        stop: ends the run early.

    Raises:
        InputError: the machine lacks something, or the guest cannot express the run.
        RuntimeError: a server was not ready, or the guest failed.
        StoppedError: ``stop`` was used.
    """
    policies = policies or {}
    backend = links.LeoInGuest(both_ways=True)
    if (lack := backend.missing()) is not None:
        raise InputError(lack)
    planned = check(run, traces, policies)
    if run.flows:
        competitors = run.scenario().model_copy(update={"flows": run.flows})
        planned = virtual_run.with_simulated_starts(planned, competitors, traces)
    bridge = ServedInGuest(planned, policies, virtual_run.FOLDER)
    with folders("run-programs") as (root, work):
        archives, commands = roots.archives(run.name, run.hosts, folder, hosts_text(levels(run)))
        described, shells = session(
            run,
            planned,
            backend,
            lambda *end: virtual_run.kernel_name(bridge, *end),
            root,
            work,
            _hosts(run),
            commands,
            -1,
            unix_ns=round(run.unix_time.timestamp() * 1e9),
            common=f"{_ROOTS}/{roots.COMMON}",
            tls=_OPENSSL if run.tls else None,
        )
        guest: GuestProgramsSession = {
            **described,
            "uid": roots.UID,
            "gid": roots.UID,
            "served": bridge.described(FIRST_PORT),
            "start_s": virtual_run.START_S,
            "tcp_cubic": virtual_run.cubic_parameters(planned),
            "modules": virtual_run.module_sessions(planned),
            "queue_logs": None,
        }
        files = {f"{_ROOTS}/{name}.tar": File(data) for name, data in archives.items()}
        if run.tls:
            files[f"{_OPENSSL}.tar"] = File(roots.openssl())
        began = time.monotonic()
        ran = virtual_run.in_guest(
            guest,
            root,
            planned,
            bridge.files | files | virtual_run.module_files(planned),
            program="guest_programs",
            folders=FOLDERS,
            progress=progress,
            stop=stop,
        )
        wall_s = time.monotonic() - began
        result = json.loads((root / "result.json").read_text())
        measured = outcome.measure(
            planned,
            backend,
            shells,
            root,
            fault=lambda: bridge.fault(result["served"]),
            fallbacks=lambda: bridge.fallbacks(result["served"], FIRST_PORT),
        )
        system = {"kernel": image.latest().linux, "image": image.latest().manifest["sha256"]}
        hashes = {**outcome.hashes(archives), **outcome.hashes(traces)}
        machine = {"wall_s": wall_s, "wall_per_virtual_s": wall_s / ran.virtual_s}
        return outcome.write(run, planned, root, out, measured, commands, system, hashes, machine)


def _hosts(run: ProgramRun) -> list[HostSession]:
    return [
        {
            "name": name,
            "level": level,
            "root": f"{_ROOTS}/{name}",
            "folder": roots.HOME,
            "results": run.hosts[name].results,
        }
        for name, level in levels(run).items()
    ]
