from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sgp4.api import WGS72, Satrec, jday

from leogym.common.errors import InputError
from leogym.traces.orbit import constellation, isl, places, tle
from leogym.traces.orbit.satellites import Sgp4Orbits
from leogym.traces.path.build import build
from leogym.traces.path.spec import PathSpec

# Vallado et al., "Revisiting Spacetrack Report #3" (AIAA 2006-6753): a near-earth and a deep-space satellite.
VANGUARD = (
    "1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753",
    "2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667",
)
MOLNIYA = (
    "1 08195U 75081A   06176.33215444  .00000099  00000-0  11873-3 0   813",
    "2 08195  64.1586 279.0717 6877146 264.7651  20.2257  2.00491383225656",
)


def _checked(line):
    return line[:68] + str(tle.checksum(line))


def _file(tmp_path, *lines, name="own.tle"):
    file = tmp_path / name
    file.write_text("\n".join(lines) + "\n")
    return file


def _shell_lines(name, header=False):
    """Return a shell's names and two-line elements in Hypatia's format."""
    data = constellation.load(name)
    elements, shell = data.elements, data.shells[0]
    lines = [f"{shell.planes} {shell.satellites_per_plane}"] if header else []
    for index in range(len(elements.radius_km)):
        first = f"1 {index + 1:05d}U 00000ABC 00001.00000000  .00000000  00000-0  00000+0 0    0"
        motion = shell.mean_motion_rev_per_day or elements.motion_rad_per_s[index] * 86_400 / 2 / np.pi
        second = (
            f"2 {index + 1:05d} {np.degrees(elements.inclination_rad[index]):8.4f} "
            f"{np.degrees(elements.node_rad[index]):8.4f} 0000001 {0.0:8.4f} "
            f"{np.degrees(elements.argument_rad[index]):8.4f} {motion:11.8f}    0"
        )
        lines += [f"{name} {index}", _checked(first + "0"), _checked(second + "0")]
    return lines


@pytest.mark.parametrize("lines", [VANGUARD, MOLNIYA])
def test_satellites_of_a_file_are_where_the_reference_implementation_has_them(tmp_path, lines):
    reference = Satrec.twoline2rv(*lines, WGS72)
    data = constellation.load(str(_file(tmp_path, *lines)))
    epoch = data.catalogue.satellites[0].epoch
    assert epoch.timestamp() == pytest.approx(
        (reference.jdsatepoch + reference.jdsatepochF - 2_440_587.5) * 86_400, abs=1e-3
    )
    start = datetime(epoch.year, epoch.month, epoch.day, tzinfo=UTC)
    orbits = Sgp4Orbits(data, start)
    time_s = np.arange(0, 2 * 86_400, 1800.0)
    day, fraction = jday(epoch.year, epoch.month, epoch.day, 0, 0, 0)
    errors, theirs, _ = reference.sgp4_array(np.full(len(time_s), day), fraction + time_s / 86_400)
    assert not errors.any()
    # 1e-4 km: epochs are rounded to a microsecond, in which these satellites move a centimetre.
    assert orbits.inertial_km(time_s, 0) == pytest.approx(theirs, abs=1e-4)


def test_names_blank_lines_and_comments_may_be_there(tmp_path):
    file = _file(tmp_path, "# made up", "0 VANGUARD 1", *VANGUARD, "", "MOLNIYA 2-14  ", *MOLNIYA)
    found = tle.parse(file.read_bytes(), "x")
    assert [own.name for own in found.satellites] == ["VANGUARD 1", "MOLNIYA 2-14"]
    assert found.grid is None
    assert [own.name for own in tle.parse("\r\n".join(VANGUARD).encode(), "x").satellites] == ["00005"]


def test_a_shell_read_from_its_two_line_elements_is_the_shell_itself(tmp_path):
    file = _file(tmp_path, *_shell_lines("kuiper-630", header=True), name="kuiper.txt")
    ours, theirs = constellation.load("kuiper-630"), constellation.load(str(file))
    epoch = datetime(2000, 1, 1, tzinfo=UTC)
    assert theirs.catalogue.grid == (34, 34)
    assert Sgp4Orbits(theirs, epoch).positions_km(77.0) == pytest.approx(
        Sgp4Orbits(ours, epoch).positions_km(77.0), abs=1e-6
    )
    assert isl.plus_grid(theirs).tolist() == isl.plus_grid(ours).tolist()


@pytest.mark.parametrize("name", ["starlink-1", "starlink-leoem"])
def test_the_grid_is_found_again_in_shuffled_elements_that_do_not_state_it(tmp_path, name):
    lines = _shell_lines(name)
    order = np.random.default_rng(1).permutation(len(lines) // 3)
    file = _file(tmp_path, *(line for index in order for line in lines[3 * index : 3 * index + 3]))
    data = constellation.load(str(file))
    orbits = Sgp4Orbits(data, datetime(2000, 1, 1, 3, tzinfo=UTC))
    found = np.sort(order[isl.plus_grid(data, orbits)], axis=1)
    stated = isl.plus_grid(constellation.load(name))
    assert sorted(found.tolist()) == sorted(stated.tolist())


def test_where_two_are_equally_near_the_grid_is_regular_all_the_same(tmp_path):
    # Odd planes of this shell lead by half a slot.
    data = constellation.load(str(_file(tmp_path, *_shell_lines("kuiper-630"))))
    links = isl.plus_grid(data, Sgp4Orbits(data, datetime(2000, 1, 1, 3, tzinfo=UTC)))
    assert (np.bincount(links.ravel()) == 4).all()
    assert len(links) == 2 * 34 * 34


def test_a_path_over_two_line_elements_can_be_built(tmp_path):
    file = _file(tmp_path, *_shell_lines("starlink-1"))
    cities = places.cities()
    path = build(
        PathSpec(
            name="x",
            from_site=cities["ny"],
            to_site=cities["ldn"],
            constellation=str(file),
            duration_s=20.0,
        )
    )
    assert path.connected[0]
    # New York and London are 5,570 km apart: no less than 18.6 ms.
    assert 19e6 < path.delay_ns.min() < 30e6


def test_a_yaml_file_may_name_a_file_of_elements_beside_it(tmp_path):
    _file(tmp_path, *VANGUARD, name="vanguard.tle")
    own = tmp_path / "own.yaml"
    own.write_text("{name: own, source: test, min_elevation_deg: 5, isl: none, tle_file: vanguard.tle}")
    data = constellation.load(str(own))
    assert data.sgp4
    # At 10.82 revolutions a day the semi-major axis is 8,632.5 km; the perigee is at 1 - 0.186 of it.
    assert data.altitude_km == pytest.approx(8632.5 * (1 - 0.1859667) - 6378.1, abs=0.5)
    own.write_text("{name: own, source: test, min_elevation_deg: 5}")
    with pytest.raises(InputError, match="give shells or tle_file"):
        constellation.load(str(own))


def test_a_satellite_that_falls_down_is_named(tmp_path):
    first = VANGUARD[0][:53] + " 99999-0" + VANGUARD[0][61:]
    second = VANGUARD[1][:26] + "0010000" + VANGUARD[1][33:52] + "16.40000000" + VANGUARD[1][63:]
    data = constellation.load(str(_file(tmp_path, _checked(first), _checked(second))))
    orbits = Sgp4Orbits(data, datetime(2000, 7, 30, tzinfo=UTC))
    with pytest.raises(InputError, match="constellation: own: satellite 0: "):
        orbits.positions_km(0.0)


L1, L2 = VANGUARD


def _first(place, text):
    return _checked(L1[:place] + text + L1[place + len(text) :]), L2


def _second(place, text):
    return L1, _checked(L2[:place] + text + L2[place + len(text) :])


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        ((L1[:-1] + "4", L2), ":1: checksum: must be 3, not '4'"),
        ((L1, L2[:-1] + "x"), ":2: checksum: must be 7, not 'x'"),
        ((L1[:-1], L2), ":1: length: must be 69 characters, not 68"),
        ((L1, L2 + "0"), ":2: length: must be 69 characters, not 70"),
        ((L1,), ":1: line 2: must follow line 1"),
        ((L2, L1), ":1: line 2: comes without its line 1"),
        (("NAME", L2), ":1: line 1: must follow the name 'NAME'"),
        (("NAME",), ":1: line 1: must follow the name 'NAME'"),
        (_second(2, "00006"), ":2: satellite: must be that of line 1, '00005', not '00006'"),
        (_second(8, " 34.26x2"), ":2: inclination: ' 34.26x2' is not a number"),
        (_second(8, "234.2682"), ":2: inclination: must be from 0 to 180, not 234.268"),
        (_second(17, "748.7242"), ":2: right ascension: must be from 0 to 360, not 748.724"),
        (_second(26, "18x9667"), ":2: eccentricity: '18x9667' must be digits only"),
        (_second(52, "00.00000000"), ":2: mean motion: must be from 0.01 to 18, not 0"),
        (_first(20, "000.78495062"), ":1: epoch: must be from 1 to 367, not 0.784951"),
        (_first(18, "x"), ":1: epoch: 'x0' must be digits only"),
        (_first(53, " 28x98-4"), ":1: B*: ' 28x98-4' is not a number like ' 28098-4'"),
        (("3 4", L1, L2), ":1: file: says 3 x 4 satellites, but 1 follow"),
        (("# nothing",), ": file: has no two-line elements"),
    ],
)
def test_malformed_elements_are_named_with_line_and_rule(tmp_path, lines, rule):
    file = _file(tmp_path, *lines)
    with pytest.raises(InputError) as error:
        constellation.load(str(file))
    assert str(error.value) == f"{file}{rule}"


def test_elements_that_describe_no_orbit_are_named_by_the_propagator(tmp_path):
    second = _checked(L2[:26] + "9999999" + L2[33:52] + "17.99999999" + L2[63:])
    data = constellation.load(str(_file(tmp_path, L1, second)))
    with pytest.raises(InputError, match="constellation: own: satellite 0"):
        Sgp4Orbits(data, datetime(2000, 7, 1, tzinfo=UTC)).positions_km(0.0)


def test_a_huge_file_is_refused_unread(tmp_path):
    file = tmp_path / "huge.tle"
    with file.open("wb") as sparse:
        sparse.truncate(10 << 30)
    with pytest.raises(InputError, match="more than the 67,108,864 bytes"):
        constellation.load(str(file))


def _found(data):
    try:
        return tle.parse(data, "x").satellites
    except InputError as error:
        return str(error)


@given(st.binary(max_size=200) | st.text(alphabet="12 .-+0U\n", max_size=300).map(str.encode))
def test_any_bytes_are_elements_or_one_line(data):
    found = _found(data)
    assert found
    assert "\n" not in found
