from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sgp4.api import WGS72, Satrec
from skyfield.api import load as skyfield_load
from skyfield.toposlib import Geoid, ITRSPosition
from skyfield.units import Distance

from leogym.traces.orbit import constellation, earth, ground, places
from leogym.traces.orbit.satellites import CircularOrbits, Sgp4Orbits, propagator
from leogym.traces.orbit.visibility import elevation_deg
from tests.support import catalogues

EPOCH = datetime(2000, 1, 1, tzinfo=UTC)


def _turned(inertial_km, time_s):
    angle = earth.sidereal_angle_rad(EPOCH) + earth.SIDEREAL_RATE_RAD_PER_S * time_s
    cos, sin = np.cos(angle), np.sin(angle)
    x, y, z = inertial_km.T
    return np.stack([x * cos + y * sin, -x * sin + y * cos, z], axis=1)


def _sgp4_km(time_s, inclination_rad, argument_rad, motion_rad_per_min, node_rad):
    """Return inertial positions by the reference implementation, on a nearly circular orbit since `EPOCH`."""
    satellite = Satrec()
    days = 18_263.0  # from 1949-12-31 to 2000-01-01
    shape = 0.0, 0.0, 0.0, 1e-7, 0.0  # without drag; the eccentricity and the perigee's argument are last
    angles = inclination_rad, argument_rad, motion_rad_per_min, node_rad
    satellite.sgp4init(WGS72, "i", 0, days, *shape, *angles)
    return satellite.sgp4_array(np.full(len(time_s), 2_451_544.5), time_s / 86_400)[1]


@pytest.mark.parametrize("year", [2000, 2010, 2025, 2040])
def test_sidereal_time_agrees_with_skyfields(year):
    scale = skyfield_load.timescale(builtin=True)
    instant = datetime(year, 3, 21, 7, 30, tzinfo=UTC)
    theirs = np.radians(scale.from_datetime(instant).gmst * 15)
    # UT1 and UTC differ by up to 0.9 s, or 6.5e-5 rad of rotation.
    assert abs(np.angle(np.exp(1j * (earth.sidereal_angle_rad(instant) - theirs)))) < 7e-5


def test_the_earth_turns_at_the_rate_that_sidereal_time_grows():
    day = earth.sidereal_angle_rad(EPOCH + timedelta(days=1)) - earth.sidereal_angle_rad(EPOCH)
    turned = earth.SIDEREAL_RATE_RAD_PER_S * 86_400
    assert abs(np.angle(np.exp(1j * (day - turned)))) < 1e-9


def test_circular_orbits_stay_near_sgp4_over_a_revolution():
    shells = constellation.load("starlink-1")
    elements, orbits = shells.elements, CircularOrbits(shells, EPOCH)
    time_s = np.arange(0, 5740, 20.0)
    for index in range(0, orbits.count, 101):
        theirs = _sgp4_km(
            time_s,
            inclination_rad=elements.inclination_rad[index],
            argument_rad=elements.argument_rad[index],
            motion_rad_per_min=elements.motion_rad_per_s[index] * 60,
            node_rad=elements.node_rad[index],
        )
        error_km = np.linalg.norm(
            orbits.positions_km(time_s, np.full(len(time_s), index)) - _turned(theirs, time_s), axis=1
        )
        # The circular model leaves out the Earth's oblateness, which moves satellites by up to 32 km in a
        # revolution, mostly alike; in the first minutes only its short-period terms differ.
        assert error_km.max() < 33
        assert error_km[time_s <= 200].max() < 13


def test_satellites_keep_their_height_and_return_after_a_period():
    shells = constellation.load("starlink-1")
    orbits, period_s = CircularOrbits(shells, EPOCH), shells.shells[0].period_s
    assert period_s == pytest.approx(5739.0, abs=0.1)
    now, then = orbits.positions_km(0.0), orbits.positions_km(period_s)
    radius = np.linalg.norm(then, axis=1)
    assert radius == pytest.approx(earth.EARTH_RADIUS_KM + 550)
    # After a revolution the satellites are back, but the ground has turned.
    turned = earth.SIDEREAL_RATE_RAD_PER_S * period_s
    cos, sin = np.cos(turned), np.sin(turned)
    back = then @ np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]])
    assert back == pytest.approx(now, abs=1e-6)


def test_shells_by_sgp4_are_where_the_reference_implementation_has_them():
    shells = constellation.load("kuiper-630")
    orbits, elements = Sgp4Orbits(shells, EPOCH), shells.elements
    time_s = np.arange(0, 86_400, 600.0)
    for index in range(0, orbits.count, 97):
        theirs = _sgp4_km(
            time_s,
            inclination_rad=elements.inclination_rad[index],
            argument_rad=np.radians(round(np.degrees(elements.argument_rad[index]), 4)),
            motion_rad_per_min=14.8 * 2 * np.pi / 1440,
            node_rad=np.radians(round(np.degrees(elements.node_rad[index]), 4)),
        )
        # Both implement the same published algorithm; a centimetre is rounding.
        assert orbits.inertial_km(time_s, index) == pytest.approx(theirs, abs=1e-5)
        ours = orbits.positions_km(time_s, index)
        assert ours == pytest.approx(_turned(theirs, time_s), abs=1e-5)
        assert np.linalg.norm(ours, axis=1).min() > earth.EARTH_RADIUS_KM + orbits.lowest_km()


def test_leaving_out_the_oblateness_costs_a_user_link_70_us_in_a_revolution():
    shells = constellation.load("starlink-1")
    circular, sgp4 = CircularOrbits(shells, EPOCH), Sgp4Orbits(shells, EPOCH)
    times = np.arange(0, 5740, 60.0)
    apart_km, leg_ms = [], []
    station = ground.stations([places.cities()["ny"]]).position_km[0]
    for time_s in times:
        ours, theirs = circular.positions_km(time_s), sgp4.positions_km(time_s)
        apart_km.append(np.linalg.norm(ours - theirs, axis=1).max())
        slant = [np.linalg.norm(where - station, axis=1) for where in (ours, theirs)]
        near = slant[0] < 1100
        leg_ms.append(np.abs(slant[0] - slant[1])[near].max() / earth.LIGHT_KM_PER_S * 1000)
    # The README states these: position, and delay of one user link over the same satellite.
    assert 30 < max(apart_km) < 33
    assert 0.04 < max(leg_ms) < 0.07


def test_positions_of_some_are_those_of_all():
    orbits = CircularOrbits(constellation.load("starlink-leoem"), EPOCH)
    everyone = orbits.positions_km(np.array([[0.0], [77.7]]))
    assert everyone.shape == (2, 1584, 3)
    some = orbits.positions_km(77.7, np.array([5, 700]))
    assert some == pytest.approx(everyone[1, [5, 700]])


def test_sites_are_where_skyfield_puts_them_on_the_same_ellipsoid():
    wgs72 = Geoid("WGS72", 6_378_135.0, 298.26)
    for site in [
        *places.cities().values(),
        ground.gateways()[0],
        ground.Site(name="pole", lat_deg=90, lon_deg=0),
    ]:
        theirs = wgs72.latlon(site.lat_deg, site.lon_deg).itrs_xyz.km
        assert ground.stations([site]).position_km[0] == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("satellite_km", [(1800.0, -5100.0, 4400.0), (-2000.0, -5000.0, 4200.0)])
def test_elevations_are_those_of_skyfield(satellite_km):
    scale = skyfield_load.timescale(builtin=True)
    site = places.cities()["ny"]
    place = Geoid("WGS72", 6_378_135.0, 298.26).latlon(site.lat_deg, site.lon_deg)
    ray = ITRSPosition(Distance(km=np.array(satellite_km))) - place
    theirs = ray.at(scale.utc(2025, 1, 1)).altaz()[0].degrees
    ours = elevation_deg(ground.stations([site])[0], np.array(satellite_km))
    assert ours == pytest.approx(theirs, abs=1e-6)


def test_no_satellite_of_a_mixed_catalogue_is_ever_below_the_lowest_altitude(tmp_path):
    low = [catalogues.record(number, MEAN_ANOMALY=30.0 * number, ECCENTRICITY=0.02) for number in range(12)]
    molniya = catalogues.record(13, MEAN_MOTION=2.006, ECCENTRICITY=0.73, MEAN_ANOMALY=17.0, INCLINATION=63.4)
    geostationary = catalogues.record(14, MEAN_MOTION=1.0027, ECCENTRICITY=0.0001, INCLINATION=0.0)
    for number, records in enumerate(([*low, geostationary], [*low, molniya], [molniya], low)):
        file = tmp_path / f"{number}.csv"
        file.write_text(catalogues.as_csv(records))
        data = constellation.load(str(file))
        orbits = propagator(data, data.own_epoch)
        radius_km = np.linalg.norm(orbits.positions_km(np.arange(0, 90_000, 20.0)[:, None]), axis=2)
        margin_km = radius_km.min() - earth.EARTH_RADIUS_KM - orbits.lowest_km()
        assert 0 < margin_km < 60
