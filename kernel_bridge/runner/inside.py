"""The first process of a run's private namespaces: starts the shells, then both ends of every flow.

Runs as root with nothing but the standard library; what it starts runs as an ordinary user, the flows' ends
from their first packet on. It holds the whole run: when it ends, so does everything else in the namespaces.

A shell's command marks its level (writes it and its process to a named pipe), then starts the next level's
shells. The innermost reads standard input to its end, which comes when this process closes it.
"""

import contextlib
import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FAILED = 125
"""Exit status for a run that could not be set up."""
TOO_SLOW = 124
"""Exit status for a machine that did not come that far in time."""

LATE = 75
"""Exit status of mm-leo when it was too late, which its log tells and the caller judges."""

SETUP_S = 30.0
GRACE_S = 10.0
"""How long flows' ends and shells may take to leave."""
START_S = 0.05
"""From the last preparation to the run's start, unless the run asks for more."""

TRAFFIC = Path(__file__).parent / "traffic.c"
MARK = 'echo "$0 $$" >"$1"; shift; "$@"; status=$?; [ $status = 75 ] || exit $status'
SETTINGS = {
    # Long paths need windows of megabytes. The kernel grows them as needed, up to these.
    "tcp_rmem": "4096 131072 67108864",
    "tcp_wmem": "4096 16384 67108864",
    # What earlier flows to the same address saw is no business of the next.
    "tcp_no_metrics_save": "1",
}


def _mahimahi() -> Any:
    # The package would import what only the caller needs.
    path = Path(__file__).parents[1] / "mahimahi" / "inside.py"
    spec = importlib.util.spec_from_file_location("mahimahi_inside", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


mahimahi = _mahimahi()


class TooSlowError(RuntimeError):
    """The machine did not keep up."""


def main(kind: "type[Run] | None" = None) -> int:
    """Carry out the run, of a kind, that the JSON file of the first argument describes."""
    run = json.loads(Path(sys.argv[1]).read_text())
    try:
        told = (kind or Run)(run).carry_out()
    except TooSlowError as error:
        print(error, file=sys.stderr)
        return TOO_SLOW
    except (OSError, subprocess.CalledProcessError, RuntimeError) as error:
        detail = getattr(error, "stderr", None)
        print(f"{error}{': ' + detail.decode(errors='replace').strip() if detail else ''}", file=sys.stderr)
        return FAILED
    Path(run["result"]).write_text(json.dumps(told))
    return 0


class Run:
    """One run. ``levels[n]`` is a process inside n of the chain's links."""

    def __init__(self, run: dict[str, Any]) -> None:
        self.run = run
        self.private = Path(run["private"])
        self.traffic = self.private / "traffic"
        self.levels = [os.getpid()]

    def carry_out(self) -> dict[str, Any]:
        """Return when the run began, by two clocks, and what the flows' ends said."""
        self.prepare()
        shells = self.start_shells()
        branches = [self.start_branch(branch) for branch in self.run["branches"]]
        self.watched = shells_here()
        receivers = [self.start_end(flow, "receive") for flow in self.run["flows"]]
        senders = [self.start_end(flow, "send") for flow in self.run["flows"]]
        for end in (*receivers, *senders):
            self.expect_ready(end)
        origin_ns = self.origin_ns()
        with os.fdopen(self.run["told"], "w") as told:
            told.write(f"{origin_ns}\n")
        for end in (*receivers, *senders):
            assert end.stdin is not None
            end.stdin.write(f"{origin_ns}\n".encode())
            end.stdin.close()
        said = [self.wait(end, origin_ns) for end in (*senders, *receivers)]
        for shell in (*reversed(branches), shells):
            self.end_shell(shell)
        return {
            "origin_ns": origin_ns,
            "origin_epoch_ns": origin_ns + time.time_ns() - time.monotonic_ns(),
            "senders": said[: len(senders)],
        }

    def prepare(self) -> None:
        """Make the programs that the run needs."""
        mahimahi.prepare_network()
        mahimahi.call("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", self.private)
        mahimahi.wrap_iptables(self.private)
        mahimahi.make_forwarding(self.private)
        for program in self.run["programs"]:
            mahimahi.make_setuid(self.private, Path(program))
        mahimahi.call("cc", "-O2", "-pthread", "-o", self.traffic, TRAFFIC)
        keep_up()

    def start_shells(self) -> subprocess.Popen[bytes]:
        """Start the chain of shells; return its outermost once every level is there."""
        self.prepare_level(0)
        pipe = Path(self.run["folder"]) / "marks"
        os.mkfifo(pipe)
        os.chown(pipe, self.run["uid"], self.run["gid"])
        line, nested = ["/bin/cat"], str(self.private / "forwarding")
        for level, shells in reversed(list(enumerate(self.run["shells"], 1))):
            line = ["/bin/sh", "-c", MARK, str(level), str(pipe), *line]
            for position, shell in reversed(list(enumerate(shells))):
                line = [*([nested] if level > 1 or position else []), *shell, *line]
        marks = os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
        process = self.start_shell([*self.as_ordinary_user(), *line])
        for level in range(1, len(self.run["shells"]) + 1):
            self.levels.append(self.read_mark(marks, process, level))
            self.prepare_level(level)
        return process

    def start_branch(self, branch: dict[str, Any]) -> subprocess.Popen[bytes]:
        """Start a shell beside others, in the namespace of a level; its inside becomes one more level."""
        pipe = Path(self.run["folder"]) / f"branch-{len(self.levels)}"
        os.mkfifo(pipe)
        os.chown(pipe, self.run["uid"], self.run["gid"])
        marks = os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
        level = len(self.levels)
        line = [str(self.private / "forwarding"), *branch["shell"]]
        line += ["/bin/sh", "-c", MARK, str(level), str(pipe), "/bin/cat"]
        process = self.start_shell([*self.enter(branch["level"]), *self.as_ordinary_user(), *line])
        self.levels.append(self.read_mark(marks, process, level))
        self.prepare_level(level)
        return process

    def start_shell(self, line: list[str]) -> subprocess.Popen[bytes]:
        """Start a command line whose end comes with that of its standard input."""
        return subprocess.Popen(
            line,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=self.run["folder"],
            env=self.run["env"],
        )

    def as_ordinary_user(self) -> list[str]:
        """Return what makes a command run as the ordinary user."""
        ids = ["--reuid", str(self.run["uid"]), "--regid", str(self.run["gid"])]
        return ["setpriv", *ids, "--clear-groups"]

    def read_mark(self, marks: Any, process: subprocess.Popen[bytes], level: int) -> int:
        """Return the process that marked a level."""
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
                    raise TooSlowError(f"the shells were not there after {SETUP_S:g} s")
        finally:
            os.close(ended)
        marked, pid = map(int, line.split())
        if marked != level:
            raise RuntimeError(f"level {marked} came before level {level}")
        return pid

    def enter(self, level: int) -> list[str]:
        """Return what makes a command run in the network namespace of a level."""
        return ["nsenter", f"--net=/proc/{self.levels[level]}/ns/net", "--"]

    def prepare_level(self, level: int) -> None:
        """Give a level's namespace its own address, and the settings of its TCP."""
        script = ["ip link set lo up", f"ip address add {address(level)}/32 dev lo"]
        settings = SETTINGS | self.run["settings"]
        script += [f"echo {value} >/proc/sys/net/ipv4/{name}" for name, value in settings.items()]
        mahimahi.call(*self.enter(level), "/bin/sh", "-ec", "\n".join(script))

    def start_end(self, flow: dict[str, Any], role: str) -> subprocess.Popen[bytes]:
        """Start a flow's sender or receiver; it waits for the run's origin."""
        end = flow[role]
        there = "0.0.0.0" if role == "receive" else address(flow["receive"]["level"])
        line = [*self.enter(end["level"]), self.traffic, role, flow["protocol"], there, flow["port"]]
        line += [
            end["scheme"],
            end["log"],
            self.run["uid"],
            self.run["gid"],
            flow["start_ns"],
            flow["stop_ns"],
        ]
        if role == "send":
            line += [flow["rate_bps"], flow["periods"] if flow["protocol"] == "udp" else flow["bytes"]]
        return subprocess.Popen(
            [str(part) for part in line],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **self.environment(flow, role)},
        )

    def environment(self, flow: dict[str, Any], role: str) -> dict[str, str]:
        """Return what a flow's end finds in its environment beside what this process did."""
        del flow, role
        return {}

    def expect_ready(self, end: subprocess.Popen[bytes]) -> None:
        """Return once a flow's end is ready."""
        assert end.stdout is not None
        if end.stdout.readline() != b"ready\n":
            _, stderr = end.communicate()
            raise RuntimeError(stderr.decode(errors="replace").strip() or "a flow's end did not start")

    def origin_ns(self) -> int:
        """Return the run's start, on the monotonic clock: soon, or when the links' traces get there."""
        soon = time.monotonic_ns() + round(self.run.get("start_s", START_S) * 1e9)
        begins = [wait_until_begun(Path(log)) for log in self.run["aligned"]]
        if not begins:
            return soon
        origin = max(begins) + self.run["lead_ns"]
        if origin < soon:
            raise TooSlowError(f"preparing the flows took {(soon - origin) / 1e9:.1f} s more than there were")
        return origin

    def wait(self, end: subprocess.Popen[bytes], origin_ns: int) -> str:
        """Return what a flow's end said on standard error once it is done."""
        limit_s = (origin_ns + self.run["duration_ns"] - time.monotonic_ns()) / 1e9 + GRACE_S
        ended = os.pidfd_open(end.pid)
        ready, _, _ = select.select([ended, *self.watched], [], [], max(0, limit_s))
        os.close(ended)
        # One shell takes others along, in either direction; which was first is known only to who is quick.
        if gone := sorted({self.watched[shell] for shell in self.watched if shell in ready}):
            raise RuntimeError(f"{', '.join(gone)}: killed, or ended before the run did")
        if not ready:
            raise TooSlowError(f"a flow's end did not stop within {GRACE_S:g} s")
        end.stdin = None
        _, stderr = end.communicate()
        said = stderr.decode(errors="replace").strip()
        if end.returncode:
            raise RuntimeError(said or f"a flow's end {left(end.returncode)}")
        return said

    def end_shell(self, shell: subprocess.Popen[bytes]) -> None:
        """End a shell by ending its command."""
        try:
            _, stderr = shell.communicate(timeout=GRACE_S)
        except subprocess.TimeoutExpired:
            raise TooSlowError(f"a shell did not stop within {GRACE_S:g} s") from None
        if shell.returncode not in (0, LATE):
            why = "; ".join(stderr.decode(errors="replace").strip().splitlines())
            raise RuntimeError(f"a shell failed: {why or f'it {left(shell.returncode)}'}")


def shells_here() -> dict[int, str]:
    """Return a descriptor of every shell's process in this PID namespace, with its name."""
    found = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (name := (entry / "comm").read_text().strip()).startswith("mm-"):
                found[os.pidfd_open(int(entry.name))] = name
    return found


def left(status: int) -> str:
    """Say how a process ended."""
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"left with exit status {status}"


def keep_up() -> None:
    """Let this process, and what it starts from now on, go before whatever else the machine does.

    Shells and flows sleep most of the time; on a busy machine they would be late instead.
    """
    with contextlib.suppress(PermissionError):  # in a container that may not
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def address(level: int) -> str:
    """Return a level's own address: of RFC 2544's block for tests of networks, which no shell hands out."""
    return f"198.18.{level // 250}.{level % 250 + 1}"


def wait_until_begun(log: Path) -> int:
    """Return when the trace of mm-link or mm-leo began, once its log tells.

    mm-link's two directions are processes of their own, which may begin after the command inside.

    Raises:
        TooSlowError: it does not tell.
    """
    pause = select.poll()  # nothing tells of a line in a file: look again every 10 ms
    for _ in range(round(SETUP_S / 0.01)):
        if (found := began_ns(log)) is not None:
            return found
        pause.poll(10)
    raise TooSlowError(f"a shell had not begun after {SETUP_S:g} s")


def began_ns(log: Path) -> int | None:
    """Return when the trace of mm-link or mm-leo began, on the monotonic clock, from its log's header.

    None: it is not there yet.
    """
    try:
        text = log.read_text(errors="replace")
    except FileNotFoundError:
        return None
    found = {}
    for line in text.splitlines(keepends=True):
        if not line.startswith("#") or not line.endswith("\n"):
            break
        if line.startswith("# {"):
            return json.loads(line.removeprefix("# "))["began_monotonic_ns"]
        name, _, value = line.removeprefix("# ").partition(": ")
        if name in ("init timestamp", "base timestamp"):
            found[name] = int(value)
    if len(found) < 2:
        return None
    return sum(found.values()) * 1_000_000 + time.monotonic_ns() - time.time_ns()


if __name__ == "__main__":
    raise SystemExit(main())
