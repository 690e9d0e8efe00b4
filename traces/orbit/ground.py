"""Ground sites at sea level: cities, gateways, and any latitude and longitude."""

from __future__ import annotations

import csv
import json
import unicodedata
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from leogym.configs.errors import InputError, one_line
from leogym.configs.strict import Range, Strict
from leogym.traces.orbit.earth import EARTH_RADIUS_KM, FLATTENING

FOLDER = Path(__file__).resolve().parents[1] / "data"
Floats = NDArray[np.float64]


class Site(Strict):
    """A point on the ground."""

    name: str
    lat_deg: Annotated[float, Range(ge=-90, le=90)]  # north is positive
    lon_deg: Annotated[float, Range(ge=-180, le=180)]  # east is positive


def _rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def _site(name: str, lat: str, lon: str) -> Site:
    return Site(name=name, lat_deg=float(lat), lon_deg=float(lon))


@cache
def cities() -> dict[str, Site]:
    """Return the user sites by key, such as ``sd`` (``data/cities.csv`` names the source)."""
    return {row["key"]: _site(row["name"], row["lat_deg"], row["lon_deg"]) for row in _rows("cities.csv")}


@cache
def gateways() -> list[Site]:
    """Return the gateways of bent-pipe paths (``data/gateways.csv`` names the sources)."""
    return [_site(row["name"], row["lat_deg"], row["lon_deg"]) for row in _rows("gateways.csv")]


@cache
def coastlines() -> list[Floats]:
    """Return the world's coasts, at 1 to 110 million, as (longitude, latitude) lines of shape (points, 2)."""
    with (FOLDER / "coastlines.json").open(encoding="utf-8") as file:
        return [np.array(line) for line in json.load(file)["lines"]]


def _folded(text: str) -> str:
    """Normalize a name for comparison: drop case, accents and repeated blanks."""
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))
    return " ".join(plain.casefold().split())


@cache
def _by_text() -> dict[str, Site]:
    by_name = {_folded(site.name): site for site in cities().values()}
    return {**by_name, **cities()}


def parse(text: str, field: str) -> Site:
    """Parse a site: a city's key or name, ignoring case and accents, or ``LAT,LON`` in degrees.

    Raises:
        InputError: the text is none of these; the message names ``field``.
    """
    city = _by_text().get(_folded(text))
    if city is not None:
        return city
    try:
        lat, lon = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"{field}: {text!r}: must be LAT,LON in degrees or one of the {len(cities())} cities "
            "that `python -m traces list` names"
        ) from None
    try:
        return Site(name=f"{lat:g},{lon:g}", lat_deg=lat, lon_deg=lon)
    except ValidationError as error:
        raise InputError(one_line(field, error)) from None


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
