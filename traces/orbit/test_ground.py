import csv
import re
from itertools import combinations
from math import asin, cos, radians, sin, sqrt
from pathlib import Path

import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.traces.orbit import ground, places

DATA = Path(__file__).resolve().parents[1] / "data"


def _rows(name: str) -> list[dict[str, str]]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def _km(first: ground.Site, second: ground.Site) -> float:
    """Great-circle distance by the haversine formula, independent of `ground`."""
    lat = [radians(site.lat_deg) for site in (first, second)]
    half_lon = radians(second.lon_deg - first.lon_deg) / 2
    chord = sin((lat[1] - lat[0]) / 2) ** 2 + cos(lat[0]) * cos(lat[1]) * sin(half_lon) ** 2
    return 2 * 6371 * asin(sqrt(chord))


@pytest.mark.parametrize("name", ["cities.csv", "gateways.csv"])
def test_there_are_at_least_100_sites_each_with_a_country_and_a_source(name):
    rows = _rows(name)
    assert len(rows) >= 100
    assert len({(row["name"], row["country"]) for row in rows}) == len(rows)
    head = "".join(line for line in (DATA / name).read_text(encoding="utf-8").splitlines() if line[0] == "#")
    for row in rows:
        assert re.fullmatch("[A-Z]{2}", row["country"])
        # The head of the file explains every source.
        assert row["source"].partition(":")[0] in head
        assert -60 < float(row["lat_deg"]) < 75
        assert -180 <= float(row["lon_deg"]) <= 180


def test_cities_come_with_their_number_in_geonames_and_no_number_twice():
    sources = [row["source"] for row in _rows("cities.csv")]
    assert all(re.fullmatch(r"geonames:\d+", source) for source in sources)
    assert len(set(sources)) == len(sources)


_PAPERS = ["San Diego", "New York", "Seattle", "London", "Shanghai", "Buenos Aires", "St. John's", "Lawrence"]
_PAPERS += ["Lagos", "Victoria", "Manila", "Dalian", "Saint Petersburg", "Paris", "Luanda"]


@pytest.mark.parametrize("name", _PAPERS)
def test_the_cities_of_the_papers_are_there(name):
    assert places.parse(name, "site").name == name


@pytest.mark.parametrize(
    ("first", "second", "km"),
    [
        # Great-circle distances from atlases.
        ("New York", "London", 5570),
        ("San Diego", "New York", 3900),
        ("Tokyo", "Osaka", 400),
        ("Sydney", "Auckland", 2156),
        ("Paris", "Luanda", 6480),
        ("Sao Paulo", "Rio de Janeiro", 360),
        ("St. John's", "London", 3740),
        ("Lawrence", "New York", 1800),
        ("Manila", "Dalian", 2700),
    ],
)
def test_known_distances_between_cities_come_out(first, second, km):
    ends = places.parse(first, "a"), places.parse(second, "b")
    assert _km(*ends) == pytest.approx(km, rel=0.02)
    assert ground.great_circle_km([ends[0]], [ends[1]]) == pytest.approx([_km(*ends)], rel=1e-9)


def test_opposite_points_are_half_a_circle_apart_and_a_point_is_at_no_distance_from_itself():
    pole, equator = (ground.Site(name="", lat_deg=lat, lon_deg=20) for lat in (-90.0, 0.0))
    opposite = ground.Site(name="", lat_deg=0, lon_deg=-160)
    half_km = np.pi * ground.MEAN_RADIUS_KM
    distances = ground.great_circle_km([equator, equator, equator], [opposite, pole, equator])
    assert distances == pytest.approx([half_km, half_km / 2, 0])


def test_no_two_cities_and_no_two_gateways_are_one_place():
    for sites, apart_km in ((list(places.cities().values()), 20), (ground.gateways(), 2.2)):
        for first, second in combinations(sites, 2):
            if abs(first.lat_deg - second.lat_deg) < 0.3:
                assert _km(first, second) > apart_km, (first, second)


# South, north, west and east limits of each country with gateways, in degrees, with a margin.
_COUNTRIES = {
    "AR": (-55, -21, -74, -53),
    "AU": (-44, -10, 113, 154),
    "BR": (-34, 6, -74, -34),
    "CA": (41, 84, -141, -52),
    "CL": (-56, -17, -76, -66),
    "CW": (12, 12.5, -69.2, -68.7),
    "DE": (47, 55.1, 5.8, 15.1),
    "DO": (17.5, 20, -72.1, -68.3),
    "ES": (36, 43.8, -9.4, 4.4),
    "FJ": (-20, -16, 177, 180),
    "FR": (42.3, 51.1, -5, 8.3),
    "GB": (49.8, 61, -8.3, 1.8),
    "GU": (13.2, 13.7, 144.6, 145),
    "IE": (51.4, 55.4, -10.6, -5.9),
    "IT": (36.6, 47.1, 6.6, 18.6),
    "JP": (24, 45.6, 122.9, 146),
    "LT": (53.9, 56.5, 20.9, 26.9),
    "MX": (14.5, 32.8, -117.2, -86.7),
    "NG": (4.2, 13.9, 2.6, 14.7),
    "NZ": (-47.4, -34.3, 166.4, 178.6),
    "PH": (4.5, 21.2, 116.9, 126.7),
    "PL": (49, 54.9, 14.1, 24.2),
    "PR": (17.9, 18.6, -67.3, -65.5),
    "PT": (36.9, 42.2, -9.6, -6.1),
    "TR": (35.8, 42.2, 25.6, 44.9),
    "US": (18.9, 71.5, -180, -66.9),
}


def test_every_gateway_is_in_its_country():
    for row in _rows("gateways.csv"):
        south, north, west, east = _COUNTRIES[row["country"]]
        assert south <= float(row["lat_deg"]) <= north, row
        assert west <= float(row["lon_deg"]) <= east, row


@pytest.mark.parametrize("text", ["sd", "SD", "San Diego", " san  diego ", "32.7157,-117.1647"])
def test_a_site_goes_by_key_name_or_coordinates(text):
    site = places.parse(text, "--from")
    assert (site.lat_deg, site.lon_deg) == (32.7157, -117.1647)


def test_accents_may_be_left_out_and_keys_win_over_names():
    assert places.parse("medellin", "--to") == places.parse("Medellín", "--to")
    for city in places.table():
        assert places.parse(city.key, "--to") == city.site
        assert places.parse(city.full_name, "--to") == city.site
    for city in places.best_known():
        for name in city.names:
            assert places.parse(name, "--to") == city.site


@pytest.mark.parametrize("text", ["", "Atlantis", "1,2,3", "1;2", "91,0", "0,181", "inf,0"])
def test_what_is_no_site_is_one_line_with_the_field(text):
    with pytest.raises(InputError) as caught:
        places.parse(text, "--to")
    assert str(caught.value).startswith("--to: ")
    assert "\n" not in str(caught.value)


def test_coasts_are_lines_on_the_map_and_pass_by_coastal_cities():
    coasts = ground.coastlines()
    points = np.concatenate(coasts)
    assert (np.abs(points) <= [180, 90]).all()
    for city in ("Lisbon", "Sydney", "Cape Town", "Mumbai", "Buenos Aires"):
        site = places.parse(city, "city")
        away = np.hypot(points[:, 0] - site.lon_deg, points[:, 1] - site.lat_deg).min()
        assert away < 2, city
    # Inland cities are far from any line because the data has no borders between countries.
    for city in ("Lawrence", "Almaty", "Brasília"):
        site = places.parse(city, "city")
        assert np.hypot(points[:, 0] - site.lon_deg, points[:, 1] - site.lat_deg).min() > 3, city
