"""The ground stations of a network."""

import csv
import io
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from leogym.common import text_file
from leogym.common.errors import InputError, one_line
from leogym.configs.network import Grid, Network
from leogym.traces.orbit import places, population
from leogym.traces.orbit.ground import Site

_COLUMNS = ("name", "lat_deg", "lon_deg")
MOST_BYTES = 64 << 20
"""Size of a CSV file."""


@dataclass(frozen=True)
class GroundStations:
    """Stations with unique names, and their populations, shape (stations,), if a file or a grid has them."""

    sites: list[Site]
    population: NDArray[np.float64] | None

    def index(self, name: str, field: str) -> int:
        """Return a station's index; an `InputError` names ``field`` if there is none."""
        if name not in self._indices:
            raise InputError(f"{field}: {name!r}: no station has this name")
        return self._indices[name]

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {site.name: index for index, site in enumerate(self.sites)}


def resolve(network: Network) -> GroundStations:
    """Return the stations of a network.

    Raises:
        InputError: a city is unknown, the file is invalid, or two stations have one name.
    """
    source = f"{network.name}: stations"
    stations = network.stations
    if stations.file is not None:
        return _read(Path(stations.file))
    if stations.names is not None:
        # A station has the name by which the file knows it.
        sites = [
            places.parse(name, f"{source}.names.{index}").model_copy(update={"name": name})
            for index, name in enumerate(stations.names)
        ]
        return GroundStations(_unique(sites, source), None)
    if stations.grid is not None:
        return _grid(stations.grid, f"{source}.grid")
    cities = places.table()
    assert stations.cities is not None
    if stations.cities > len(cities):
        raise InputError(f"{source}.cities: there are {len(cities):,} cities, not {stations.cities:,}")
    drawn = np.random.default_rng(network.seed).choice(len(cities), stations.cities, replace=False)
    # Some cities share their names.
    named = [cities[index] for index in np.sort(drawn)]
    return GroundStations([city.site.model_copy(update={"name": city.key}) for city in named], None)


def _grid(grid: Grid, source: str) -> GroundStations:
    cells = population.cells(grid.cell_deg)
    if grid.cells > len(cells):
        raise InputError(
            f"{source}.cells: {len(cells):,} cells of {grid.cell_deg} degrees are inhabited, not "
            f"{grid.cells:,}"
        )
    chosen = cells[: grid.cells]
    sites = [places.parse(f"{lat:.2f},{lon:.2f}", source) for lat, lon, _ in chosen]
    return GroundStations(_unique(sites, source), chosen[:, 2])


def _read(path: Path) -> GroundStations:
    reader = csv.DictReader(io.StringIO(text_file.read(path, MOST_BYTES)))
    header = reader.fieldnames or []
    if missing := [column for column in _COLUMNS if column not in header]:
        raise InputError(f"{path}:1: {missing[0]}: no such column; there must be {', '.join(_COLUMNS)}")
    sites, population = [], []
    for row in reader:
        source = f"{path}:{reader.line_num}"
        try:
            numbers = {column: float(row[column]) for column in ("lat_deg", "lon_deg")}
            people = float(row["population"]) if "population" in header else 0.0
        except (TypeError, ValueError):
            raise InputError(f"{source}: lat_deg, lon_deg and population must be numbers") from None
        if not 0 <= people < 1e12:
            raise InputError(f"{source}: population: must be a number at least 0, not {people:g}")
        try:
            sites.append(Site(name=row["name"], **numbers))
        except ValidationError as error:
            raise InputError(one_line(source, error)) from None
        population.append(people)
    if len(sites) < 2:
        raise InputError(f"{path}: (file): must have at least two stations")
    people = np.array(population) if "population" in header else None
    return GroundStations(_unique(sites, str(path)), people)


def _unique(sites: list[Site], source: str) -> list[Site]:
    names: set[str] = set()
    for site in sites:
        if site.name in names:
            raise InputError(f"{source}: {site.name!r}: two stations have this name")
        names.add(site.name)
    return sites
