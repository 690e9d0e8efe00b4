"""What a backend's shells do for a link: how they are started, and what they tell afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kernel_bridge.run.plan import Plan, PlannedLink

LEAD_S = 2.0
"""How long before the run's start the shells of links that vary begin: enough to prepare the flows."""

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class LinkShells:
    """The shells that make up one link."""

    commands: Sequence[Sequence[str]]
    """The outermost first, each up to the command that it runs inside."""
    log: Path
    """Where they tell what happened on the link, and when their trace began."""


@dataclass(frozen=True)
class LinkEvents:
    """What happened on a link, times in ns from the run's start, in the direction of the data."""

    arrival_ns: Integers
    departure_ns: Integers
    departure_bytes: Integers
    """Of the packets that left the queue, as IP packets."""
    drop_ns: Integers
    dropped_packets: Integers
    lead_ns: int
    """By how much the shells' trace is ahead of the run: `LEAD_S`, had they begun at the right instant."""
    late: str | None
    """Why the shells were too late to count, or None."""
    lost_packets: int = 0
    """Taken by random loss after the queue, where the shells tell."""
    marked_packets: int = 0


class Backend(Protocol):
    """Shells of one kind."""

    name: str

    def missing(self) -> str | None:
        """Say in one line what this machine lacks, or None."""
        ...

    def check(self, plan: Plan, link: PlannedLink) -> None:
        """Refuse a link that the shells cannot express.

        Raises:
            InputError: it is one.
        """
        ...

    def link(self, plan: Plan, link: PlannedLink, folder: Path) -> LinkShells:
        """Return the shells of a link that was checked; what files they need is written to ``folder``."""
        ...

    def access(self, delay_ns: int, where: str) -> list[str]:
        """Return the shell that delays by so much each way.

        Raises:
            InputError: there is none.
        """
        ...

    def events(self, log: Path, link: PlannedLink, origin_epoch_ns: int, duration_ns: int) -> LinkEvents:
        """Read what happened on a link."""
        ...
