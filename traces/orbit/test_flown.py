from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from leogym.common.errors import InputError
from leogym.traces.orbit import catalogue, flown
from leogym.traces.orbit.constellation import Constellation
from leogym.traces.orbit.earth import EARTH_RADIUS_KM
from leogym.traces.orbit.elements import Catalogue
from leogym.traces.orbit.satellites import Sgp4Orbits
from tests.support import catalogues
from tests.support.catalogues import record

EPOCH = datetime(2026, 11, 16, 12, tzinfo=UTC)
SMALL = catalogues.walker(3, 4)
# At 150 km with this drag it lasts less than two days.
FALLING = record(44_713, OBJECT_NAME="STARLINK-1007", MEAN_MOTION=16.45, BSTAR=0.01)
# Its perigee lies 980 km below the ground.
NO_ORBIT = record(44_714, OBJECT_NAME="STARLINK-1008", MEAN_MOTION=17.0, ECCENTRICITY=0.99)


def _catalogue(records):
    found = catalogue.parse(catalogues.as_csv(records), "x")
    assert found is not None
    return found


def _flight(records, epoch=EPOCH, start_s=0.0, duration_s=60.0):
    return flown.flight(_catalogue(records), "x", epoch, start_s, duration_s)


def _names(flight):
    return [own.name for own in flight.catalogue.satellites]


def _at(days):
    return (EPOCH + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S")


def test_a_catalogue_near_its_epoch_flies_whole_and_without_a_word():
    flight = _flight(SMALL, EPOCH + timedelta(hours=20))
    assert len(flight.catalogue.satellites) == 12
    assert flight.notes == []


def test_the_own_epoch_is_the_median_of_the_newest_epochs_at_a_full_minute():
    records = [record(number, EPOCH=_at(number)) for number in (1, 2, 3)]
    records += [record(2, EPOCH=_at(-40)), record(4, EPOCH="2027-02-01T00:00:33.5")]
    assert flown.own_epoch(_catalogue(records)) == EPOCH + timedelta(days=2)
    assert flown.own_epoch(_catalogue(records[-1:])) == datetime(2027, 2, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("days", "note"),
    [
        (2, "note: x: the build is 1.0 to 2.0 days (median 1.5) from the elements' own epochs (--epoch 2"),
        (-31, "warning: x: the build is 31.0 to 32.0 days (median 31.5) from the elements' own epochs; t"),
        (89.99, "warning: x: the build is 89.0 to 90.0 days (median 89.5) from"),
    ],
)
def test_a_build_says_how_far_it_is_from_its_elements(days, note):
    records = [record(1), record(2, EPOCH=_at(1), MEAN_ANOMALY=90)]
    (said,) = _flight(records, EPOCH + timedelta(days=days), duration_s=0.1).notes
    assert said.startswith(note)


def test_the_end_of_a_long_build_counts_too():
    (said,) = _flight(SMALL, duration_s=40 * 86_400.0).notes
    assert said.startswith("warning: x: the build is 40.0 to 40.0 days")


@pytest.mark.parametrize("epoch", [datetime(2000, 1, 1, tzinfo=UTC), EPOCH + timedelta(days=91)])
def test_a_build_beyond_what_sgp4_bears_is_refused(epoch):
    with pytest.raises(InputError) as error:
        _flight(SMALL, epoch)
    days = abs((epoch - EPOCH).total_seconds()) / 86_400
    assert str(error.value) == (
        f"x: epoch: the build is {days:.1f} to {days:.1f} days (median {days:.1f}) from the elements' own "
        "epochs, and SGP4 bears 90: build near --epoch 2026-11-16T12:00:00Z"
    )


def test_time_at_the_calendars_end_is_refused_alike():
    with pytest.raises(InputError, match="SGP4 bears 90"):
        _flight(SMALL, datetime(9999, 12, 31, tzinfo=UTC), 1e8, 1e7)


def test_satellites_with_old_elements_are_left_out_by_name():
    flight = _flight([*SMALL, record(99, EPOCH="2026-01-01T12:00:00", OBJECT_NAME="LOST")])
    assert _names(flight) == [own["OBJECT_NAME"] for own in SMALL]
    assert flight.notes == [
        "note: x: left out: LOST: elements of 2026-01-01, 319 days away (1 of 13 satellites)"
    ]


def test_one_that_decayed_or_has_no_orbit_is_left_out_and_the_others_fly():
    flight = _flight([SMALL[0], FALLING, NO_ORBIT, *SMALL[1:]], EPOCH + timedelta(days=3))
    assert _names(flight) == [own["OBJECT_NAME"] for own in SMALL]
    assert flight.notes[0].startswith(
        "note: x: left out: STARLINK-1007: decayed; STARLINK-1008: SGP4 cannot propagate it: "
    )
    assert flight.notes[0].endswith(" (2 of 14 satellites)")


def test_one_that_decays_during_the_build_is_left_out():
    assert "STARLINK-1007" in _names(_flight([*SMALL, FALLING]))
    flight = _flight([*SMALL, FALLING], duration_s=2 * 86_400.0)
    assert _names(flight) == [own["OBJECT_NAME"] for own in SMALL]
    assert "left out: STARLINK-1007: decayed" in flight.notes[0]


def test_one_below_the_height_of_re_entry_has_decayed_although_sgp4_propagates_it():
    low = record(44_715, MEAN_MOTION=16.75, BSTAR=0)
    flight = _flight([*SMALL, low])
    assert flight.notes == ["note: x: left out: SAT-44715: decayed: below 100 km (1 of 13 satellites)"]


@pytest.mark.parametrize(("day", "flies"), [("2026-11-16", False), ("2026-11-17", True), ("", True)])
def test_a_stated_day_of_decay_is_believed(day, flies):
    flight = _flight([*[own | {"DECAY_DATE": ""} for own in SMALL], record(99, DECAY_DATE=day)])
    assert ("SAT-99" in _names(flight)) == flies
    assert flies or flight.notes[0].startswith("note: x: left out: SAT-99: decayed on 2026-11-16")


def test_a_catalogue_without_any_that_flies_is_refused():
    with pytest.raises(
        InputError, match="x: file: no satellite flies at 2026-11-19T12:00:00Z: STARLINK-1007: de"
    ):
        _flight([FALLING], EPOCH + timedelta(days=3))


def test_many_that_are_left_out_are_counted():
    lost = [record(100 + number, EPOCH=_at(-100)) for number in range(25)]
    (note,) = _flight([*SMALL, *lost]).notes
    assert "SAT-109: " in note
    assert "SAT-110: " not in note
    assert note.endswith("; and 15 more (25 of 37 satellites)")


@pytest.mark.parametrize(
    ("build_day", "flown_day"),
    [(0.5, 0), (3, 2), (2, 2), (1.9, 0), (30, 5), (-3, 0)],
)
def test_of_several_epochs_the_newest_before_the_build_flies_or_else_the_nearest(build_day, flown_day):
    days = (2, 0, 5)
    records = [record(7, EPOCH=_at(day), MEAN_ANOMALY=float(day)) for day in days]
    flight = _flight(records, EPOCH + timedelta(days=build_day))
    assert [own.epoch for own in flight.catalogue.satellites] == [EPOCH + timedelta(days=flown_day)]
    assert flight.notes[0].startswith("note: x: 2 entries repeat a satellite: each satellite flies once")


def test_of_two_entries_of_one_epoch_the_later_one_flies():
    flight = _flight([record(7, MEAN_ANOMALY=10.0), record(7, MEAN_ANOMALY=10.1, OBJECT_NAME="renamed")])
    assert _names(flight) == ["renamed"]


def test_entries_of_one_number_at_different_places_are_different_satellites():
    # Files that other tools make up often have one number throughout.
    for number in (0, 1):
        flight = _flight([own | {"NORAD_CAT_ID": number} for own in SMALL])
        assert len(flight.catalogue.satellites) == 12
        assert flight.notes == []


def test_a_stated_grid_holds_only_while_all_its_satellites_fly():
    satellites = _catalogue(SMALL).satellites
    whole = flown.flight(Catalogue(satellites, (3, 4)), "x", EPOCH, 0.0, 60.0)
    assert whole.catalogue.grid == (3, 4)
    fallen = [*satellites[:-1], _catalogue([FALLING | {"DECAY_DATE": "2026-11-01"}]).satellites[0]]
    assert fallen[-1].decay == date(2026, 11, 1)
    assert flown.flight(Catalogue(fallen, (3, 4)), "x", EPOCH, 0.0, 60.0).catalogue.grid is None


def test_satellites_that_fly_have_a_position_at_every_time_of_the_build():
    records = [
        record(number, MEAN_MOTION=motion, BSTAR=0.001, ECCENTRICITY=0.002)
        for number, motion in enumerate(np.linspace(15.9, 16.6, 40), start=1)
    ]
    duration_s = 5 * 86_400.0
    flight = _flight(records, duration_s=duration_s)
    assert 0 < len(flight.catalogue.satellites) < 40
    own = Constellation(name="x", source="x", min_elevation_deg=5, tle_file="x")
    orbits = Sgp4Orbits(own.with_catalogue(flight.catalogue, None), EPOCH)
    positions = orbits.positions_km(np.arange(0, duration_s, 600.0)[:, None])
    heights_km = np.linalg.norm(positions, axis=2) - EARTH_RADIUS_KM
    assert heights_km.min() > flown.REENTRY_KM - 5
