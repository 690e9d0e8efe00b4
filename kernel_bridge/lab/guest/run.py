"""A run inside the guest: `kernel_bridge.runner.inside` with what the image brings.

Where no link varies, Linux's own queueing disciplines take the place of shells. Standard library only, run by
file: the image has no package.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

PROGRESS_FD = "LEOGYM_PROGRESS_FD"
_HERE = Path(__file__).parent
_PROJECT = _HERE.parents[2]
_CUBIC = Path("/sys/module/tcp_cubic/parameters")
_TOLD_EVERY_S = 1.0


def _load(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


inside = _load("run_inside", _HERE.parents[1] / "run" / "inside.py")
wires = _load("lab_wires", _HERE / "wires.py")


def _daemon(described: dict[str, Any]) -> Any:
    """Return leo-bridge as a session describes it: of the project, the image has the packages it needs."""
    sys.path.insert(0, str(_PROJECT))
    return _load("lab_served", _HERE / "served.py").Daemon(described)


class GuestRun(inside.Run):
    """A run in the guest, behind shells."""

    def __init__(self, run: dict[str, Any]) -> None:
        # Nobody but the host waits for the start, and it is told otherwise.
        super().__init__(run | {"told": os.open("/dev/null", os.O_WRONLY)})
        self.daemon = _daemon(run["served"]) if run["served"] is not None else None

    def carry_out(self) -> dict[str, Any]:
        """Return what the run found, and what leo-bridge says of it."""
        found = super().carry_out()
        return found | {"served": self.daemon.status() if self.daemon is not None else None}

    def prepare(self) -> None:
        """Take the programs from the image; the machine is the run's own."""
        inside.mahimahi.prepare_network()
        self.traffic = Path("/bin/traffic")
        self.private.mkdir(parents=True, exist_ok=True)
        shutil.copy("/bin/forwarding", self.private / "forwarding")
        (self.private / "forwarding").chmod(0o4755)
        for program in self.run["programs"]:
            inside.mahimahi.make_setuid(self.private, Path("/bin") / Path(program).name)
        for name, value in self.run["tcp_cubic"].items():
            (_CUBIC / name).write_text(str(value))
        if self.daemon is not None:
            self.daemon.start()

    def origin_ns(self) -> int:
        """Return the run's start; from then on tell how far it is."""
        origin = super().origin_ns()
        if self.daemon is not None:
            self.daemon.announce(origin)
        threading.Thread(target=_tell, args=(origin, self.run["duration_ns"]), daemon=True).start()
        return origin


class WiredRun(GuestRun):
    """A run whose links are Linux's."""

    def __init__(self, run: dict[str, Any]) -> None:
        super().__init__(run)
        self.wires = wires.Wires(inside.address)

    def start_shells(self) -> subprocess.Popen[bytes]:
        """Make the links, and start what logs them."""
        self.wires.begin()
        self.prepare_level(0)
        for level, [[_, wire]] in enumerate(self.run["shells"]):
            self.prepare_level(self.wires.add_level(level, json.loads(wire)))
        logged = []
        for queue, log in zip(self.wires.logged, self.run["queue_logs"], strict=True):
            logged += [*queue, log]
        return self.start_shell(["/bin/queue_log", *logged])

    def start_branch(self, branch: dict[str, Any]) -> subprocess.Popen[bytes]:
        """Make a link beside others."""
        _, wire = branch["shell"]
        self.prepare_level(self.wires.add_level(branch["level"], json.loads(wire)))
        return self.start_shell(["/bin/busybox", "cat"])

    def enter(self, level: int) -> list[str]:
        """Return what makes a command run in the network namespace of a level."""
        return ["nsenter", f"--net={wires.namespace(self.wires.levels[level].name)}", "--"]

    def environment(self, flow: dict[str, Any], role: str) -> dict[str, str]:
        """Let the end that wakes most often keep the processor awake."""
        return {"AWAKE": "1"} if role == "receive" and flow is self.run["flows"][0] else {}

    def prepare_level(self, level: int) -> None:
        """Give a level's namespace the settings of its TCP, and make it forward."""
        settings = inside.SETTINGS | self.run["settings"] | {"ip_forward": "1"}
        script = [f"echo {value} >/proc/sys/net/ipv4/{name}" for name, value in settings.items()]
        inside.mahimahi.call(*self.enter(level), "/bin/sh", "-ec", "\n".join(script))


def _tell(origin_ns: int, duration_ns: int) -> None:
    """Tell the host each second how far the run is."""
    told = 0.0
    with os.fdopen(int(os.environ[PROGRESS_FD]), "wb", buffering=0, closefd=False) as progress:
        while told < duration_ns / 1e9:
            time.sleep(max(0.0, origin_ns / 1e9 + told - time.monotonic()))
            line = {"event": "running", "run_s": told, "duration_s": duration_ns / 1e9}
            progress.write(json.dumps(line).encode() + b"\n")
            told += _TOLD_EVERY_S


def main() -> int:
    """Carry out the run that the JSON file of the first argument describes."""
    run = json.loads(Path(sys.argv[1]).read_text())
    return inside.main(WiredRun if "queue_logs" in run else GuestRun)


if __name__ == "__main__":
    raise SystemExit(main())
