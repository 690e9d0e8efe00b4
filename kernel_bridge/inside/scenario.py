"""The first process of a run's private namespaces: start the shells, then both ends of every flow.

It runs as root, its children as an ordinary user (flows' ends from their first packet on). When it ends,
everything else in the namespaces ends.

A shell's command marks its level (writes level and process id to a named pipe), then starts the next level's
shells. The innermost command reads standard input until this process closes it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from leogym.kernel_bridge.inside import preparation
from leogym.kernel_bridge.inside.ending import (
    EXIT_FAILED,
    EXIT_LATE,
    EXIT_TOO_SLOW,
    GRACE_S,
    SETUP_S,
    TooSlowError,
    describe_exit,
    explain_error,
)
from leogym.kernel_bridge.inside.routes import Routes
from leogym.kernel_bridge.inside.session import Branch, Role, RunResult, RunSession, SessionFlow
from leogym.kernel_bridge.inside.shell_logs import wait_for_begin

GRID_NS = 100_000_000
START_S = 0.05  # time from the last preparation to the run's start, unless the run asks for more

MARK = 'echo "$0 $$" >"$1"; shift; "$@"; status=$?; [ $status = 75 ] || exit $status'
SETTINGS = {
    # Long paths need windows of megabytes. The kernel grows buffers as needed, up to these limits.
    "tcp_rmem": "4096 131072 67108864",
    "tcp_wmem": "4096 16384 67108864",
    # Flows must not inherit metrics of earlier flows to the same address.
    "tcp_no_metrics_save": "1",
}


def main(make: Callable[[Any], Run] | None = None) -> int:
    """Carry out the session in the JSON file of the first argument; ``make`` makes its run (a `Run`)."""
    session = json.loads(Path(sys.argv[1]).read_text())
    try:
        result = (make or Run)(session).carry_out()
    except TooSlowError as error:
        print(error, file=sys.stderr)
        return EXIT_TOO_SLOW
    except (OSError, subprocess.CalledProcessError, RuntimeError) as error:
        print(explain_error(error), file=sys.stderr)
        return EXIT_FAILED
    Path(session["result"]).write_text(json.dumps(result))
    return 0


class Run:
    """One run. ``levels[n]`` is a process inside the chain's n outermost links."""

    def __init__(self, session: RunSession) -> None:
        self.session = session
        self.private = Path(session["private"])
        self.traffic = self.private / "traffic"
        self.app = session["app"]
        self.levels = [os.getpid()]
        self.routes = Routes(self.levels[0])

    def carry_out(self) -> RunResult:
        """Carry out the run and return its result."""
        self.prepare()
        shells = self.start_shells()
        branches = [self.start_branch(branch) for branch in self.session["branches"]]
        self.watched = find_shells()
        plain = [flow for flow in self.session["flows"] if flow["workload"] is None]
        receivers = [self.start_end(flow, "receive") for flow in plain]
        senders = [
            self.start_end(flow, "send") if flow["workload"] is None else self.start_workload(place)
            for place, flow in enumerate(self.session["flows"])
            if flow["workload"] is None or flow["workload"]["connections"]
        ]
        for end in (*receivers, *senders):
            self.expect_ready(end)
        self.start_servers()
        origin_ns = self.origin_ns()
        with os.fdopen(self.session["start_descriptor"], "w") as pipe:
            pipe.write(f"{origin_ns}\n")
        for end in (*receivers, *senders):
            assert end.stdin is not None
            end.stdin.write(f"{origin_ns}\n".encode())
            end.stdin.close()
        if not self.run_clients(origin_ns):
            for end in (*senders, *receivers):
                os.kill(end.pid, signal.SIGTERM)  # Popen.terminate would collect one that has ended
        stderrs = [self.wait(end, origin_ns) for end in (*senders, *receivers)]
        for shell in (*reversed(branches), shells):
            self.end_shell(shell)
        return {
            "origin_ns": origin_ns,
            "origin_epoch_ns": origin_ns + time.time_ns() - time.monotonic_ns(),
            "senders": stderrs[: len(senders)],
        }

    def prepare(self) -> None:
        """Set up the network and the run's programs."""
        preparation.prepare_network()
        preparation.mount_private(self.private)
        if self.session["iptables"]:
            preparation.wrap_iptables(self.private)
        preparation.make_forwarding(self.private)
        for program in self.session["programs"]:
            preparation.make_setuid(self.private, Path(program))
        preparation.call("cc", "-O2", "-pthread", "-o", self.traffic, preparation.SOURCES / "traffic.c")
        raise_priority()

    def start_servers(self) -> None:
        """Start programs that must be ready at the run's start; only runs with programs have any."""

    def run_clients(self, origin_ns: int) -> bool:
        """Run programs; return whether the flows continue until their planned stops."""
        del origin_ns
        return True

    def start_shells(self) -> subprocess.Popen[bytes]:
        """Start the chain of shells; return the outermost once every level has started."""
        self.prepare_level(0)
        pipe, marks = self.make_marks("marks")
        line, nested = ["/bin/cat"], str(self.private / "forwarding")
        for level, shells in reversed(list(enumerate(self.session["shells"], 1))):
            for position, shell in reversed(list(enumerate(shells))):
                line = ["/bin/sh", "-c", MARK, str(level), str(pipe), *line]
                line = [*([nested] if level > 1 or position else []), *shell, *line]
        process = self.start_shell([*self.as_ordinary_user(), *line])
        for level, shells in enumerate(self.session["shells"], 1):
            pids = [self.read_mark(marks, process, level) for _ in shells]
            self.levels.append(pids[-1])
            self.prepare_level(level)
            self.add_routes(level, level - 1, pids)
        return process

    def start_branch(self, branch: Branch) -> subprocess.Popen[bytes]:
        """Start a shell in the namespace of a level; its inside becomes another level."""
        level = len(self.levels)
        pipe, marks = self.make_marks(f"branch-{level}")
        line = [str(self.private / "forwarding"), *branch["shell"]]
        line += ["/bin/sh", "-c", MARK, str(level), str(pipe), "/bin/cat"]
        process = self.start_shell([*self.enter(branch["level"]), *self.as_ordinary_user(), *line])
        self.levels.append(self.read_mark(marks, process, level))
        self.prepare_level(level)
        self.add_routes(level, branch["level"], self.levels[-1:])
        return process

    def add_routes(self, level: int, outside: int, pids: Sequence[int]) -> None:
        """Add routes to a new level, if flows begin outside it; ``pids`` are inside the shells between."""
        if self.app:
            self.routes.add_level(outside, pids, address(level))

    def make_marks(self, name: str) -> tuple[Path, IO[bytes]]:
        """Make a named pipe in which commands of the ordinary user mark their levels, and open it."""
        pipe = Path(self.session["folder"]) / name
        os.mkfifo(pipe)
        os.chown(pipe, self.session["uid"], self.session["gid"])
        return pipe, os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)

    def start_shell(self, line: list[str], stdout: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        """Start a command line that ends when its standard input ends."""
        return subprocess.Popen(
            line,
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=subprocess.PIPE,
            cwd=self.session["folder"],
            env=self.session["env"],
        )

    def as_ordinary_user(self) -> list[str]:
        """Return the prefix that runs a command as the ordinary user."""
        ids = ["--reuid", str(self.session["uid"]), "--regid", str(self.session["gid"])]
        return ["setpriv", *ids, "--clear-groups"]

    def read_mark(self, marks: IO[bytes], process: subprocess.Popen[bytes], level: int) -> int:
        """Return the id of the process that marked a level."""
        ended = os.pidfd_open(process.pid)
        line = b""
        try:
            while not line.endswith(b"\n"):
                ready, _, _ = select.select([marks, ended], [], [], SETUP_S)
                if marks in ready and (more := marks.read(1)):
                    line += more
                elif ended in ready:
                    _, stderr = process.communicate()
                    why = "; ".join(stderr.decode(errors="replace").strip().splitlines())
                    raise RuntimeError(f"a shell ended before its command: {why}")
                elif not ready:
                    raise TooSlowError(f"the shells did not start within {SETUP_S:g} s")
        finally:
            os.close(ended)
        marked, pid = map(int, line.split())
        if marked != level:
            raise RuntimeError(f"level {marked} came before level {level}")
        return pid

    def network(self, level: int) -> str:
        """Return the file of a level's network namespace."""
        return f"/proc/{self.levels[level]}/ns/net"

    def enter(self, level: int) -> list[str]:
        """Return the prefix that runs a command in a level's network namespace."""
        return ["nsenter", f"--net={self.network(level)}", "--"]

    def prepare_level(self, level: int) -> None:
        """Set a level's address and TCP settings."""
        script = ["ip link set lo up", f"ip address add {address(level)}/32 dev lo"]
        settings = SETTINGS | self.session["settings"]
        script += [f"echo {value} >/proc/sys/net/ipv4/{name}" for name, value in settings.items()]
        preparation.call(*self.enter(level), "/bin/sh", "-ec", "\n".join(script))

    def start_end(self, flow: SessionFlow, role: Role) -> subprocess.Popen[bytes]:
        """Start a flow's sender or receiver; it waits for the run's origin."""
        end = flow[role]
        there = "0.0.0.0" if role == "receive" else address(flow["receive"]["level"])
        line = [*self.enter(end["level"]), str(self.traffic), role, flow["protocol"], there]
        line += [str(flow["port"]), end["scheme"], end["log"]]
        line += [str(self.session["uid"]), str(self.session["gid"])]
        line += [str(flow["start_ns"]), str(flow["stop_ns"])]
        if role == "send":
            line += [str(flow["rate_bps"]), flow["periods"] or str(flow["bytes"])]
        return self.start_process(line, self.environment(flow, role))

    def start_workload(self, place: int) -> subprocess.Popen[bytes]:
        """Start the program of the workload whose first flow is at ``place``; it waits for the origin."""
        flow = self.session["flows"][place]
        workload = flow["workload"]
        assert workload is not None
        connections = self.session["flows"][place : place + workload["connections"]]

        def end(role: Role) -> dict[str, Any]:
            level = flow[role]["level"]
            return {
                "network": self.network(level),
                "address": address(level),
                "scheme": flow[role]["scheme"],
                "logs": [connection[role]["log"] for connection in connections],
            }

        described = {
            "workload": json.loads(workload["spec"]),
            **{name: flow[name] for name in ("port", "start_ns", "stop_ns")},
            **{name: self.session[name] for name in ("uid", "gid")},
            "send": end("send"),
            "receive": end("receive"),
        }
        return self.start_process([self.app, json.dumps(described)], self.environment(flow, "receive"))

    def start_process(self, line: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        """Start a command line whose standard streams are pipes."""
        return subprocess.Popen(
            line,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment},
        )

    def environment(self, flow: SessionFlow, role: Role) -> dict[str, str]:
        """Return environment variables for a flow's end in addition to those of this process."""
        del flow, role
        return {}

    def expect_ready(self, end: subprocess.Popen[bytes]) -> None:
        """Return once a flow's end is ready."""
        assert end.stdout is not None
        if end.stdout.readline() != b"ready\n":
            _, stderr = end.communicate()
            raise RuntimeError(stderr.decode(errors="replace").strip() or "a flow's end did not start")

    def origin_ns(self) -> int:
        """Return the run's start on the monotonic clock: ``lead_ns`` into the aligned traces, else soon."""
        # On a grid, so that the time that preparations take does not shift the run against periodic timers.
        soon = time.monotonic_ns() + round(self.session["start_s"] * 1e9)
        soon = -(-soon // GRID_NS) * GRID_NS
        begins = [wait_for_begin(Path(log)) for log in self.session["aligned"]]
        if not begins:
            return soon
        origin = max(begins) + self.session["lead_ns"]
        if origin < soon:
            raise TooSlowError(f"preparing the flows took {(soon - origin) / 1e9:.1f} s too long")
        return origin

    def wait(self, end: subprocess.Popen[bytes], origin_ns: int) -> str:
        """Wait for a flow's end and return its standard error."""
        limit_s = (origin_ns + self.session["duration_ns"] - time.monotonic_ns()) / 1e9 + GRACE_S
        ended = os.pidfd_open(end.pid)
        ready, _, _ = select.select([ended, *self.watched], [], [], max(0, limit_s))
        os.close(ended)
        # A shell that ends also ends its neighbours, so several may have ended by now.
        if ended_shells := sorted({self.watched[shell] for shell in self.watched if shell in ready}):
            raise RuntimeError(f"{', '.join(ended_shells)}: killed, or ended before the run did")
        if not ready:
            raise TooSlowError(f"a flow's end did not stop within {GRACE_S:g} s")
        end.stdin = None
        _, stderr = end.communicate()
        message = stderr.decode(errors="replace").strip()
        if end.returncode:
            raise RuntimeError(message or f"a flow's end {describe_exit(end.returncode)}")
        return message

    def end_shell(self, shell: subprocess.Popen[bytes]) -> None:
        """End a shell by ending its command."""
        try:
            _, stderr = shell.communicate(timeout=GRACE_S)
        except subprocess.TimeoutExpired:
            raise TooSlowError(f"a shell did not stop within {GRACE_S:g} s") from None
        if shell.returncode not in (0, EXIT_LATE):
            why = "; ".join(stderr.decode(errors="replace").strip().splitlines())
            raise RuntimeError(f"a shell failed: {why or f'it {describe_exit(shell.returncode)}'}")


def find_shells() -> dict[int, str]:
    """Return the names of all shells in this PID namespace, by a descriptor of their process."""
    names = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (name := (entry / "comm").read_text().strip()).startswith("mm-"):
                names[os.pidfd_open(int(entry.name))] = name
    return names


def raise_priority() -> None:
    """Take real-time priority, which children inherit, so that shells and flows wake on time."""
    with contextlib.suppress(PermissionError):  # in an unprivileged container
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def address(level: int) -> str:
    """Return a level's address, in RFC 2544's block for network tests, which no shell uses."""
    return f"198.18.{level // 250}.{level % 250 + 1}"


if __name__ == "__main__":
    raise SystemExit(main())
