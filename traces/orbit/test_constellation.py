import json
from datetime import UTC, datetime

import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.traces.orbit import constellation, isl, places
from leogym.traces.orbit.satellites import CircularOrbits, propagator
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
        ("{name: x}", "(whole file): give shells or tle_file, not both or neither"),
        (
            "{shells: [{planes: 3, altitude_km: 600}]}",
            "shells.0.satellites_per_plane, inclination_deg: Field required",
        ),
        (
            "{name: x, altitude_km: 600, planes: 3}",
            "altitude_km, planes: must be in an entry of shells, as in shells: [{altitude_km: 600}]",
        ),
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


OWN = {
    "name": "own",
    "source": "test",
    "min_elevation_deg": 25,
    "shells": [{"planes": 72, "satellites_per_plane": 22, "altitude_km": 550, "inclination_deg": 53}],
}


def _own(tmp_path, first_shell, **fields):
    file = tmp_path / "own.yaml"
    file.write_text(json.dumps({**OWN, "shells": [OWN["shells"][0] | first_shell], **fields}))
    return file


@pytest.mark.parametrize("orbits", ["sgp4", "circular"])
def test_an_altitude_that_contradicts_the_mean_motion_is_refused_with_both(tmp_path, orbits):
    file = _own(tmp_path, {"mean_motion_rev_per_day": 13.66}, orbits=orbits)
    with pytest.raises(InputError) as error:
        constellation.load(str(file))
    assert str(error.value) == (
        f"{file}: shells.0: mean_motion_rev_per_day: 13.66 belongs to 1014 km; altitude_km is 550, to which "
        "15.05 belongs"
    )


# Kepler's at 550 km is 15.055; Kozai's at 53° and at the equator; Kepler's at 550 km over a mean radius.
@pytest.mark.parametrize("motion", [15.055, 15.06, 15.077, 15.078, 15.03])
def test_a_mean_motion_that_the_oblateness_explains_is_read(tmp_path, motion):
    file = _own(tmp_path, {"mean_motion_rev_per_day": motion}, orbits="sgp4")
    assert constellation.load(str(file)).shells[0].mean_motion_rev_per_day == motion


@pytest.mark.parametrize(
    ("shell", "fields", "rule"),
    [
        ({"planes": 0}, {}, "shells.0.planes: must be a whole number from 1 to 1,000, not 0"),
        ({"planes": 1001}, {}, "shells.0.planes: must be a whole number from 1 to 1,000, not 1001"),
        ({"satellites_per_plane": 0}, {}, "shells.0.satellites_per_plane: must be a whole number from 1 to"),
        ({"altitude_km": 159}, {}, "shells.0.altitude_km: must be a number from 160 to 50,000, not 159"),
        ({"altitude_km": 10**299}, {}, "shells.0.altitude_km: must be a number from 160 to 50,000, not 1"),
        ({"altitude_km": "550"}, {}, "shells.0.altitude_km: must be a number from 160 to 50,000, not '550'"),
        ({"inclination_deg": -1}, {}, "shells.0.inclination_deg: must be a number from 0 to 180, not -1"),
        ({"inclination_deg": 181}, {}, "shells.0.inclination_deg: must be a number from 0 to 180, not 181"),
        ({"raan_span_deg": 0}, {}, "shells.0.raan_span_deg: must be a number above 0 and at most 360, not 0"),
        ({"raan_span_deg": 361}, {}, "shells.0.raan_span_deg: must be a number above 0 and at most 360, not"),
        ({"phasing": 72}, {}, "shells.0: phasing: must be below planes, 72, not 72"),
        ({"phasing": -1}, {}, "shells.0.phasing"),
        ({"phasing": 10**299}, {}, "shells.0.phasing"),
        ({"isl_slot_shift": 22}, {}, "shells.0: isl_slot_shift: must be shorter than satellites_per_pla"),
        ({"isl_slot_shift": -(10**30)}, {}, "shells.0.isl_slot_shift: must be a whole number above -1,000"),
        ({"mean_motion_rev_per_day": 0.01}, {}, "shells.0.mean_motion_rev_per_day: must be a number above"),
        ({}, {"min_elevation_deg": 90}, "min_elevation_deg: must be a number at least 0 and below 90, "),
        ({}, {"min_elevation_deg": float("nan")}, "min_elevation_deg: must be a number at least 0 and below"),
        ({}, {"isl_max_km": 0}, "isl_max_km: must be a number above 0, not 0"),
        ({}, {"isl_max_km": float("inf")}, "isl_max_km: must be a number above 0, not inf"),
        ({}, {"isl_min_altitude_km": -1}, "isl_min_altitude_km: must be a number at least 0, not -1"),
        ({}, {"isl_min_altitude_km": 550}, "(whole file): isl_min_altitude_km: must be below the low"),
        ({}, {"shells": []}, "(whole file): give shells or tle_file, not both or neither"),
        ({}, {"tle_file": "x"}, "(whole file): give shells or tle_file, not both or neither"),
        ({}, {"orbits": "sgp"}, "orbits: Input should be 'circular' or 'sgp4', not 'sgp' (nearest: sgp4"),
        ({}, {"shell": []}, "shell: unknown key (nearest: shells"),
    ],
)
def test_fields_beyond_their_bounds_are_refused_by_name(tmp_path, shell, fields, rule):
    file = _own(tmp_path, shell, **fields)
    # JSON writes nan and inf in other words than YAML.
    file.write_text(file.read_text().replace("NaN", ".nan").replace("Infinity", ".inf"))
    with pytest.raises(InputError) as error:
        constellation.load(str(file))
    assert str(error.value).startswith(f"{file}: {rule}")


def test_more_satellites_than_memory_holds_are_refused(tmp_path):
    shell = OWN["shells"][0] | {"planes": 1000, "satellites_per_plane": 101}
    with pytest.raises(InputError, match="shells: must have at most 100,000 satellites, not 101,000"):
        constellation.load(str(_own(tmp_path, {}, shells=[shell])))


@pytest.mark.parametrize(
    ("shell", "fields"),
    [
        ({"planes": 1, "satellites_per_plane": 1}, {}),
        ({"planes": 1, "satellites_per_plane": 1000}, {}),
        ({"planes": 1000, "satellites_per_plane": 1}, {}),
        ({"altitude_km": 160, "inclination_deg": 0}, {"orbits": "sgp4"}),
        ({"altitude_km": 50_000, "inclination_deg": 180}, {"orbits": "sgp4"}),
        ({"altitude_km": 50_000, "inclination_deg": 90, "raan_span_deg": 1e-9}, {}),
        ({"phasing": 71, "isl_slot_shift": -21}, {"isl_min_altitude_km": 549.9}),
        ({"phasing": "alternate", "isl_slot_shift": 21}, {"isl_max_km": 1e-9, "min_elevation_deg": 0}),
    ],
)
def test_fields_at_their_bounds_give_orbits_and_links(tmp_path, shell, fields):
    data = constellation.load(str(_own(tmp_path, shell, **fields)))
    orbits = propagator(data, EPOCH)
    assert np.isfinite(orbits.positions_km(10.0)).all()
    links = isl.plus_grid(data)
    assert links.size == 0 or links.max() < orbits.count
    assert sum(len(mesh) for mesh in isl.meshes(links, orbits.count)) in (0, orbits.count)


@pytest.mark.parametrize("content", ["", "[1, 2]", "a word", "\x00\x01"])
def test_a_file_that_is_neither_says_what_is_read(tmp_path, content):
    file = tmp_path / "x"
    file.write_text(content)
    with pytest.raises(InputError, match=r"neither satellites \(two-line elements, or OMM as CSV, JSON"):
        constellation.load(str(file))


def test_a_file_needs_nothing_but_a_shell(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("shells: [{planes: 24, satellites_per_plane: 24, altitude_km: 600, inclination_deg: 55}]")
    data = constellation.load(str(file))
    assert (data.name, data.source, data.min_elevation_deg) == ("mine", "mine.yaml", 25.0)
    assert len(data.elements.radius_km) == 576
