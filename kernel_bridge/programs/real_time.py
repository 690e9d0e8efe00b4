"""Run programs on this machine's TCP, behind mm-leo in private namespaces, in real time.

Programs see this machine's files, as an ordinary user, and a working folder per host.
"""

import os
import platform
import shutil
import time
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from leogym.common.errors import InputError
from leogym.configs.program_run import START, Host, ProgramRun
from leogym.kernel_bridge.host.namespaces import ordinary_user
from leogym.kernel_bridge.host.schemes import available
from leogym.kernel_bridge.inside.session import HostSession, ProgramsRunSession
from leogym.kernel_bridge.programs import outcome
from leogym.kernel_bridge.programs.binaries import find_program
from leogym.kernel_bridge.programs.session import FOLDERS, plan, session
from leogym.kernel_bridge.runner import run as runner
from leogym.kernel_bridge.runner.leo_links import LeoLinks
from leogym.kernel_bridge.runner.link_shells import LinkShells
from leogym.kernel_bridge.runner.plan import Plan
from leogym.kernel_bridge.runner.run_folder import FIRST_PORT
from leogym.kernel_bridge.runner.served_flows import runnable_schemes

LEAD_S = 3.0


class Run(runner.Run):
    """A run of programs in real time."""

    program = "programs"

    def __init__(
        self,
        described: ProgramRun,
        folder: Path,
        planned: Plan,
        backend: LeoLinks,
        policies: Mapping[str, Path],
    ) -> None:
        super().__init__(planned, backend, policies)
        self._described, self._folder, self._links = described, folder, backend
        self.commands: dict[str, list[str]] = {}

    def describe(self, work: Path, start_descriptor: int) -> tuple[ProgramsRunSession, list[LinkShells]]:
        """Return the session and the links' shells; make the hosts' working folders."""
        run = self._described
        for name in FOLDERS:
            (self._root / name).mkdir()
        hosts: list[HostSession] = []
        for level, name in enumerate(run.ordered_hosts()):
            home = work / name
            home.mkdir()
            self.commands |= _fill(run.hosts[name], home, self._folder, f"{run.name}: hosts.{name}")
            for path in (home, *home.rglob("*")):
                os.chown(path, *ordinary_user())
            results = run.hosts[name].results
            hosts.append({"name": name, "level": level, "root": "/", "folder": str(home), "results": results})
        return session(
            run,
            self.plan,
            self._links,
            self.served.scheme,
            self._root,
            work,
            hosts,
            self.commands,
            start_descriptor,
            tls="/" if run.tls else None,
        )

    def write(self, out: Path, hashes: Mapping[str, str]) -> outcome.Finished:
        """Wait for the run's end, and write its output."""
        began = time.monotonic()
        self.wait()
        measured = outcome.measure(
            self.plan,
            self._links,
            self._shells,
            self._root,
            self.served.fault,
            lambda: self.served.fallbacks(FIRST_PORT),
        )
        machine = {"wall_s": time.monotonic() - began}
        system = {"kernel": platform.release()}
        return outcome.write(
            self._described, self.plan, self._root, out, measured, self.commands, system, hashes, machine
        )


def execute(
    run: ProgramRun,
    folder: Path,
    traces: Mapping[str, bytes],
    out: Path,
    policies: Mapping[str, Path] | None = None,
) -> outcome.Finished:
    """Run programs in real time, and write their output into ``out``; arguments as in the lab.

    Raises:
        InputError: the machine lacks something, or the backend cannot express the run.
        RuntimeError: a server was not ready, or a part of the run failed.
    """
    backend, policies = LeoLinks(both_ways=True), policies or {}
    if (lack := backend.missing()) is not None:
        raise InputError(lack)
    if run.unix_time != START:
        raise InputError(
            f"{run.name}: --backend {backend.name}: unix_time: programs see this machine's clock"
        )
    schemes = runnable_schemes(available(), policies, agents=False)
    planned = plan(run, traces, backend, schemes, LEAD_S)
    with Run(run, folder, planned, backend, policies) as running:
        return running.write(out, outcome.hashes(traces))


def _fill(host: Host, home: Path, folder: Path, place: str) -> dict[str, list[str]]:
    """Copy a host's files to its working folder; return its commands."""
    if host.root is not None:
        raise InputError(f"{place}.root: only the lab's hosts have a root folder")
    commands = {}
    for name, program in host.programs.items():
        where = f"{place}.programs.{name}.command"
        commands[name] = [str(find_program(program.command[0], folder, where)[0]), *program.command[1:]]
        for word in program.command[1:]:
            if (folder / word).is_file() and _is_below(word):
                _copy(folder / word, home / word)
    for target, source in host.files.items():
        if not _is_below(target):
            raise InputError(
                f"{place}.files.{target}: must be below the working folder, because files are not private"
            )
        if not (folder / source).exists():
            raise InputError(f"{place}.files: {source}: no such file or folder")
        _copy(folder / source, home / target)
    return commands


def _is_below(path: str) -> bool:
    return not path.startswith("/") and ".." not in PurePosixPath(path).parts


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copy(source, target)
