"""Run a command inside mahimahi's shells, in private namespaces.

Everything that mahimahi changes on a host (interfaces, addresses, routes, iptables rules, forwarding) changes
in a private network namespace, and the stand-in for iptables is mounted in a private mount namespace. So the
machine stays unchanged, sessions cannot reach each other, and no packet leaves the machine. All processes of
a session share one PID namespace and end with it, even if this process is killed.

The shells refuse to be started by root, so they, the command and the servers run as an ordinary user.
"""

import json
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from leogym.common.errors import InputError
from leogym.kernel_bridge.host.namespaces import PATH, folders, in_namespaces, ordinary_user
from leogym.kernel_bridge.inside.session import CommandSession
from leogym.kernel_bridge.mahimahi.shell import Link, Shell, chain
from leogym.kernel_bridge.shell import Leo, leo

_SHELLS = {"mm-link": "scripts/mahimahi.sh installs mahimahi", "iptables": "install iptables"}
_PROGRAMS = {
    "cc": "install a C compiler",
    "ip": "install iproute2",
    "unshare": "install util-linux",
    "setpriv": "install util-linux",
}


@dataclass(frozen=True)
class Server:
    """A program outside the shells that the command can reach at ``$MAHIMAHI_BASE`` and a TCP port."""

    command: Sequence[str]
    port: int
    """The command starts once the server listens on this port."""


@dataclass(frozen=True)
class Finished:
    """A session that has finished."""

    command_line: str
    """The command line, ready to be typed."""
    status: int
    """The exit status of the command inside."""
    stdout: str = field(repr=False)
    stderr: str = field(repr=False)


def missing(user: str = "mahimahi", *, shells: bool = True) -> str | None:
    """Return one line about the first thing that `run` lacks here, or None; it begins with ``user``.

    Without ``shells`` it covers only the private namespaces, for runs without mahimahi's shells.
    """
    for program, remedy in ((_SHELLS if shells else {}) | _PROGRAMS).items():
        if shutil.which(program, path=PATH) is None:
            return f"{user}: {program} is not installed: {remedy}"
    if os.geteuid() != 0:
        return f"{user}: private namespaces need root: start this as root; the command runs as another user"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return f"{user}: /dev/net/tun: this kernel or container has no TUN device"
    return None


def run(
    shells: Sequence[Shell],
    command: Sequence[str],
    *,
    servers: Sequence[Server] = (),
    environment: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
) -> Finished:
    """Run ``command`` inside ``shells`` (the first one outermost), with ``servers`` outside.

    The command runs as an ordinary user in an empty folder that is removed afterwards. `Link`'s traces are
    copied there, and its logs are copied back to the requested paths, even if the command failed.

    Args:
        shells: the chain of shells; if empty, the command runs in the private namespaces alone.
        command: program and arguments, passed without a shell.
        servers: started before the shells.
        environment: variables besides PATH, HOME and LANG; the shells add ``MAHIMAHI_BASE``.
        timeout_s: wall-clock limit, after which all processes are killed.

    Raises:
        InputError: the machine lacks something, or a trace cannot be read.
        RuntimeError: namespaces, servers or shells could not be set up, or ended before the command.
        TimeoutError: ``timeout_s`` passed.
    """
    if (lack := missing()) is not None:
        raise InputError(lack)
    with folders("mahimahi") as (root, folder):
        private, noted = root / "private", folder / "status"
        local, copies, logs = _bring_in(shells, folder)
        local, setuid = _set_uid(local, private)
        # mahimahi turns every failure into exit status 1, so the command's status goes to a file.
        line = ["/bin/sh", "-c", '"$@"; echo $? >"$0"', str(noted), *command]
        for position, shell in reversed(list(enumerate(local))):
            nested = [str(private / "forwarding")] if position else []
            line = [*nested, *shell.arguments(), *line]
        uid, gid = ordinary_user()
        session: CommandSession = {
            "private": str(private),
            "folder": str(folder),
            "uid": uid,
            "gid": gid,
            "env": {"PATH": PATH, "HOME": str(folder), "LANG": "C.UTF-8", **(environment or {})},
            "servers": [{"command": list(server.command), "port": server.port} for server in servers],
            "setuid": [str(path) for path in setuid],
            "command": line,
        }
        (root / "session.json").write_text(json.dumps(session))
        status, stdout, stderr = in_namespaces(
            "shelled_command", root / "session.json", timeout_s, "mahimahi"
        )
        for inner, outer in logs.items():
            if _is_plain_file(inner):
                shutil.copyfile(inner, outer)
        if status or not _is_plain_file(noted):
            why = "; ".join(stderr.strip().splitlines()) or f"exit status {status}"
            for copy, original in copies.items():
                why = why.replace(str(copy), str(original))
            raise RuntimeError(f"mahimahi: {why}")
        return Finished(shlex.join(chain(shells, command)), int(noted.read_text()), stdout, stderr)


def _bring_in(
    shells: Sequence[Shell], folder: Path
) -> tuple[list[Shell], dict[Path, Path], dict[Path, Path]]:
    """Copy the shells' traces into ``folder``.

    Returns:
        The shells with paths in ``folder``; each trace copy with its original; each log with its final path.
    """
    local: list[Shell] = []
    copies: dict[Path, Path] = {}
    logs: dict[Path, Path] = {}
    for position, shell in enumerate(shells):
        changed: dict[str, Path] = {}
        for name in ("uplink", "downlink") if isinstance(shell, Link) else ("trace",):
            trace: Path | None = getattr(shell, name, None)
            if trace is None:
                continue
            copy = folder / f"{position}-{name}.trace"
            try:
                shutil.copyfile(trace, copy)
            except OSError as error:
                raise InputError(f"{trace}: cannot be read: {error.strerror}") from None
            copy.chmod(0o644)
            changed[name], copies[copy] = copy, trace
        for name in ("uplink_log", "downlink_log", "log", "report"):
            requested: Path | None = getattr(shell, name, None)
            if requested is not None:
                changed[name] = log = folder / f"{position}-{name}"
                logs[log] = requested
        local.append(replace(shell, **changed))
    return local, copies, logs


def _set_uid(shells: Sequence[Shell], private: Path) -> tuple[list[Shell], list[Path]]:
    """Return the shells with mm-leo's program in ``private``, and the files to copy there."""
    if not any(isinstance(shell, Leo) for shell in shells):
        return list(shells), []
    if (path := leo.program()) is None:
        raise InputError(leo.missing() or "")
    copied = private / path.name
    return [replace(shell, program=copied) if isinstance(shell, Leo) else shell for shell in shells], [path]


def _is_plain_file(path: Path) -> bool:
    # The folder belongs to the ordinary user, who could place links to files that only root may read.
    return path.is_file() and not path.is_symlink()
