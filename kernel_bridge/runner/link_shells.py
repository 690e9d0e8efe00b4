"""What a backend's shells do for a link: how they are started, and what they tell afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kernel_bridge.runner.plan import Plan, PlannedLink

LEAD_S = 2.0
"""How long before the run's start the shells of links that vary begin: enough to prepare the flows."""

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Folders:
    """Where a run's files are while it lasts."""

    work: Path
    """What shells read and write."""
    private: Path
    """Programs that set up a shell as root for an ordinary user; it is filled when the run begins."""


@dataclass(frozen=True)
class LinkShells:
    """The shells that make up one link."""

    commands: Sequence[Sequence[str]]
    """The outermost first, each up to the command that it runs inside."""
    logs: Sequence[Path]
    """Their logs, each of which tells when its shell began."""


@dataclass(frozen=True)
class Origin:
    """The run's start, by two clocks."""

    monotonic_ns: int
    epoch_ns: int


@dataclass(frozen=True)
class LinkEvents:
    """What happened on a link, times in ns from the run's start, in the direction of the data.

    Each kind of event is in order of time.
    """

    arrival_ns: Integers
    departure_ns: Integers
    """When packets that were delivered had left the queue."""
    delivery_ns: Integers
    delivered_bytes: Integers
    """Of each delivered packet, with its IP header."""
    drop_ns: Integers
    dropped_packets: Integers
    loss_ns: Integers
    lost_packets: Integers
    """Taken behind the queue, by chance or in an outage; none where the shells do not tell."""
    marked_packets: int
    lead_ns: int
    """How far into the run's lead the capacity was at its start: `LEAD_S`, had the shell begun in time."""
    delay_lead_ns: int
    """The same for the delay."""
    late: str | None
    """Why the shells were too late to count, or None."""


class Backend(Protocol):
    """Shells of one kind."""

    name: str

    def missing(self) -> str | None:
        """Say in one line what this machine lacks, or None."""
        ...

    def programs(self) -> list[Path]:
        """Return the programs to copy to `Folders.private`."""
        ...

    def check(self, plan: Plan, link: PlannedLink) -> None:
        """Refuse a link that the shells cannot express.

        Raises:
            InputError: it is one.
        """
        ...

    def link(self, plan: Plan, link: PlannedLink, folders: Folders) -> LinkShells:
        """Return the shells of a link that was checked, whose files are written."""
        ...

    def access(self, delay_ns: int, where: str, folders: Folders) -> list[str]:
        """Return the shell that delays by so much each way.

        Raises:
            InputError: there is none.
        """
        ...

    def events(self, link: PlannedLink, shells: LinkShells, origin: Origin, duration_ns: int) -> LinkEvents:
        """Read what happened on a link."""
        ...
