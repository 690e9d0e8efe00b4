"""The grid by population: no inhabitant is lost, each station lies among its cell's people."""

import numpy as np
import pytest

from leogym.traces.orbit import ground, places, population


@pytest.mark.parametrize("cell_deg", [1, 5, 7, 30])
def test_a_grid_has_all_inhabitants_each_in_their_cell(cell_deg):
    cells = population.cells(cell_deg)
    thousands = [int(row["thousands"]) for row in ground.rows("population.csv")]
    assert cells[:, 2].sum() == pytest.approx(1000 * sum(thousands))
    assert np.all(np.diff(cells[:, 2]) <= 0)
    corners = np.floor((cells[:, :2] + [90, 180]) / cell_deg)
    assert len(np.unique(corners, axis=0)) == len(cells)


def test_the_most_populous_cells_are_around_the_largest_cities():
    # Of the UN's ten largest agglomerations, those that lie within one cell of 2 degrees.
    largest = [places.cities()[key] for key in ("tyo", "del", "sha", "sao", "mex")]
    top = [ground.Site(name="", lat_deg=lat, lon_deg=lon) for lat, lon, _ in population.cells(2)[:12]]
    for city in largest:
        assert ground.great_circle_km([city] * len(top), top).min() < 60


def test_a_region_is_the_continent_of_the_nearest_city():
    sites = [
        places.parse(name, "") for name in ("lis", "51.3,0.1", "nbo", "-33,151", "38,-77", "-20,-45", "20,78")
    ]
    assert places.continents(sites) == [
        "Europe", "Europe", "Africa", "Oceania", "North America", "South America", "Asia"
    ]  # fmt: skip
