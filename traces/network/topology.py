"""The links of a network at any moment: lasers, and ground links to the satellites in reach."""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leogym.common.errors import InputError
from leogym.configs.network import Network
from leogym.traces.network.stations import GroundStations
from leogym.traces.orbit import constellation, ground, isl
from leogym.traces.orbit.satellites import Sgp4Orbits, propagator
from leogym.traces.orbit.visibility import Visibility
from leogym.traces.path.spec import DEFAULT_EPOCH, parse_epoch

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Moment:
    """The links at a moment."""

    laser_km: Floats
    """Length of each laser, shape (lasers,); infinite while it is too long."""
    station: Ints
    """Stations of the ground links, shape (links,); pairs of station and satellite rise."""
    satellite: Ints
    km: Floats


class Topology:
    """A constellation and ground stations."""

    def __init__(self, network: Network, stations: GroundStations) -> None:
        """Load the constellation, and print notes about its satellites.

        Raises:
            InputError: the constellation is invalid, or none of its satellites flies.
        """
        self.network = network
        loaded = constellation.load(network.constellation)
        stated = None if network.epoch is None else parse_epoch(network.epoch, network.name)
        self.epoch = stated or loaded.own_epoch or DEFAULT_EPOCH
        self.constellation, notes = loaded.at(self.epoch, network.start_s, network.duration_s)
        for note in notes:
            print(note, file=sys.stderr)
        self.orbits = propagator(self.constellation, self.epoch)
        catalogued = self.orbits if isinstance(self.orbits, Sgp4Orbits) else None
        self.lasers: Ints = isl.plus_grid(self.constellation, catalogued)
        """Pairs of satellites that lasers can join, shape (lasers, 2)."""
        horizon_km = isl.horizon_km(self.constellation)
        longest = self.constellation.isl_max_km
        self._most_km = np.minimum(
            horizon_km[self.lasers].sum(axis=1), np.inf if longest is None else longest
        )
        self._stations = ground.stations(stations.sites)
        rule = network.ground
        lowest = self.constellation.min_elevation_deg
        self._visibility = Visibility(
            min_elevation_deg=lowest if rule.min_elevation_deg is None else rule.min_elevation_deg,
            max_slant_km=rule.max_slant_km,
            epoch=self.epoch,
        )

    def __getstate__(self) -> dict[str, Any]:
        # The orbits of catalogued satellites are an object of the core, which cannot be pickled.
        return {name: value for name, value in self.__dict__.items() if name != "orbits"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self.orbits = propagator(self.constellation, self.epoch)

    @property
    def satellites(self) -> int:
        """Number of satellites."""
        return self.orbits.count

    def satellite_name(self, satellite: int) -> str:
        """Return a satellite's readable name."""
        names = self.constellation.satellite_names
        return f"satellite {satellite}" if names is None else names[satellite]

    def positions_km(self, time_s: float) -> Floats:
        """Return the Earth-fixed positions of satellites and then stations, ``time_s`` into the run."""
        return np.concatenate(
            [self.orbits.positions_km(self.network.start_s + time_s), self._stations.position_km]
        )

    def moment(self, time_s: float) -> Moment:
        """Return the links ``time_s`` into the run."""
        satellites_km = self.orbits.positions_km(self.network.start_s + time_s)
        laser_km = np.linalg.norm(satellites_km[self.lasers[:, 0]] - satellites_km[self.lasers[:, 1]], axis=1)
        station, satellite = np.nonzero(self._visibility.pairs(self._stations, satellites_km))
        km = np.linalg.norm(satellites_km[satellite] - self._stations.position_km[station], axis=1)
        rule = self.network.ground
        if (most := rule.satellites_per_station) is not None:
            chosen = _nearest(station, km, most)
            station, satellite, km = station[chosen], satellite[chosen], km[chosen]
        if (most := rule.stations_per_satellite) is not None:
            chosen = _nearest(satellite, km, most)
            station, satellite, km = station[chosen], satellite[chosen], km[chosen]
        return Moment(np.where(laser_km <= self._most_km, laser_km, np.inf), station, satellite, km)


def _nearest(owner: Ints, km: Floats, most: int) -> NDArray[np.bool_]:
    """Return which links are among the ``most`` shortest of their owner; all arrays have shape (links,)."""
    order = np.lexsort((km, owner))
    sorted_owner = owner[order]
    first = np.searchsorted(sorted_owner, sorted_owner)
    chosen = np.zeros(len(owner), dtype=bool)
    chosen[order] = np.arange(len(owner)) - first < most
    return chosen


def unseen(topology: Topology, stations: GroundStations, step_s: float) -> None:
    """Raise an `InputError` if a station has no satellite in reach at any step of the run."""
    seen = np.zeros(len(stations.sites), dtype=bool)
    for time_s in np.arange(0.0, topology.network.duration_s, step_s):
        seen[topology.moment(float(time_s)).station] = True
        if seen.all():
            return
    site = stations.sites[int(np.argmin(seen))]
    raise InputError(
        f"{topology.network.name}: stations: {site.name}: no satellite of "
        f"{topology.constellation.name} comes into its reach in {topology.network.duration_s:g} s; "
        "remove it, or lower ground.min_elevation_deg"
    )
