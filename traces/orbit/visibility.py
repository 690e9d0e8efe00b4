"""Satellites in reach of a site: by elevation, or by slant range on request."""

import math
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from leogym.traces.orbit import slant
from leogym.traces.orbit.ground import Stations

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Visibility:
    """The reach of sites on the ground."""

    def __init__(
        self, *, min_elevation_deg: float, max_slant_km: float | None = None, epoch: datetime | None = None
    ) -> None:
        """Store the rule. ``max_slant_km`` replaces the elevation, but the horizon still limits sight.

        ``min_elevation_deg`` is over the true horizon. ``max_slant_km`` is Hypatia's rule, measured from the
        points in `slant`, and requires ``epoch``, which fixes its frame.
        """
        self._sine = math.sin(math.radians(min_elevation_deg)) if max_slant_km is None else 0.0
        self._max_slant_km = None if max_slant_km is None else max_slant_km / slant.SATELLITE_SCALE
        self._epoch = epoch
        if max_slant_km is not None and epoch is None:
            raise ValueError("max_slant_km needs an epoch")

    def slant_km(self, station: Stations, satellite_km: Floats) -> Floats:
        """Return the distances, (...), from a site to Earth-fixed satellites, (..., 3); inf out of reach."""
        ray = satellite_km - station.position_km
        length = np.linalg.norm(ray, axis=-1)
        reachable = self._high_enough(length, np.einsum("...i,i->...", ray, station.up))
        if self._max_slant_km is not None:
            reachable &= np.linalg.norm(satellite_km - self._from_km(station), axis=-1) <= self._max_slant_km
        return np.where(reachable, length, np.inf)

    def each(self, stations: Stations, satellite_km: Floats) -> Bools:
        """Return whether each site sees the satellite in the same row, (pairs, 3); shape (pairs,)."""
        ray = satellite_km - stations.position_km
        reachable = self._high_enough(np.linalg.norm(ray, axis=-1), np.einsum("pi,pi->p", ray, stations.up))
        if self._max_slant_km is not None:
            reachable &= np.linalg.norm(satellite_km - self._from_km(stations), axis=-1) <= self._max_slant_km
        return reachable

    def pairs(self, stations: Stations, satellite_km: Floats) -> Bools:
        """Return which site sees which satellite, (satellites, 3); shape (sites, satellites)."""
        site_km = stations.position_km
        height = _dots(stations.up, satellite_km) - np.einsum("si,si->s", stations.up, site_km)[:, None]
        reachable = self._high_enough(np.sqrt(_squares(site_km, satellite_km)), height)
        if self._max_slant_km is not None:
            reachable &= _squares(self._from_km(stations), satellite_km) <= self._max_slant_km**2
        return reachable

    def _high_enough(self, length_km: Floats, height_km: Floats) -> Bools:
        """Return whether satellites at a distance and a height over the horizon's plane are in reach."""
        return height_km >= self._sine * length_km

    def _from_km(self, stations: Stations) -> Floats:
        assert self._epoch is not None  # the constructor requires it
        return slant.measured_from_km(stations.up, self._epoch)


def elevation_deg(station: Stations, satellite_km: Floats) -> Floats:
    """Return the elevation of satellites, (..., 3), over the horizon of one station."""
    ray = satellite_km - station.position_km
    sine = np.einsum("...i,i->...", ray, station.up) / np.linalg.norm(ray, axis=-1)
    return np.degrees(np.arcsin(np.clip(sine, -1, 1)))


def _dots(rows: Floats, right: Floats) -> Floats:
    """Return the dot products of (m, 3) and (n, 3), shape (m, n), without BLAS, which would start threads."""
    columns = np.ascontiguousarray(right.T)
    return rows[:, 0, None] * columns[0] + rows[:, 1, None] * columns[1] + rows[:, 2, None] * columns[2]


def _squares(rows: Floats, right: Floats) -> Floats:
    """Return the squared distances between (m, 3) and (n, 3), shape (m, n)."""
    return (
        np.einsum("si,si->s", rows, rows)[:, None]
        + np.einsum("ni,ni->n", right, right)
        - 2 * _dots(rows, right)
    )
