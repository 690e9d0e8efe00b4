"""Choice of each end's satellite: on the re-selection grid, and held in between."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leogym.traces.orbit.ground import Stations
from leogym.traces.orbit.legs import Delays, measured_km
from leogym.traces.orbit.satellites import Orbits
from leogym.traces.orbit.visibility import Visibility, elevation_deg
from leogym.traces.path.clock import Clock
from leogym.traces.path.routing import Chain

Bools = NDArray[np.bool_]

NONE = -1  # no satellite in reach

_SLOTS_AT_ONCE = 32  # slots per batch: enough to amortise the calls, few enough to fit in the cache


@dataclass(frozen=True)
class Hold:
    """The two ends' satellites from ``first_step`` until ``end_step``."""

    first_step: int
    end_step: int
    ingress: int
    egress: int
    chain: Chain | None = None  # the route at ``first_step``, if it decided the satellites


@dataclass(frozen=True)
class Nearest:
    """A site that uses the nearest satellite in reach."""

    station: Stations
    orbits: Orbits
    visibility: Visibility
    clock: Clock
    delays: Delays = "straight"
    serving: Bools | None = None
    """Which satellites serve users, (satellites,); all by default."""

    def choices(self) -> Iterator[tuple[int, int]]:
        """Yield the site's choices as (step, satellite): the nearest satellite in reach, or `NONE`.

        The site chooses at every re-selection, and as soon as its satellite leaves its reach. Without a
        satellite it waits for the next re-selection.
        """
        clock = self.clock
        stride = clock.reattach_steps * _SLOTS_AT_ONCE
        for first in range(clock.first_slot_step, clock.end_step, stride):
            block = np.arange(first, min(first + stride, clock.end_step), clock.reattach_steps)
            chosen = self._nearest_at(block * clock.step_ms / 1000)
            for slot, satellite in zip(block.tolist(), chosen.tolist(), strict=True):
                yield from self._through_slot(slot, satellite)

    def highest_deg(self) -> float:
        """Return the highest elevation of a serving satellite over all re-selections, in degrees."""
        clock = self.clock
        slots = np.arange(clock.first_slot_step, clock.end_step, clock.reattach_steps)
        highest = -90.0
        for first in range(0, len(slots), _SLOTS_AT_ONCE):
            time_s = slots[first : first + _SLOTS_AT_ONCE] * clock.step_ms / 1000
            elevations = elevation_deg(self.station, self.orbits.positions_km(time_s[:, None]))
            if self.serving is not None:
                elevations = elevations[:, self.serving]
            highest = max(highest, float(elevations.max()))
        return highest

    def _nearest_at(self, time_s: NDArray[np.float64]) -> NDArray[np.intp]:
        positions = self.orbits.positions_km(time_s[:, None])
        slant = self.visibility.slant_km(self.station, positions)
        if self.serving is not None:
            slant[:, ~self.serving] = np.inf
        if self.delays != "straight":
            apart = np.linalg.norm(measured_km(positions - self.station.position_km, self.delays), axis=-1)
            slant = np.where(np.isinf(slant), np.inf, apart)
        best = np.argmin(slant, axis=1)
        return np.where(np.isinf(np.take_along_axis(slant, best[:, None], axis=1)[:, 0]), NONE, best)

    def _through_slot(self, step: int, satellite: int) -> Iterator[tuple[int, int]]:
        end = min(self.clock.next_reattach(step), self.clock.end_step)
        yield step, satellite
        while satellite != NONE:
            gone = self.sets_at(step, end, satellite)
            if gone is None:
                return
            step = gone
            satellite = int(self._nearest_at(np.array([self.clock.seconds(step)]))[0])
            yield step, satellite

    def sets_at(self, step: int, end_step: int, satellite: int) -> int | None:
        """Return the first step in (step, end_step) at which the satellite is out of reach, or None."""
        steps = np.arange(step + 1, end_step)
        positions = self.orbits.positions_km(
            steps * self.clock.step_ms / 1000, np.full(len(steps), satellite)
        )
        reachable = np.isfinite(self.visibility.slant_km(self.station, positions))
        return None if reachable.all() else int(steps[np.argmin(reachable)])


def holds(
    ingress: Iterator[tuple[int, int]], egress: Iterator[tuple[int, int]], end_step: int
) -> Iterator[Hold]:
    """Merge the choices of both ends into holds; each change of either satellite starts a new one."""
    ends = [ingress, egress]
    ahead = [next(choices, None) for choices in ends]
    current = [NONE, NONE]
    since: int | None = None
    while any(ahead):
        step = min(choice[0] for choice in ahead if choice)
        before = list(current)
        for side in (0, 1):
            choice = ahead[side]
            while choice and choice[0] == step:
                current[side] = choice[1]
                choice = ahead[side] = next(ends[side], None)
        if since is None:
            since = step
        elif current != before:
            yield Hold(since, step, before[0], before[1])
            since = step
    if since is not None:
        yield Hold(since, end_step, current[0], current[1])
