"""Places that users name: cities by any usual name, and any latitude and longitude."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from pydantic import ValidationError

from leogym.common.command_line import leogym_command
from leogym.common.errors import InputError, one_line
from leogym.common.nearest import folded, suggest_names
from leogym.traces.orbit import ground
from leogym.traces.orbit.ground import Site

LISTED_BY = leogym_command("traces", "list", "CITY")
"""The command that finds cities by a part of their names."""
_SHORT = 3
"""Keys up to this length are those of the best known cities, whose names win over others'."""


@dataclass(frozen=True)
class City:
    """A city of ``data/cities.csv``, which names the source."""

    key: str
    """``sd``, ``valencia-es``; unique."""
    site: Site
    aliases: tuple[str, ...]
    country: str
    """The usual English name."""
    code: str
    """ISO 3166-1 alpha-2."""
    continent: str

    @property
    def names(self) -> tuple[str, ...]:
        """The name and other usual names."""
        return (self.site.name, *self.aliases)

    @property
    def full_name(self) -> str:
        """Name and country."""
        return f"{self.site.name}, {self.country}"


@cache
def table() -> tuple[City, ...]:
    """Return all cities; those with short keys come first."""
    countries = {row["code"]: row for row in ground.rows("countries.csv")}
    return tuple(
        City(
            row["key"],
            ground.site(row["name"], row["lat_deg"], row["lon_deg"]),
            tuple(filter(None, row["aliases"].split("|"))),
            countries[row["country"]]["name"],
            row["country"],
            countries[row["country"]]["continent"],
        )
        for row in ground.rows("cities.csv")
    )


def best_known() -> list[City]:
    """Return the cities with short keys."""
    return [city for city in table() if len(city.key) <= _SHORT]


@cache
def cities() -> dict[str, Site]:
    """Return the cities' sites by key."""
    return {city.key: city.site for city in table()}


@cache
def _by_text() -> tuple[dict[str, list[City]], ...]:
    """Return the cities by their possible names; an earlier mapping wins."""
    keys: dict[str, list[City]] = {}
    cities_by_name: dict[str, list[City]] = {}
    cities_by_alias: dict[str, list[City]] = {}
    for city in table():
        keys[city.key] = [city]
        for name in city.names:
            for text in (f"{name}, {city.code}", f"{name}, {city.country}"):
                _add(keys, text, city)
            _add(cities_by_name if len(city.key) <= _SHORT else cities_by_alias, name, city)
    return keys, cities_by_name, cities_by_alias


def _add(to: dict[str, list[City]], text: str, city: City) -> None:
    cities = to.setdefault(folded(text), [])
    if city not in cities:
        cities.append(city)


def like(text: str) -> list[City]:
    """Return the cities with ``text`` in one of their names, in their key or country."""
    part = folded(text)
    return [
        city
        for city in table()
        if any(part in folded(name) for name in (city.key, *city.names, city.country))
    ]


def parse(text: str, field: str) -> Site:
    """Parse a place: a city's key, any of its names, ``NAME, COUNTRY``, or ``LAT,LON`` in degrees.

    Case and accents do not matter.

    Raises:
        InputError: the text is none of these, or several cities have the name; the message names ``field``.
    """
    for mapping in _by_text():
        matches = mapping.get(folded(text), [])
        if len(matches) == 1:
            return matches[0].site
        if matches:
            keys = ", ".join(f"{city.key} ({city.full_name})" for city in matches)
            raise InputError(f"{field}: {text!r}: several cities have this name; give one's key: {keys}")
    try:
        lat, lon = (float(part) for part in text.split(","))
    except ValueError:
        names = [name for city in table() for name in city.names]
        nearest = suggest_names(text, names, LISTED_BY)
        raise InputError(
            f"{field}: {text!r}: neither LAT,LON in degrees nor a known city {nearest}"
        ) from None
    try:
        return Site(name=f"{lat:g},{lon:g}", lat_deg=lat, lon_deg=lon)
    except ValidationError as error:
        raise InputError(one_line(field, error)) from None


def continents(sites: list[Site]) -> list[str]:
    """Return for each site the continent of the nearest city's country."""
    city_km = ground.stations([city.site for city in table()]).position_km
    nearest = [
        int(np.linalg.norm(city_km - km, axis=1).argmin()) for km in ground.stations(sites).position_km
    ]
    return [table()[city].continent for city in nearest]
