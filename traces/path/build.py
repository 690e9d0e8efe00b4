"""Build a path from a spec: constellation, attachments, routes, handovers, rows."""

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.traces.orbit import constellation
from leogym.traces.orbit.earth import LIGHT_KM_PER_S
from leogym.traces.orbit.satellites import propagator
from leogym.traces.orbit.visibility import Visibility
from leogym.traces.path import attachment, handover
from leogym.traces.path.attachment import Hold
from leogym.traces.path.clock import Clock
from leogym.traces.path.network import Network
from leogym.traces.path.path import Block, NoRouteError, blocks
from leogym.traces.path.routing import Chain, chain_km
from leogym.traces.path.spec import DEFAULT_EPOCH, PathSpec

_DETOUR_RATIO = 2.0
_DETOUR_MS = 10.0
"""A delay is a detour if it is above the shortest route's by both this ratio and this time."""


def on_stderr(note: str) -> None:
    """Print a note on standard error."""
    print(note, file=sys.stderr, flush=True)


class Builder:
    """The constant parts of a build."""

    def __init__(self, spec: PathSpec, noted: Callable[[str], None] = on_stderr) -> None:
        """Load the constellation; call ``noted`` with each line about its satellites or the path.

        Raises:
            InputError: the constellation is invalid, has no lasers for ``isl``, or none of it flies.
        """
        catalogued = constellation.load(spec.constellation)
        self.epoch = spec.epoch or catalogued.own_epoch or DEFAULT_EPOCH
        self.constellation, notes = catalogued.at(self.epoch, spec.start_s, spec.duration_s)
        # The spec rebuilds the same path later, when the file may have other elements.
        stated = self.epoch if catalogued.catalogue or self.epoch != DEFAULT_EPOCH else None
        self.spec = spec = spec.model_copy(update={"epoch": stated})
        if spec.links == "isl" and self.constellation.isl == "none":
            raise InputError(
                f"{spec.name}: links: {self.constellation.name} has no links between satellites: "
                "use bent-pipe"
            )
        self.orbits = propagator(self.constellation, self.epoch)
        self.min_elevation_deg = (
            self.constellation.min_elevation_deg if spec.min_elevation_deg is None else spec.min_elevation_deg
        )
        self.visibility = Visibility(
            min_elevation_deg=self.min_elevation_deg, max_slant_km=spec.max_slant_km, epoch=self.epoch
        )
        self.users = (spec.from_site, spec.to_site)
        self.network = Network(
            self.constellation, self.orbits, self.visibility, spec.links, self.users, spec.delays
        )
        self.serving = self._serving()
        """Which satellites serve users with ``nearest``; None for all."""
        if self.serving is not None and (outside := np.count_nonzero(~self.serving)):
            notes.append(
                f"note: {self.constellation.file}: {outside} of {self.orbits.count} satellites are in no "
                "shell, such as those being raised or lowered: no user attaches to them"
            )
        self._noted = noted
        for note in notes:
            noted(note)
        first = spec.steps(spec.start_s)
        self.clock = Clock(
            step_ms=spec.step_ms,
            first_step=first,
            end_step=first + spec.steps(spec.duration_s),
            reattach_steps=spec.reattach_steps,
            route_steps=spec.route_steps,
            reattach_phase_steps=spec.reattach_phase_steps,
        )
        here = self.orbits, self.visibility, self.clock, spec.delays, self.serving
        self._ends = [attachment.Nearest(self.network.stations[side], *here) for side in (0, 1)]
        self._apart_steps = 0

    def blocks(self) -> Iterator[Block]:
        """Yield the path's rows in order, one block per stretch with one route.

        Raises:
            InputError: a user never sees a satellite, or there is never a route.
        """
        holds = self._nearest() if self.spec.attach == "nearest" else self._shortest()
        segments = handover.segments(self.network, holds, self.clock, released=self.spec.released)
        try:
            yield from blocks(self.network, segments, self.clock)
        except NoRouteError:
            raise InputError(self._why_never()) from None
        if self._apart_steps:
            apart_s = self.clock.seconds(self._apart_steps)
            self._noted(
                f"note: {self.spec.name}: for {apart_s:g} of {self.spec.duration_s:g} s the ends are at "
                "satellites of different shells, which no lasers join: try --attach shortest"
            )

    def detour(self, delay_ms: float, at_s: float) -> str | None:
        """Return a note if the delay at ``at_s`` is far above that of the shortest route, else None."""
        if self.spec.attach == "shortest":
            return None
        time_s = self.clock.seconds(self.clock.first_step) + at_s
        chain = self.network.route_freely(time_s, time_s + self.spec.route_s, None)
        if chain is None:
            return None
        shortest_ms = chain_km(self.network.positions_km(time_s), chain) / LIGHT_KM_PER_S * 1000
        if delay_ms < _DETOUR_RATIO * shortest_ms or delay_ms < shortest_ms + _DETOUR_MS:
            return None
        reason = "each end uses its nearest satellite"
        if self.spec.links == "isl":
            reason += ", and from one that flies north to one that flies south lasers go a long way around"
        return (
            f"note: {self.spec.name}: at {at_s:g} s the delay is {delay_ms:.1f} ms one way; "
            f"{shortest_ms:.1f} ms by the shortest route: {reason}: try --attach shortest"
        )

    def _why_never(self) -> str:
        for site, end in zip(self.users, self._ends, strict=True):
            if all(satellite == attachment.NONE for _, satellite in end.choices()):
                return (
                    f"{self.spec.name}: {site.name} ({site.lat_deg:g}, {site.lon_deg:g}) "
                    f"never sees a satellite of {self.spec.constellation}{self._how_far(end)}"
                )
        apart = self.spec.attach == "nearest" and len(self.network.meshes) > 1
        return (
            f"{self.spec.name}: no {self.spec.links} route ever joins {self.users[0].name} and "
            f"{self.users[1].name} over {self.spec.constellation}"
            + (": its shells are not linked with each other, try --attach shortest" if apart else "")
        )

    def _how_far(self, end: attachment.Nearest) -> str:
        """Return how high the satellites come over a site that none serves, and the options to try."""
        spec, highest_deg = self.spec, end.highest_deg()
        times = f"another --start, or a --duration above {spec.duration_s:g} s"
        if highest_deg < 0:
            return f": all stay below its horizon, the highest by {-highest_deg:.1f}°: try {times}"
        if spec.max_slant_km is not None:
            return (
                f" within {spec.max_slant_km:g} km: the highest reaches an elevation of {highest_deg:.1f}°: "
                f"try a larger --max-slant-km, {times}"
            )
        lower_deg = math.floor(10 * highest_deg) / 10
        return (
            f" above {self.min_elevation_deg:g}°: the highest reaches {highest_deg:.1f}°: "
            f"try --min-elevation {lower_deg:g}, {times}"
        )

    def _serving(self) -> NDArray[np.bool_] | None:
        satellites = self.constellation.catalogue
        if satellites is None or satellites.grid is not None or not self.network.meshes:
            return None
        serving = np.zeros(self.orbits.count, dtype=np.bool_)
        serving[np.concatenate(self.network.meshes)] = True
        return serving

    def _nearest(self) -> Iterator[Hold]:
        ingress, egress = (end.choices() for end in self._ends)
        shell = np.full(self.orbits.count, attachment.NONE)
        for number, mesh in enumerate(self.network.meshes):
            shell[mesh] = number
        for hold in attachment.holds(ingress, egress, self.clock.end_step):
            satellites = [hold.ingress, hold.egress]
            if attachment.NONE not in satellites:
                shells = shell[satellites]
                if attachment.NONE not in shells and shells[0] != shells[1]:
                    self._apart_steps += max(0, hold.end_step - max(hold.first_step, self.clock.first_step))
            yield hold

    def _shortest(self) -> Iterator[Hold]:
        clock, last, step = self.clock, None, self.clock.first_slot_step
        while step < clock.end_step:
            end = min(clock.next_reattach(step), clock.end_step)
            until = min(clock.next_route(step), end)
            last = self.network.route_freely(clock.seconds(step), clock.seconds(until), last)
            ends = (attachment.NONE, attachment.NONE) if last is None else (last[1], last[-2])
            if last is not None:
                # When either end loses its satellite, both choose again.
                for side, satellite in zip(self._ends, ends, strict=True):
                    gone = side.sets_at(step, end, satellite)
                    end = end if gone is None else gone
            yield Hold(step, end, *ends, last)
            step = end


@dataclass(frozen=True)
class Path:
    """A built path in memory. Row ``i`` holds until row ``i + 1``; the last row only ends the period."""

    spec: PathSpec
    time_ns: NDArray[np.int64]
    delay_ns: NDArray[np.int64]
    connected: NDArray[np.bool_]
    path_id: NDArray[np.int64]
    event: list[str]
    chains: dict[int, Chain | None]
    """The chain of each path_id: user, satellites (and gateways), user."""
    leg_km: list[NDArray[np.float64]]
    """Per row, the lengths of the chain's legs; empty without a chain and in the last row."""


def collect(spec: PathSpec, parts: Iterator[Block]) -> Path:
    """Concatenate ``parts`` into a path."""
    all_parts = list(parts)
    event: list[str] = []
    chains: dict[int, Chain | None] = {}
    leg_km: list[NDArray[np.float64]] = []
    for block in all_parts:
        event += [block.event] + [""] * (len(block.time_ns) - 1)
        chains.setdefault(block.path_id, block.chain)
        leg_km += list(block.leg_km)
    return Path(
        spec=spec,
        time_ns=np.concatenate([block.time_ns for block in all_parts]),
        delay_ns=np.concatenate([block.delay_ns for block in all_parts]),
        connected=np.concatenate([block.connected for block in all_parts]),
        path_id=np.concatenate([np.full(len(block.time_ns), block.path_id) for block in all_parts]),
        event=event,
        chains=chains,
        leg_km=leg_km,
    )


def build(spec: PathSpec) -> Path:
    """Build a path in memory; raise InputError as `Builder` does."""
    return collect(spec, Builder(spec).blocks())
