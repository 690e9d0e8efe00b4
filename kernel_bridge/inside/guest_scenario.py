"""A run inside the guest: `kernel_bridge.inside.scenario` with the image's programs.

If no link varies, Linux's own queueing disciplines replace the shells.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

from leogym.kernel_bridge.inside import preparation, scenario
from leogym.kernel_bridge.inside.guest_boot import PROGRESS_FD
from leogym.kernel_bridge.inside.guest_bridge import Daemon
from leogym.kernel_bridge.inside.session import (
    MARKS,
    Branch,
    GuestResult,
    GuestSession,
    Role,
    SessionFlow,
)
from leogym.kernel_bridge.inside.wires import Wires, namespace

_CUBIC = Path("/sys/module/tcp_cubic/parameters")
_PROGRESS_INTERVAL_S = 1.0


class GuestRun(scenario.Run):
    """A run in the guest, behind shells."""

    def __init__(self, session: GuestSession) -> None:
        # Only the host waits for the start, and it reads progress messages.
        self.guest = session.copy()
        self.guest["start_descriptor"] = os.open("/dev/null", os.O_WRONLY)
        super().__init__(self.guest)
        served = session["served"]
        self.daemon = Daemon(served) if served is not None else None

    def carry_out(self) -> GuestResult:
        """Return the run's result with leo-bridge's."""
        result = super().carry_out()
        kernel_log = subprocess.run(["/applets/dmesg"], check=True, stdout=subprocess.PIPE).stdout
        (Path(self.session["folder"]).parent / "logs/kernel").write_bytes(kernel_log)
        return {**result, "served": self.daemon.status() if self.daemon is not None else None}

    def prepare(self) -> None:
        """Use the programs of the image; the guest needs no private mounts or priority."""
        preparation.prepare_network()
        self.traffic = Path("/bin/traffic")
        self.app = self.app and f"/bin/{Path(self.app).name}"
        self.private.mkdir(parents=True, exist_ok=True)
        shutil.copy("/bin/forwarding", self.private / "forwarding")
        (self.private / "forwarding").chmod(0o4755)
        for program in self.session["programs"]:
            preparation.make_setuid(self.private, Path("/bin") / Path(program).name)
        for name, value in self.guest["tcp_cubic"].items():
            (_CUBIC / name).write_text(str(value))
        for module in self.guest["modules"]:
            preparation.call("/applets/insmod", module["file"], *module["parameters"])
        if self.daemon is not None:
            self.daemon.start()

    def origin_ns(self) -> int:
        """Return the run's start, and report progress from then on."""
        origin = super().origin_ns()
        if self.daemon is not None:
            self.daemon.announce(origin)
        threading.Thread(
            target=_report_progress, args=(origin, self.session["duration_ns"]), daemon=True
        ).start()
        return origin

    def environment(self, flow: SessionFlow, role: Role) -> dict[str, str]:
        """Let the first flow's receiver, which wakes most often, keep the processor awake."""
        return {"AWAKE": "1"} if role == "receive" and flow is self.session["flows"][0] else {}


class WiredRun(GuestRun):
    """A run over Linux's queueing disciplines; ``queue_logs`` are files for the counters of each link."""

    def __init__(self, session: GuestSession, queue_logs: list[str]) -> None:
        super().__init__(session)
        self.queue_logs = queue_logs
        self.wires = Wires(scenario.address)

    def start_shells(self) -> subprocess.Popen[bytes]:
        """Make the links and start their logger."""
        self.wires.begin()
        self.prepare_level(0)
        for level, [[_, wire]] in enumerate(self.session["shells"]):
            self.prepare_level(self.wires.add_level(level, json.loads(wire)))
        logged = []
        for queue, log in zip(self.wires.logged, self.queue_logs, strict=True):
            logged += [*queue, log]
        return self.start_shell(["/bin/queue_log", *logged])

    def carry_out(self) -> GuestResult:
        """Return the run's result; write each queue's number of marked packets next to its log."""
        result = super().carry_out()
        for place, (outside, inside) in self.wires.queued.items():
            # Data with CE that came out of the link, without those that came to it.
            marked = self.marked_packets(outside) - self.marked_packets(inside)
            Path(self.queue_logs[place]).with_suffix(MARKS).write_text(str(marked))
        return result

    def marked_packets(self, level: int) -> int:
        """Return the number of packets with CE that a level has received."""
        command = [*self.enter(level), "/bin/busybox", "cat", "/proc/net/netstat"]
        counters = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        names, counts = (line.split() for line in counters.splitlines() if line.startswith("IpExt:"))
        return int(counts[names.index("InCEPkts")])

    def start_branch(self, branch: Branch) -> subprocess.Popen[bytes]:
        """Make a branch's link."""
        _, wire = branch["shell"]
        self.prepare_level(self.wires.add_level(branch["level"], json.loads(wire)))
        return self.start_shell(["/bin/busybox", "cat"])

    def network(self, level: int) -> str:
        """Return the file of a level's network namespace."""
        return namespace(self.wires.levels[level].name)

    def prepare_level(self, level: int) -> None:
        """Set a level's TCP settings and turn on forwarding."""
        settings = scenario.SETTINGS | self.session["settings"] | {"ip_forward": "1"}
        script = [f"echo {value} >/proc/sys/net/ipv4/{name}" for name, value in settings.items()]
        preparation.call(*self.enter(level), "/bin/sh", "-ec", "\n".join(script))


def _report_progress(origin_ns: int, duration_ns: int) -> None:
    run_s = 0.0
    with os.fdopen(int(os.environ[PROGRESS_FD]), "wb", buffering=0, closefd=False) as progress:
        while run_s < duration_ns / 1e9:
            time.sleep(max(0.0, origin_ns / 1e9 + run_s - time.monotonic()))
            line = {"event": "running", "run_s": run_s, "duration_s": duration_ns / 1e9}
            progress.write(json.dumps(line).encode() + b"\n")
            run_s += _PROGRESS_INTERVAL_S


def run(session: GuestSession) -> GuestRun:
    """Return a session's run: on Linux's own links if the session names logs for them, else behind shells."""
    logs = session["queue_logs"]
    return WiredRun(session, logs) if logs is not None else GuestRun(session)


def main() -> int:
    """Carry out the session in the JSON file of the first argument; return the exit status."""
    return scenario.main(run)
