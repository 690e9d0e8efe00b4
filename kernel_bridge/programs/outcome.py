"""Read the results of a run of programs, and write its output folder."""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from leogym.common import output_folder
from leogym.common.atomic import write_atomically, write_table
from leogym.common.units import NS_PER_S
from leogym.configs.program_run import ProgramRun
from leogym.kernel_bridge.inside.session import ProgramsRunResult
from leogym.kernel_bridge.runner.leo_links import LeoLinks
from leogym.kernel_bridge.runner.link_shells import LinkShells
from leogym.kernel_bridge.runner.plan import Plan
from leogym.kernel_bridge.runner.run_folder import read
from leogym.results import provenance
from leogym.results.measurement import Measurement

SERIES_MS = 100.0
TIMEOUT = 124
"""Exit status if a client had to be ended, as that of timeout(1)."""
BUSY_SHARE = 0.9
"""Share of the time for which a program used the processor, above which it is reported."""
CONTENT = "a run of programs"


@dataclass(frozen=True)
class Finished:
    """A finished run."""

    status: int
    """The first exit status of a client that is not 0; `TIMEOUT` if one had to be ended."""
    warnings: list[str]
    """Why its results may mislead."""
    virtual_s: float
    """Time from the first client's start to the last client's end."""


def measure(
    planned: Plan,
    backend: LeoLinks,
    shells: list[LinkShells],
    root: Path,
    fault: Callable[[], str | None],
    fallbacks: Callable[[], Mapping[int, int]],
) -> Measurement:
    """Return the run log of links and competing flows, which ends with the last client."""
    end_ns = max(1, min(_result(root)["programs"]["end_ns"], planned.duration_ns))
    flows = tuple(replace(flow, stop_ns=min(flow.stop_ns, end_ns)) for flow in planned.flows)
    ended = replace(planned, duration_ns=end_ns, flows=flows)
    return read(ended, backend, shells, root, SERIES_MS, fault, fallbacks=fallbacks)


def hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of files."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}


def write(
    run: ProgramRun,
    planned: Plan,
    root: Path,
    out: Path,
    measured: Measurement,
    commands: Mapping[str, Sequence[str]],
    system: Mapping[str, object],
    inputs: Mapping[str, str],
    machine: Mapping[str, object],
) -> Finished:
    """Write the output folder.

    Args:
        run: the description.
        planned: its plan.
        root: the run's folder.
        out: the output folder.
        measured: the run log.
        commands: the command of each program on its host.
        system: versions of kernel and image.
        inputs: hashes of hosts' files and path traces.
        machine: what differs from run to run, such as wall time.
    """
    # Here, because Polars takes time to import, and most commands write no tables.
    import polars as pl

    from leogym.kernel_bridge.programs import connections, directions

    output_folder.make(out)
    _remove_earlier(out)
    result = _result(root)
    programs = {}
    for (host, name, program), ran in zip(run.programs(), result["programs"]["programs"], strict=True):
        for stream in ("stdout", "stderr"):
            _copy(root / "programs" / f"{name}.{stream}", out / host / f"{name}.{stream}")
        programs[name] = {
            "host": host,
            "command": list(commands[name]),
            "is_server": program.listens is not False,
            "status": ran["status"],
            "start_s": ran["start_ns"] / NS_PER_S,
            "stop_s": ran["stop_ns"] / NS_PER_S,
            "cpu_s": ran["cpu_ns"] / NS_PER_S,
        }
    if (root / "results").exists():
        shutil.copytree(root / "results", out, dirs_exist_ok=True)
    for host in run.hosts:
        if run.pcap:
            _copy(root / "programs" / f"{host}.pcap", out / host / "packets.pcap")
    table, summaries = connections.read(root / "programs", list(run.hosts), result["origin_ns"], SERIES_MS)
    tables = {
        "connections": table,
        "directions": directions.table(planned, root, result["origin_ns"], SERIES_MS),
    }
    tables |= {"flows": pl.DataFrame(measured.flow_series), "links": pl.DataFrame(measured.link_series)}
    for name, frame in tables.items():
        write_table(out / f"{name}.parquet", frame)
    warnings = _warnings(programs, result, run, measured)
    record = {
        "name": run.name,
        "seed": run.seed,
        "programs": programs,
        "virtual_s": result["programs"]["end_ns"] / NS_PER_S,
        "connections": summaries,
        "flows": measured.flows,
        "links": measured.links,
        "warnings": warnings,
        "description": run.model_dump(mode="json"),
        "system": dict(system),
        "versions": provenance.versions(),
        "sha256": dict(inputs),
    }
    write_atomically(out / "result.json", json.dumps(record, indent=1).encode())
    this = {**machine, "command": provenance.command_line(), "commit": provenance.commit()}
    write_atomically(out / "machine.json", json.dumps(this, indent=1).encode())
    return Finished(_status(programs), warnings, record["virtual_s"])


def _result(root: Path) -> ProgramsRunResult:
    return json.loads((root / "result.json").read_text())


def _remove_earlier(out: Path) -> None:
    """Remove the record of an earlier run in this output folder, then its hosts' folders.

    With the record, a folder is whole: if the process is killed from here on, it must not vouch for two runs.
    """
    record = out / "result.json"
    if record.exists():
        hosts = json.loads(record.read_text())["description"]["hosts"]
        record.unlink()
        for host in hosts:
            shutil.rmtree(out / host, ignore_errors=True)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _status(programs: Mapping[str, Mapping[str, Any]]) -> int:
    statuses = [program["status"] for program in programs.values() if not program["is_server"]]
    if None in statuses:
        return TIMEOUT
    return next((status for status in statuses if status), 0)


def _warnings(
    programs: Mapping[str, Mapping[str, Any]],
    result: ProgramsRunResult,
    run: ProgramRun,
    measured: Measurement,
) -> list[str]:
    warnings = [f"{line}: no such result" for line in result["programs"]["missing"]]
    for name, program in programs.items():
        length_s = program["stop_s"] - program["start_s"]
        if not program["is_server"] and program["status"] is None:
            warnings.append(f"{name}: not done after {run.limit_s:g} s (--limit-s): it was ended")
        if program["cpu_s"] > BUSY_SHARE * length_s > 0.1:
            warnings.append(
                f"{name}: used the processor for {program['cpu_s']:.1f} of {length_s:.1f} s: it spins, or "
                "the hosts' one processor limits it"
            )
    if measured.invalid is not None:
        warnings.append(measured.invalid)
    return warnings
