"""mahimahi's shells as data. Each runs a command behind one impairment. They nest; the first is outermost."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from leogym.common.errors import InputError
from leogym.kernel_bridge.shell import Leo

_QUEUE_ARGUMENTS = {
    # kind: (allowed, required); mahimahi 0.98 also requires packets or bytes for every finite queue.
    "infinite": (set(), set()),
    "droptail": ({"packets", "bytes"}, set()),
    "drophead": ({"packets", "bytes"}, set()),
    "codel": ({"packets", "bytes", "target", "interval"}, {"target", "interval"}),
    "pie": ({"packets", "bytes", "qdelay_ref", "max_burst"}, {"qdelay_ref", "max_burst"}),
}


@dataclass(frozen=True)
class Delay:
    """``mm-delay``: a fixed delay in each direction."""

    one_way_ms: int

    def __post_init__(self) -> None:
        if self.one_way_ms < 0:
            raise InputError(f"mm-delay: one_way_ms: {self.one_way_ms}: must not be negative")

    def arguments(self) -> list[str]:
        """Return the command line up to the command that runs inside."""
        return ["mm-delay", str(self.one_way_ms)]


@dataclass(frozen=True)
class Loss:
    """``mm-loss``: independent packet loss in one direction, without a seed."""

    direction: Literal["uplink", "downlink"]
    probability: float

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise InputError(f"mm-loss: probability: {self.probability:g}: must lie in [0, 1]")

    def arguments(self) -> list[str]:
        """Return the command line up to the command that runs inside."""
        return ["mm-loss", self.direction, f"{self.probability:.12g}"]


@dataclass(frozen=True)
class Queue:
    """The queue of a link.

    ``limits``: packets or bytes; codel also needs target and interval, pie qdelay_ref and max_burst, in ms.
    """

    kind: str = "infinite"
    limits: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in _QUEUE_ARGUMENTS:
            raise InputError(f"mm-link: queue: {self.kind!r}: must be one of {', '.join(_QUEUE_ARGUMENTS)}")
        allowed, required = _QUEUE_ARGUMENTS[self.kind]
        if wrong := sorted(self.limits.keys() - allowed):
            raise InputError(f"mm-link: queue: {self.kind}: {wrong[0]}: unknown limit")
        if absent := sorted(required - self.limits.keys()):
            raise InputError(f"mm-link: queue: {self.kind}: {absent[0]}: required")
        if allowed and not self.limits.keys() & {"packets", "bytes"}:
            raise InputError(f"mm-link: queue: {self.kind}: packets or bytes: required")

    def options(self, direction: str) -> list[str]:
        """Return mm-link's options for this queue."""
        if self.kind == "infinite":
            return []
        limits = ",".join(f"{key}={value}" for key, value in self.limits.items())
        return [f"--{direction}-queue={self.kind}", f"--{direction}-queue-args={limits}"]


@dataclass(frozen=True)
class Link:
    """``mm-link``: capacity as files of delivery opportunities of 1,504 bytes (1,500 of IP), and a queue."""

    uplink: Path
    downlink: Path
    uplink_queue: Queue = Queue()
    downlink_queue: Queue = Queue()
    uplink_log: Path | None = None
    downlink_log: Path | None = None

    def arguments(self) -> list[str]:
        """Return the command line up to the command that runs inside."""
        options = [*self.uplink_queue.options("uplink"), *self.downlink_queue.options("downlink")]
        if self.uplink_log is not None:
            options.append(f"--uplink-log={self.uplink_log}")
        if self.downlink_log is not None:
            options.append(f"--downlink-log={self.downlink_log}")
        return ["mm-link", str(self.uplink), str(self.downlink), *options, "--"]


Shell = Delay | Loss | Link | Leo


def chain(shells: Sequence[Shell], command: Sequence[str]) -> list[str]:
    """Return the command line that runs ``command`` inside ``shells``, the first one outermost."""
    return [*(argument for shell in shells for argument in shell.arguments()), *command]
