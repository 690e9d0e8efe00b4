"""What happens when the satellites or the route change: the events of a path and the outages they bring."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from traces import attachment
from traces.attachment import Hold
from traces.clock import Clock
from traces.earth import LIGHT_KM_PER_S
from traces.network import Network
from traces.routing import Chain

HARD = "hard_handover"
SOFT = "soft_handover"
UNREACHABLE = "unreachable"

_ROUND_TRIPS = 1.5
"""Round trips over the user link, with the old and again with the new satellite, that a hard handover takes
(Maattanen et al., "5G NR communication over GEO or LEO satellite systems", GLOBECOM 2019; SaTCP, III-B)."""


@dataclass(frozen=True)
class Segment:
    """A span of steps with one chain of nodes, or with none."""

    first_step: int
    end_step: int
    chain: Chain | None
    event: str
    """The event at its first step, or an empty string."""
    outage_ns: int
    """How long the path is down from its first step on, if it has a chain."""


def outage_ns(legs_km: float) -> int:
    """Return the outage for one end, given the summed length of its old (if any) and new user link."""
    return round(_ROUND_TRIPS * 2 * legs_km / LIGHT_KM_PER_S * 1e9)


def segments(network: Network, holds: Iterator[Hold], clock: Clock) -> Iterator[Segment]:
    """Yield the path's segments from the trace's first step to its last.

    The route between the held satellites is chosen anew at every hold and on the route grid.
    """
    last: Chain | None = None
    held: tuple[int, int] | None = None
    announced = False
    for hold in holds:
        step = hold.first_step
        while step < hold.end_step:
            end = min(clock.next_route(step), hold.end_step)
            chain = None
            if attachment.NONE not in (hold.ingress, hold.egress):
                chain = network.route(
                    hold.ingress, hold.egress, clock.seconds(step), clock.seconds(end), last
                )
            users = (hold.ingress, hold.egress)
            visible_first = max(step, clock.first_step)
            if end > clock.first_step:
                event, outage = "", 0
                if announced:
                    event, outage = _transition(network, clock.seconds(step), last, chain, held, users)
                elif chain is None:
                    event = UNREACHABLE
                yield Segment(visible_first, end, chain, event, outage)
                announced = True
            last, held, step = chain, users, end


def _transition(
    network: Network,
    time_s: float,
    before: Chain | None,
    after: Chain | None,
    held: tuple[int, int] | None,
    users: tuple[int, int],
) -> tuple[str, int]:
    """Return the event and the outage of the step from one chain to the next."""
    if after is None:
        return ("" if before is None else UNREACHABLE), 0
    if held is None or held == users:
        return ("" if before == after else SOFT), 0
    # Both ends hand over side by side, so the path is down for the longer of the two.
    return HARD, max(_end_outage_ns(network, time_s, side, held[side], users[side]) for side in (0, 1))


def _end_outage_ns(network: Network, time_s: float, side: int, old: int, new: int) -> int:
    if old == new:
        return 0
    satellites = np.array([index for index in (old, new) if index != attachment.NONE])
    positions: NDArray[np.float64] = network.orbits.positions_km(time_s, satellites)
    return outage_ns(float(np.linalg.norm(positions - network.stations.position_km[side], axis=1).sum()))
