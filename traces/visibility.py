"""Which satellites a site on the ground can talk to: by elevation, or by slant range where asked."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from traces.ground import Stations

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Visibility:
    """The reach of sites on the ground."""

    def __init__(self, *, min_elevation_deg: float, max_slant_km: float | None = None) -> None:
        """Take the slant range instead of the elevation where it is given, but never below the horizon."""
        self._sine = math.sin(math.radians(min_elevation_deg)) if max_slant_km is None else 0.0
        self._max_slant_km = math.inf if max_slant_km is None else max_slant_km

    def slant_km(self, station: Stations, satellite_km: Floats) -> Floats:
        """Return the distance from one station (arrays of shape (3,)) to satellites; inf out of reach.

        Args:
            station: a single site.
            satellite_km: (..., 3), Earth-fixed.

        Returns:
            Shape (...).
        """
        ray = satellite_km - station.position_km
        slant = np.linalg.norm(ray, axis=-1)
        height = np.einsum("...i,i->...", ray, station.up)
        return np.where(self._in_reach(slant, height), slant, np.inf)

    def each(self, stations: Stations, satellite_km: Floats) -> Bools:
        """Return shape (pairs,): whether each site sees the satellite beside it; positions are (pairs, 3)."""
        ray = satellite_km - stations.position_km
        return self._in_reach(np.linalg.norm(ray, axis=-1), np.einsum("pi,pi->p", ray, stations.up))

    def pairs(self, stations: Stations, satellite_km: Floats) -> Bools:
        """Return shape (sites, satellites): which site sees which satellite, of positions (satellites, 3)."""
        site_km = stations.position_km
        own2 = np.einsum("si,si->s", site_km, site_km)
        slant2 = (
            own2[:, None]
            + np.einsum("ni,ni->n", satellite_km, satellite_km)
            - 2 * _dots(site_km, satellite_km)
        )
        height = _dots(stations.up, satellite_km) - np.einsum("si,si->s", stations.up, site_km)[:, None]
        return self._in_reach(np.sqrt(slant2), height)

    def _in_reach(self, slant_km: Floats, height_km: Floats) -> Bools:
        """Return whether satellites this far away and this high over the horizon's plane are in reach."""
        return (height_km >= self._sine * slant_km) & (slant_km <= self._max_slant_km)


def elevation_deg(station: Stations, satellite_km: Floats) -> Floats:
    """Return the angle above the horizon of one station at which satellites (..., 3) stand."""
    ray = satellite_km - station.position_km
    sine = np.einsum("...i,i->...", ray, station.up) / np.linalg.norm(ray, axis=-1)
    return np.degrees(np.arcsin(np.clip(sine, -1, 1)))


def _dots(left: Floats, right: Floats) -> Floats:
    """Return the dot products of (m, 3) with (n, 3), shape (m, n); BLAS would start threads for so little."""
    columns = np.ascontiguousarray(right.T)
    return left[:, 0, None] * columns[0] + left[:, 1, None] * columns[1] + left[:, 2, None] * columns[2]
