from datetime import UTC, datetime

import numpy as np
import pytest

from leogym.configs.errors import InputError
from leogym.traces.orbit import constellation, isl, places
from leogym.traces.orbit.satellites import CircularOrbits
from leogym.traces.path.build import Builder, build
from leogym.traces.path.spec import PathSpec

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "satellites", "altitude_km"),
    [
        ("starlink", 4408, 540),
        ("starlink-1", 72 * 22, 550),
        ("starlink-2", 72 * 22, 540),
        ("starlink-3", 36 * 20, 570),
        ("starlink-4", 6 * 58 + 4 * 43, 560),
        ("starlink-leoem", 24 * 66, 550),
        ("kuiper", 3236, 590),
        ("kuiper-590", 28 * 28, 590),
        ("kuiper-610", 36 * 36, 610),
        ("kuiper-630", 34 * 34, 630),
        ("telesat", 351 + 1320, 1015),
        ("telesat-1015", 27 * 13, 1015),
        ("telesat-1325", 40 * 33, 1325),
        ("oneweb", 720, 1200),
    ],
)
def test_every_constellation_that_comes_along_loads(name, satellites, altitude_km):
    data = constellation.load(name)
    assert len(data.elements.radius_km) == satellites
    assert data.altitude_km == pytest.approx(altitude_km)
    assert name in constellation.names()


def test_every_constellation_that_comes_along_is_tested():
    names = test_every_constellation_that_comes_along_loads.pytestmark[0].args[1]
    assert sorted(name for name, *_ in names) == constellation.names()


def test_a_constellation_without_lasers_has_no_links_and_says_so():
    data = constellation.load("oneweb")
    assert isl.plus_grid(data).shape == (0, 2)
    cities = places.cities()
    spec = PathSpec(name="x", from_site=cities["sd"], to_site=cities["ny"], constellation="oneweb")
    with pytest.raises(InputError, match="x: links: oneweb has no links between satellites: use bent-pipe"):
        Builder(spec)


def test_links_are_no_longer_than_a_constellation_says(tmp_path):
    file = tmp_path / "short.yaml"
    text = (constellation.FOLDER / "starlink-1.yaml").read_text()
    file.write_text(text + "isl_max_km: 1500\n")
    cities = places.cities()
    longest_km = []
    for name in (str(file), "starlink-1"):
        spec = PathSpec(
            name="x", from_site=cities["sd"], to_site=cities["ny"], constellation=name, duration_s=20.0
        )
        longest_km.append(max(legs_km[1:-1].max() for legs_km in build(spec).leg_km[:-1]))
    assert longest_km[0] <= 1500 < longest_km[1]


def test_no_two_satellites_of_starlinks_shell_come_close():
    orbits = CircularOrbits(constellation.load("starlink-1"), EPOCH)
    # The shell looks the same from each satellite, so checking one is enough.
    closest_km = np.inf
    for time_s in np.linspace(0, 5739, 4000):
        positions = orbits.positions_km(time_s)
        closest_km = min(closest_km, np.linalg.norm(positions[1:] - positions[0], axis=1).min())
    assert closest_km == pytest.approx(71.5, abs=0.1)


@pytest.mark.parametrize("name", ["starlink-1", "kuiper-630"])
def test_the_grid_links_every_satellite_with_four_others(name):
    data = constellation.load(name)
    links = isl.plus_grid(data)
    count = len(data.elements.radius_km)
    assert len(links) == 2 * count
    assert (np.bincount(links.ravel(), minlength=count) == 4).all()


@pytest.mark.parametrize("name", ["starlink-1", "kuiper-630"])
def test_the_seam_between_last_and_first_plane_is_like_everywhere_else(name):
    data = constellation.load(name)
    shell, links = data.shells[0], isl.plus_grid(data)
    plane = links // shell.satellites_per_plane
    seam = links[np.ptp(plane, axis=1) > 1]
    # In Kuiper's shell odd planes lead by half a slot, so planes 1 and 2 relate as the last plane and plane
    # 0.
    inside = links[(plane[:, 0] == 1) & (plane[:, 1] == 2)]
    assert len(seam) == len(inside) == shell.satellites_per_plane
    orbits = CircularOrbits(data, EPOCH)
    longest_km = [0.0, 0.0]
    for time_s in np.linspace(0, shell.period_s, 400):
        positions = orbits.positions_km(time_s)
        for side, pairs in enumerate((seam, inside)):
            length_km = np.linalg.norm(positions[pairs[:, 0]] - positions[pairs[:, 1]], axis=1)
            longest_km[side] = max(longest_km[side], length_km.max())
    assert longest_km[0] == pytest.approx(longest_km[1], rel=1e-4)


def test_all_laser_links_of_the_grid_clear_the_atmosphere():
    data = constellation.load("starlink-1")
    links, horizon_km = isl.plus_grid(data), isl.horizon_km(data)
    # Grazing 80 km above the ground, a link between satellites at 550 km is at most 5,017 km long.
    assert 2 * horizon_km[0] == pytest.approx(5017, abs=3)
    orbits = CircularOrbits(data, EPOCH)
    for time_s in np.linspace(0, 5739, 50):
        positions = orbits.positions_km(time_s)
        length = np.linalg.norm(positions[links[:, 0]] - positions[links[:, 1]], axis=1)
        assert (length < horizon_km[links].sum(axis=1)).all()


def test_a_walker_star_has_no_links_between_planes_that_move_against_each_other(tmp_path):
    file = tmp_path / "star.yaml"
    file.write_text(
        "{name: star, source: test, min_elevation_deg: 10, shells: [{planes: 6, satellites_per_plane: 11, "
        "altitude_km: 780, inclination_deg: 86.4, raan_span_deg: 180, phasing: alternate}]}"
    )
    links = isl.plus_grid(constellation.load(str(file)))
    planes = np.sort(links // 11, axis=1)
    assert not ((planes[:, 0] == 0) & (planes[:, 1] == 5)).any()
    assert len(links) == 6 * 11 + 5 * 11


def test_shells_of_one_constellation_are_numbered_one_after_the_other(tmp_path):
    file = tmp_path / "two.yaml"
    file.write_text(
        "{name: two, source: test, min_elevation_deg: 25, shells: ["
        "{planes: 4, satellites_per_plane: 5, altitude_km: 550, inclination_deg: 53}, "
        "{planes: 3, satellites_per_plane: 6, altitude_km: 600, inclination_deg: 70}]}"
    )
    data = constellation.load(str(file))
    assert data.altitude_km == 550
    assert np.unique(data.elements.radius_km[:20]).size == np.unique(data.elements.radius_km[20:]).size == 1
    links = isl.plus_grid(data)
    assert ((links < 20).all(axis=1) | (links >= 20).all(axis=1)).all()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("{name: x}", "source: Field required"),
        (
            "{name: x, source: x, min_elevation_deg: 95, shells: []}",
            "min_elevation_deg: must be a number at least 0 and below 90",
        ),
        (
            "{name: x, source: x, min_elevation_deg: .nan, shells: []}",
            "min_elevation_deg: must be a number at least 0 and below 90",
        ),
        ("{name: x, source: x, min_elevation_deg: 5, shells: [], colour: red}", "unknown key"),
        ("{", "not YAML"),
    ],
)
def test_a_bad_constellation_file_is_named_with_field_and_rule(tmp_path, text, rule):
    file = tmp_path / "own.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        constellation.load(str(file))
    assert str(file) in str(error.value)
    if "unknown" not in rule:
        assert rule in str(error.value)


def test_an_unknown_constellation_is_named_with_those_there_are():
    with pytest.raises(
        InputError, match=r"constellation: 'starlink-9': neither a file nor a known .*nearest: starlink-4"
    ):
        constellation.load("starlink-9")
