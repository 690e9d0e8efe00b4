"""Ground sites at sea level and their positions; gateways and coasts."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from leogym.common.strict import Range, Strict
from leogym.traces.orbit.earth import EARTH_RADIUS_KM, FLATTENING

FOLDER = Path(__file__).resolve().parents[1] / "data"
Floats = NDArray[np.float64]
MEAN_RADIUS_KM = 6371.0
"""Of the Earth."""


class Site(Strict):
    """A point on the ground."""

    name: str
    lat_deg: Annotated[float, Range(ge=-90, le=90)]  # north is positive
    lon_deg: Annotated[float, Range(ge=-180, le=180)]  # east is positive


def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a table in ``data/``."""
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def site(name: str, lat: str, lon: str) -> Site:
    """Return a site whose coordinates are text."""
    return Site(name=name, lat_deg=float(lat), lon_deg=float(lon))


@cache
def gateways() -> list[Site]:
    """Return the gateways of bent-pipe paths (``data/gateways.csv`` names the sources)."""
    return [site(row["name"], row["lat_deg"], row["lon_deg"]) for row in rows("gateways.csv")]


@cache
def coastlines() -> list[Floats]:
    """Return the world's coasts, at 1 to 110 million, as (longitude, latitude) lines of shape (points, 2)."""
    with (FOLDER / "coastlines.json").open(encoding="utf-8") as file:
        return [np.array(line) for line in json.load(file)["lines"]]


@dataclass(frozen=True)
class Stations:
    """Earth-fixed positions of sites. Both arrays have shape (sites, 3)."""

    position_km: Floats
    up: Floats  # unit vectors to the zenith, normal to the ellipsoid

    def __getitem__(self, index: Any) -> Stations:
        return Stations(self.position_km[index], self.up[index])


def stations(sites: list[Site]) -> Stations:
    """Return the positions of sites with geodetic latitudes, as on maps."""
    lat = np.radians(np.array([site.lat_deg for site in sites]))
    lon = np.radians(np.array([site.lon_deg for site in sites]))
    up = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)
    # Prime vertical radius of curvature: the normal's length from the ellipsoid to the polar axis.
    eccentricity2 = FLATTENING * (2 - FLATTENING)
    normal_km = EARTH_RADIUS_KM / np.sqrt(1 - eccentricity2 * np.sin(lat) ** 2)
    position_km = normal_km[:, None] * up
    position_km[:, 2] *= 1 - eccentricity2
    return Stations(position_km, up)


def great_circle_km(first: list[Site], second: list[Site]) -> Floats:
    """Return the distances along the surface of a sphere between sites and others, shape (sites,)."""
    chord = np.linalg.norm(stations(first).up - stations(second).up, axis=1)
    return 2 * MEAN_RADIUS_KM * np.arcsin(np.minimum(chord / 2, 1))
