"""The interface of backends: how they start the shells of a link and read their logs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from leogym.kernel_bridge.runner.plan import Plan, PlannedLink

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Folders:
    """The folders of a run."""

    work: Path
    """Files that shells read and write."""
    private: Path
    """Programs that set up shells as root for an ordinary user; filled when the run begins."""


@dataclass(frozen=True)
class LinkShells:
    """The shells that make up one link."""

    commands: Sequence[Sequence[str]]
    """From the outermost to the innermost, each without the command to run inside."""
    logs: Sequence[Path]
    """Logs, which include each shell's start time."""


@dataclass(frozen=True)
class Origin:
    """The run's start on two clocks."""

    monotonic_ns: int
    epoch_ns: int
    lead_ns: int
    """`Plan.lead_ns`."""


@dataclass(frozen=True)
class LinkEvents:
    """Events on a link in the data direction, in ns from the run's start, each kind sorted by time."""

    arrival_ns: Integers
    departure_ns: Integers
    """When delivered packets left the queue."""
    delivery_ns: Integers
    delivered_bytes: Integers
    """Size of each delivered packet with its IP header."""
    drop_ns: Integers
    dropped_packets: Integers
    loss_ns: Integers
    lost_packets: Integers
    """Random and outage losses after the queue; none if the shells do not log them."""
    marked_packets: int
    lead_ns: int
    """Time from the capacity schedule's begin to the run's start: `Plan.lead_ns` if the shell was in time."""
    delay_lead_ns: int
    """The same for the delay schedule."""
    late: str | None
    """Why the shells were too late for a valid run, or None."""
    late_if_steady: str | None = None
    """Why they were too late if packets kept arriving, or None: senders that pause look the same."""


class Backend(Protocol):
    """A kind of shell that emulates links."""

    name: str
    calls_iptables: bool
    """Whether the shells start iptables, which needs a stand-in that runs as root."""

    def missing(self) -> str | None:
        """Return one line about the first thing that this machine lacks, or None."""
        ...

    def programs(self) -> list[Path]:
        """Return the programs to copy to `Folders.private`."""
        ...

    def check(self, plan: Plan, link: PlannedLink) -> None:
        """Refuse a link that the shells cannot express.

        Raises:
            InputError: the link is unsupported.
        """
        ...

    def link(self, plan: Plan, link: PlannedLink, folders: Folders) -> LinkShells:
        """Write the files of a checked link and return its shells."""
        ...

    def access(self, delay_ns: int, where: str, folders: Folders) -> list[str]:
        """Return the shell that adds this delay in each direction.

        Raises:
            InputError: no shell supports this delay.
        """
        ...

    def events(self, link: PlannedLink, shells: LinkShells, origin: Origin, duration_ns: int) -> LinkEvents:
        """Read a link's events from its logs."""
        ...
