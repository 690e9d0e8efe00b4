"""Handovers: the events at changes of satellites or route, and their outages."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leogym.traces.orbit.earth import LIGHT_KM_PER_S
from leogym.traces.orbit.legs import measured_km
from leogym.traces.path import attachment
from leogym.traces.path.attachment import Hold
from leogym.traces.path.clock import Clock
from leogym.traces.path.network import Network
from leogym.traces.path.routing import Chain

HARD = "hard_handover"
SOFT = "soft_handover"
UNREACHABLE = "unreachable"

_ROUND_TRIPS = 1.5
"""Round trips that a hard handover takes over the old user link, and again over the new one
(Maattanen et al., "5G NR communication over GEO or LEO satellite systems", GLOBECOM 2019; SaTCP, III-B)."""


@dataclass(frozen=True)
class Segment:
    """A span of steps with one chain of nodes or none."""

    first_step: int
    end_step: int
    chain: Chain | None
    event: str  # the event at its first step, or an empty string
    outage_ns: int  # outage from the first step on, if there is a chain
    side: str = ""  # the end whose satellite changes at a hard handover: ``from``, ``to`` or ``both``


def is_soft(event: str) -> bool:
    """Return whether an event is a soft handover, with or without lost packets."""
    return event.startswith(SOFT)


def outage_ns(legs_km: float) -> int:
    """Return an end's outage, given the summed length of its old (if any) and new user link."""
    return round(_ROUND_TRIPS * 2 * legs_km / LIGHT_KM_PER_S * 1e9)


def segments(
    network: Network, holds: Iterator[Hold], clock: Clock, *, released: bool = False
) -> Iterator[Segment]:
    """Yield the path's segments from the trace's first step to its last.

    The route between the ends' satellites is updated at every hold and on the route grid. With ``released``
    sites use all satellites in reach at once, so a change of satellite is no outage.
    """
    last: Chain | None = None
    held: tuple[int, int] | None = None
    announced = False
    for hold in holds:
        step = hold.first_step
        while step < hold.end_step:
            end = min(clock.next_route(step), hold.end_step)
            chain = hold.chain if step == hold.first_step else None
            if chain is None and attachment.NONE not in (hold.ingress, hold.egress):
                chain = network.route(
                    hold.ingress, hold.egress, clock.seconds(step), clock.seconds(end), last
                )
            users = (hold.ingress, hold.egress)
            visible_first = max(step, clock.first_step)
            if end > clock.first_step:
                event, outage, side = "", 0, ""
                if announced:
                    changed = None if released else held
                    event, outage, side = _transition(
                        network, clock.seconds(step), last, chain, changed, users
                    )
                elif chain is None:
                    event = UNREACHABLE
                yield Segment(visible_first, end, chain, event, outage, side)
                announced = True
            last, held, step = chain, users, end


def _transition(
    network: Network,
    time_s: float,
    before: Chain | None,
    after: Chain | None,
    held: tuple[int, int] | None,
    users: tuple[int, int],
) -> tuple[str, int, str]:
    """Return event, outage and side of the change from one chain to the next."""
    if after is None:
        return ("" if before is None else UNREACHABLE), 0, ""
    if held is None or held == users:
        return ("" if before == after else soft(network, time_s, before, after)), 0, ""
    # Both ends hand over in parallel, so the longer outage counts.
    outages = [_end_outage_ns(network, time_s, side, held[side], users[side]) for side in (0, 1)]
    side = "both" if all(outages) else "from" if outages[0] else "to"
    return HARD, max(outages), side


def soft(network: Network, time_s: float, before: Chain | None, after: Chain) -> str:
    """Return the event of a soft handover: ``soft_handover(A..B)`` with the dismantled stretch.

    A and B are one-way ms from the first site along the old route: A at the last common node before the
    change, B at the first one after it. Packets in flight between them are lost.
    """
    if before is None:
        return SOFT
    shortest = min(len(before), len(after))
    first = next((place for place in range(shortest) if before[place] != after[place]), shortest) - 1
    alike = 0
    while alike < shortest - first - 1 and before[-1 - alike] == after[-1 - alike]:
        alike += 1
    end = len(before) - alike
    if end <= first:
        return SOFT
    legs_km = network.legs_km(before, np.array([time_s]))[0]
    from_ms, to_ms = (
        f"{float(legs_km[:node].sum()) / LIGHT_KM_PER_S * 1000:.3f}".rstrip("0").rstrip(".")
        for node in (first, end)
    )
    return f"{SOFT}({from_ms}..{to_ms})"


def _end_outage_ns(network: Network, time_s: float, side: int, old: int, new: int) -> int:
    if old == new:
        return 0
    satellites = np.array([index for index in (old, new) if index != attachment.NONE])
    positions: NDArray[np.float64] = network.orbits.positions_km(time_s, satellites)
    apart = measured_km(positions - network.stations.position_km[side], network.delays)
    return outage_ns(float(np.linalg.norm(apart, axis=1).sum()))
