"""A run inside the guest: `kernel_bridge.inside.scenario` with what the image brings.

Where no link varies, Linux's own queueing disciplines take the place of shells.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_bridge.inside import preparation, scenario
from kernel_bridge.inside.guest_boot import PROGRESS_FD
from kernel_bridge.inside.session import Branch, GuestResult, GuestSession, Role, ServedSession, SessionFlow
from kernel_bridge.inside.wires import Wires, namespace

if TYPE_CHECKING:
    from kernel_bridge.inside.guest_bridge import Daemon

_CUBIC = Path("/sys/module/tcp_cubic/parameters")
_TOLD_EVERY_S = 1.0


def _daemon(served: ServedSession) -> Daemon:
    # Importing its client takes an emulated processor long, and most runs have no daemon.
    from kernel_bridge.inside.guest_bridge import Daemon

    return Daemon(served)


class GuestRun(scenario.Run):
    """A run in the guest, behind shells."""

    def __init__(self, session: GuestSession) -> None:
        # Nobody but the host waits for the start, and it is told otherwise.
        self.guest = session.copy()
        self.guest["told"] = os.open("/dev/null", os.O_WRONLY)
        super().__init__(self.guest)
        served = session["served"]
        self.daemon = _daemon(served) if served is not None else None

    def carry_out(self) -> GuestResult:
        """Return what the run found, and what leo-bridge says of it."""
        found = super().carry_out()
        return {**found, "served": self.daemon.status() if self.daemon is not None else None}

    def prepare(self) -> None:
        """Take the programs from the image; the machine is the run's own."""
        preparation.prepare_network()
        self.traffic = Path("/bin/traffic")
        self.private.mkdir(parents=True, exist_ok=True)
        shutil.copy("/bin/forwarding", self.private / "forwarding")
        (self.private / "forwarding").chmod(0o4755)
        for program in self.session["programs"]:
            preparation.make_setuid(self.private, Path("/bin") / Path(program).name)
        for name, value in self.guest["tcp_cubic"].items():
            (_CUBIC / name).write_text(str(value))
        if self.daemon is not None:
            self.daemon.start()

    def origin_ns(self) -> int:
        """Return the run's start; from then on tell how far it is."""
        origin = super().origin_ns()
        if self.daemon is not None:
            self.daemon.announce(origin)
        threading.Thread(target=_tell, args=(origin, self.session["duration_ns"]), daemon=True).start()
        return origin


class WiredRun(GuestRun):
    """A run whose links are Linux's.

    Args:
        session: the run.
        queue_logs: files for the counters of each link's queueing disciplines.
    """

    def __init__(self, session: GuestSession, queue_logs: list[str]) -> None:
        super().__init__(session)
        self.queue_logs = queue_logs
        self.wires = Wires(scenario.address)

    def start_shells(self) -> subprocess.Popen[bytes]:
        """Make the links, and start what logs them."""
        self.wires.begin()
        self.prepare_level(0)
        for level, [[_, wire]] in enumerate(self.session["shells"]):
            self.prepare_level(self.wires.add_level(level, json.loads(wire)))
        logged = []
        for queue, log in zip(self.wires.logged, self.queue_logs, strict=True):
            logged += [*queue, log]
        return self.start_shell(["/bin/queue_log", *logged])

    def start_branch(self, branch: Branch) -> subprocess.Popen[bytes]:
        """Make a link beside others."""
        _, wire = branch["shell"]
        self.prepare_level(self.wires.add_level(branch["level"], json.loads(wire)))
        return self.start_shell(["/bin/busybox", "cat"])

    def enter(self, level: int) -> list[str]:
        """Return what makes a command run in the network namespace of a level."""
        return ["nsenter", f"--net={namespace(self.wires.levels[level].name)}", "--"]

    def environment(self, flow: SessionFlow, role: Role) -> dict[str, str]:
        """Let the end that wakes most often keep the processor awake."""
        return {"AWAKE": "1"} if role == "receive" and flow is self.session["flows"][0] else {}

    def prepare_level(self, level: int) -> None:
        """Give a level's namespace the settings of its TCP, and make it forward."""
        settings = scenario.SETTINGS | self.session["settings"] | {"ip_forward": "1"}
        script = [f"echo {value} >/proc/sys/net/ipv4/{name}" for name, value in settings.items()]
        preparation.call(*self.enter(level), "/bin/sh", "-ec", "\n".join(script))


def _tell(origin_ns: int, duration_ns: int) -> None:
    """Tell the host each second how far the run is."""
    told = 0.0
    with os.fdopen(int(os.environ[PROGRESS_FD]), "wb", buffering=0, closefd=False) as progress:
        while told < duration_ns / 1e9:
            time.sleep(max(0.0, origin_ns / 1e9 + told - time.monotonic()))
            line = {"event": "running", "run_s": told, "duration_s": duration_ns / 1e9}
            progress.write(json.dumps(line).encode() + b"\n")
            told += _TOLD_EVERY_S


def run(session: GuestSession) -> GuestRun:
    """Return a session's run: behind Linux's own links where it names logs for them, else behind shells."""
    logs = session["queue_logs"]
    return WiredRun(session, logs) if logs is not None else GuestRun(session)


if __name__ == "__main__":
    raise SystemExit(scenario.main(run))
