"""Hypatia's rule against its published round-trip times (IMC 2020; satgenpy's test data of Kuiper)."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from leogym.traces.orbit import ground, places, slant
from leogym.traces.orbit.constellation import load
from leogym.traces.orbit.satellites import propagator
from leogym.traces.path.build import build
from leogym.traces.path.spec import DEFAULT_EPOCH, PathSpec

PUBLISHED = Path(__file__).resolve().parents[3] / "shared" / "data" / "hypatia" / "rtt_manila_dalian.txt"
MANILA = ground.Site(name="Manila", lat_deg=14.6042, lon_deg=120.9822)
DALIAN = ground.Site(name="Dalian", lat_deg=38.913811, lon_deg=121.602322)
ST_PETERSBURG = ground.Site(name="St Petersburg", lat_deg=59.929858, lon_deg=30.326228)


@cache
def _rtt_ms(origin, destination):
    """Return RTTs every 100 ms for 200 s, nan while unreachable."""
    sites = {site.name: site for site in (MANILA, DALIAN, ST_PETERSBURG)}
    path = build(
        PathSpec(
            name="hypatia",
            from_site=sites[origin],
            to_site=sites[destination],
            constellation="kuiper-630",
            attach="shortest",
            max_slant_km=1260.0,
            duration_s=200.0,
        )
    )
    assert path.time_ns[:-1].tolist() == list(range(0, 200_000_000_000, 100_000_000))
    assert "hard_handover" not in path.event
    return np.where(path.connected, path.delay_ns * 2 / 1e6, np.nan)[:-1]


def test_manila_to_dalian_matches_every_published_row():
    if not PUBLISHED.is_file():
        pytest.skip(f"Hypatia's reference data is not at {PUBLISHED}")
    theirs_ms = np.loadtxt(PUBLISHED, delimiter=",")[:, 1] / 1e6
    # The requirement is 0.1 ms; 0.0005 ms was measured.
    assert _rtt_ms("Manila", "Dalian") == pytest.approx(theirs_ms, abs=0.001)


@pytest.mark.parametrize(
    ("origin", "destination", "first_ms", "least_ms", "most_ms", "unreachable_s"),
    [
        ("Manila", "Dalian", 29.4231377582, 25.230, 48.165, None),
        ("Manila", "St Petersburg", 76.8460487, 69.412, 77.629, (155.4, 165.2)),
        ("St Petersburg", "Dalian", 63.2038665, 58.737, 63.985, (155.4, 165.2)),
    ],
)
def test_first_least_and_longest_rtt_and_unreachable_rows_are_hypatias(
    origin, destination, first_ms, least_ms, most_ms, unreachable_s
):
    rtt_ms = _rtt_ms(origin, destination)
    assert rtt_ms[0] == pytest.approx(first_ms, abs=0.001)
    assert np.nanmin(rtt_ms) == pytest.approx(least_ms, abs=0.0015)
    assert np.nanmax(rtt_ms) == pytest.approx(most_ms, abs=0.0015)
    dark = [] if unreachable_s is None else np.arange(*np.round(np.multiply(unreachable_s, 10))).tolist()
    assert np.flatnonzero(np.isnan(rtt_ms)).tolist() == dark


@pytest.mark.parametrize(
    ("site", "satellite", "time_s", "range_km"),
    [
        # PyEphem 4.2.1's range from St Petersburg while satellite 143 comes into reach.
        (ST_PETERSBURG, 143, 165.0, 1260.326375),
        (ST_PETERSBURG, 143, 165.1, 1260.007375),
        (ST_PETERSBURG, 143, 165.2, 1259.688625),
    ],
)
def test_slant_ranges_are_pyephems(site, satellite, time_s, range_km):
    orbits = propagator(load("kuiper-630"), DEFAULT_EPOCH)
    measured_from = slant.measured_from_km(ground.stations([site]).up, DEFAULT_EPOCH)[0]
    ours = np.linalg.norm(orbits.positions_km(time_s, satellite) - measured_from) * slant.SATELLITE_SCALE
    assert ours == pytest.approx(range_km, abs=0.007)


def test_the_ground_of_pyephem_is_within_70_m_of_the_true_one():
    stations = ground.stations(list(places.cities().values()))
    theirs_km = slant.measured_from_km(stations.up, DEFAULT_EPOCH)
    apart_km = np.linalg.norm(theirs_km - stations.position_km, axis=1)
    assert 0.02 < apart_km.max() < 0.07
