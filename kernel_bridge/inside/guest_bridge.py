"""leo-bridge inside the guest: schemes and policies that the kernel lacks.

The host's side is `kernel_bridge.lab.served_in_guest`, which chooses the options and judges the result.
"""

import subprocess

from leogym.kernel_bridge.bridge.announcer import Announcer
from leogym.kernel_bridge.bridge.client import Bridge, BridgeError
from leogym.kernel_bridge.inside.session import ServedResult, ServedSession

ADDRESS = "@leo-bridge"
PROGRAM = "/bin/leo-bridge"


class Daemon:
    """The bridge that ``served`` in a run's session describes."""

    def __init__(self, served: ServedSession) -> None:
        self._served = served
        self._announcer: Announcer | None = None

    def start(self) -> None:
        """Start it; return once its schemes are registered."""
        line = [PROGRAM, "run", "--with-parent", "--socket", ADDRESS, *self._served["options"]]
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        if not process.stdout.readline():
            _, why = process.communicate()
            raise RuntimeError(" ".join(why.split()) or "leo-bridge: ended without a message")

    def announce(self, origin_ns: int) -> None:
        """Report handovers to SaTCP flows from now on; ``origin_ns`` is the run's start (monotonic clock)."""
        satcp = self._served["satcp"]
        if satcp is None:
            return
        client = Bridge(ADDRESS)
        client.subscribe(satcp)
        reports = {int(port): times for port, times in self._served["reports"].items()}
        self._announcer = Announcer(client, reports, origin_ns)
        self._announcer.start()

    def status(self) -> ServedResult:
        """Return the bridge's status of its schemes, and the number of reported handovers."""
        reported, fault = 0, None
        if self._announcer is not None:
            self._announcer.end()
            reported, fault = self._announcer.reported, self._announcer.fault()
        try:
            with Bridge(ADDRESS) as client:
                return {"schemes": client.status()["schemes"], "reported": reported, "fault": fault}
        except (ImportError, OSError, ValueError, BridgeError):
            # ImportError: no bridge listens, and the image lacks the module of the error about it.
            raise RuntimeError("leo-bridge: it went away during the run") from None
