"""A run with programs inside the lab's guest, which has a clock of its own."""

import time
from pathlib import Path

from leogym.kernel_bridge.inside import preparation, scenario
from leogym.kernel_bridge.inside.guest_scenario import GuestRun
from leogym.kernel_bridge.inside.programs import Programs
from leogym.kernel_bridge.inside.session import GuestProgramsSession, Role, SessionFlow

_EARLY_NS = 60_000_000_000  # certificates are valid before the run's start
_APPLETS = "/applets"  # busybox's programs, after all others on the PATH


class GuestPrograms(Programs, GuestRun):
    """A run with programs in the guest."""

    def __init__(self, session: GuestProgramsSession) -> None:
        super().__init__(session)
        self.tools = Path("/bin")

    def prepare(self) -> None:
        """Set the time of day roughly, and give each host a shell."""
        assert self.programs["unix_ns"] is not None
        time.clock_settime_ns(time.CLOCK_REALTIME, self.programs["unix_ns"] - _EARLY_NS)
        super().prepare()

    def make_tools(self) -> None:
        """Use the programs of the image."""

    def make_roots(self) -> None:
        """Unpack the hosts' files, and give each host a shell."""
        common = self.programs["common"]
        assert common is not None
        unpack(common)
        add_applets(common)
        for host in self.programs["hosts"]:
            unpack(host["root"])
            # Links to the same files: only root may write to them.
            preparation.call("cp", "-a", "-l", f"{common}/.", host["root"])
            shell = Path(host["root"], "bin/sh")
            if not shell.exists():
                shell.parent.mkdir(exist_ok=True)
                shell.symlink_to(f"{_APPLETS}/sh")
        if (root := self.programs["tls"]) is not None:
            unpack(root)

    def prefix(self) -> list[str]:
        """Let the loggers keep the processor awake; a program's run waits most of its time."""
        return ["/applets/env", "AWAKE=1"]

    def environment(self, flow: SessionFlow, role: Role) -> dict[str, str]:
        """Return no variables, because the loggers keep the processor awake."""
        return {}

    def set_clock(self) -> None:
        """Set the time of day so that the run starts at its Unix time."""
        assert self.programs["unix_ns"] is not None
        left_ns = self.planned_origin_ns() - time.monotonic_ns()
        time.clock_settime_ns(time.CLOCK_REALTIME, self.programs["unix_ns"] - left_ns)


def unpack(root: str) -> None:
    """Unpack a root folder's archive, and remove it."""
    archive = Path(f"{root}.tar")
    Path(root).mkdir()
    preparation.call("tar", "-x", "-f", archive, "-C", root)
    archive.unlink()


def add_applets(root: str) -> None:
    """Add busybox's programs to a root folder."""
    folder = Path(root + _APPLETS)
    folder.mkdir()
    busybox = folder / "busybox"
    busybox.hardlink_to("/bin/busybox")
    preparation.call("/bin/busybox", "chroot", root, f"{_APPLETS}/busybox", "--install", "-s", _APPLETS)


def main() -> int:
    """Carry out the session in the JSON file of the first argument; return the exit status."""
    return scenario.main(GuestPrograms)
