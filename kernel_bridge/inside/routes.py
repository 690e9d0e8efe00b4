"""Routes into nested shells, for connections that begin outside them.

Shells route and translate addresses for what begins inside. A flow with a workload begins at its receiver.
"""

from collections.abc import Sequence
from pathlib import Path

from leogym.kernel_bridge.inside.preparation import call

_OTHERS = {"lo", "ingress"}  # devices that do not lead into a shell; `ingress` leads out of it


class Routes:
    """The namespaces of a run's shells, each the inside of a shell, and the devices that lead to them.

    Args:
        outermost: a process in level 0.
    """

    def __init__(self, outermost: int) -> None:
        self._pids = [outermost]
        self._outside = [0]  # the place of the namespace outside each
        self._devices = [""]  # the device in it that leads inside
        self._levels = [0]  # the place of each level

    def add_level(self, outside: int, pids: Sequence[int], address: str) -> None:
        """Add a level and the routes to it.

        Args:
            outside: the level outside it.
            pids: a process inside each shell between both, outermost first; the last one is in the level.
            address: the level's address.
        """
        place = self._levels[outside]
        for pid in pids:
            known = {
                device for beyond, device in zip(self._outside, self._devices, strict=True) if beyond == place
            }
            [device] = _devices(self._pids[place]) - _OTHERS - known
            self._pids.append(pid)
            self._outside.append(place)
            self._devices.append(device)
            place = len(self._pids) - 1
        self._levels.append(place)
        while place:
            device, place = self._devices[place], self._outside[place]
            enter = ("nsenter", f"--net=/proc/{self._pids[place]}/ns/net", "--")
            call(*enter, "ip", "route", "add", f"{address}/32", "dev", device)


def _devices(pid: int) -> set[str]:
    lines = Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]
    return {line.split(":")[0].strip() for line in lines}
