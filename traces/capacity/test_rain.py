from operator import attrgetter

import numpy as np
import pytest

from leogym.common.units import NS_PER_S
from leogym.traces.capacity import modcod, rain
from leogym.traces.capacity.rain import Rain
from leogym.traces.capacity.span import View
from leogym.traces.orbit.ground import Site

NEW_YORK = Site(name="New York", lat_deg=40.7143, lon_deg=-74.006)
SAHARA = Site(name="Sahara", lat_deg=23.0, lon_deg=12.0)


def _window(model, start_s, end_s, elevation_deg):
    time_ns = np.arange(start_s, end_s, dtype=np.int64) * NS_PER_S
    elevations = np.broadcast_to(np.asarray(elevation_deg, dtype=float), len(time_ns))
    return model.window(View(time_ns, end_s * NS_PER_S, lambda _: elevations))


@pytest.mark.parametrize(
    ("percent", "expected_db"),
    [
        (5.0, 0.360661220915252),
        (1.0, 1.18897124405275),
        (0.1, 4.86707365132655),
        (0.01, 14.0408651819687),
        (0.001, 28.5462591605797),
    ],
)
def test_attenuation_is_that_of_the_itus_worked_example(percent, expected_db):
    from itur.models.itu618 import rain_attenuation

    # ITU-R study group 3, validation examples CG-3M3J-13-ValEx, sheet "P618-13 Att_Tot": Geneva, 19.5 GHz.
    found = rain_attenuation(46.2208, 6.137, 19.5, 36.6141654045094, hs=0.412, p=percent, tau=0)
    assert float(np.asarray(found)) == pytest.approx(expected_db, rel=1e-4)


def test_the_rain_rate_is_that_of_the_itus_worked_example():
    from itur.models.itu837 import rainfall_rate

    # The same examples, P.837-7: Kuala Lumpur, 0.01 % of the year.
    assert float(np.asarray(rainfall_rate(3.133, 101.7, 0.01))) == pytest.approx(99.15117186, rel=1e-4)
    kuala_lumpur = Site(name="Kuala Lumpur", lat_deg=3.133, lon_deg=101.7)
    assert rain.percent_of_rate(kuala_lumpur, 99.15117186) == pytest.approx(0.01, rel=1e-2)


def test_attenuation_over_time_is_that_of_the_librarys_own_synthesis():
    from itur.models.itu1853 import rain_attenuation_synthesis
    from scipy.signal import lfilter

    noise = np.random.default_rng(3).normal(size=2_000_000)
    theirs = rain_attenuation_synthesis(
        NEW_YORK.lat_deg, NEW_YORK.lon_deg, 14.25, 40.0, 0.0, len(noise), Ts=1, tau=45, n=noise
    )
    keep = np.exp(-2e-4)
    # The library fits the other tail of the deviate, so its noise has the opposite sign.
    deviate = -lfilter([np.sqrt(1 - keep**2)], [1, -keep], noise)
    ours = rain.attenuation_db(NEW_YORK, 14.25, deviate, np.full(len(noise), 40.0))
    theirs = np.asarray(theirs)
    assert theirs.max() > 3
    assert ours == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("percent", [0.02, 0.1, 1.0])
def test_rain_asked_for_as_a_share_of_the_year_begins_at_the_attenuation_exceeded_that_often(percent):
    model = Rain(f"{percent}%", NEW_YORK, "to", 1, 60.0)
    snr_db = model.snr_db(np.zeros(1, dtype=np.int64), np.array([40.0]))[:, 0]
    exceeded = rain.exceeded_db(NEW_YORK, rain.UP_GHZ, np.array([40.0]), percent)[0]
    # The lognormal fit to P.618's points misses each by at most a fifth.
    assert rain.CLEAR_SKY_DB - snr_db[1] == pytest.approx(exceeded, rel=0.2)
    down_db = rain.exceeded_db(NEW_YORK, rain.DOWN_GHZ, np.array([40.0]), percent)[0]
    assert down_db * 0.8 < rain.CLEAR_SKY_DB - snr_db[0] < down_db * 1.2 + 3.8


def test_over_many_years_rain_is_exceeded_as_often_as_p_618_says():
    year = np.random.default_rng(5).normal(size=1_000_000)
    attenuation = rain.attenuation_db(NEW_YORK, 14.25, year, np.full(len(year), 40.0))
    for percent in (0.1, 0.3, 1.0):
        expected_db = rain.exceeded_db(NEW_YORK, 14.25, np.array([40.0]), percent)[0]
        assert np.quantile(attenuation, 1 - percent / 100) == pytest.approx(expected_db, rel=0.2)
    assert (attenuation > 0).mean() * 100 == pytest.approx(rain.rainy_percent(NEW_YORK), rel=0.02)


def test_harder_rain_and_lower_satellites_take_more_and_without_rain_all_is_left():
    start = [
        _window(Rain(text, NEW_YORK, "to", 1, 10.0), 0, 1, 40.0).forward.capacity[0]
        for text in ("2", "10", "40", "80")
    ]
    assert start == sorted(start, reverse=True)
    assert start[0] > start[-1]
    low, high = (
        _window(Rain("40", NEW_YORK, "to", 1, 10.0), 0, 1, elevation).forward.capacity[0]
        for elevation in (25, 80)
    )
    assert low < high <= 1
    assert rain.attenuation_db(NEW_YORK, 14.25, np.zeros(1), np.array([25.0])) == 0


def test_a_handover_to_a_lower_satellite_in_rain_loses_packets_until_the_rate_follows():
    model = Rain("40", NEW_YORK, "to", 1, 20.0)
    time_ns = np.arange(0, 20 * NS_PER_S, NS_PER_S // 10, dtype=np.int64)
    elevation_deg = np.where(time_ns < 15 * NS_PER_S, 80.0, 25.0)
    found = model.window(View(time_ns, 20 * NS_PER_S, lambda _: elevation_deg))
    after = (time_ns >= 15 * NS_PER_S) & (time_ns < 16 * NS_PER_S)
    assert (found.forward.loss[after] > 0.5).all()
    assert (found.forward.loss[~after] < 0.01).all()
    assert (
        found.forward.capacity[time_ns >= 16 * NS_PER_S].max()
        < found.forward.capacity[time_ns < 15 * NS_PER_S].min()
    )


def test_a_cloudburst_on_a_low_link_silences_it():
    found = _window(Rain("0.001%", NEW_YORK, "to", 1, 5.0), 0, 2, 25.0)
    assert not found.forward.up.any()
    assert (found.forward.capacity == 0).all()


def test_the_rain_falls_on_its_own_end_only_as_up_and_down_swap_with_it():
    to, origin = (_window(Rain("20", NEW_YORK, end, 1, 30.0), 0, 30, 40.0) for end in ("to", "from"))
    assert np.array_equal(to.forward.capacity, origin.backward.capacity)
    assert np.array_equal(to.backward.capacity, origin.forward.capacity)
    assert not np.array_equal(to.forward.capacity, to.backward.capacity)


def test_a_seed_gives_the_same_rain_however_it_is_cut_and_another_seed_another():
    whole = _window(Rain("0.1%", NEW_YORK, "to", 1, 3000.0), 0, 3000, 40.0)
    model = Rain("0.1%", NEW_YORK, "to", 1, 3000.0)
    parts = [_window(model, start, min(start + 7, 3000), 40.0) for start in range(0, 3000, 7)]
    for name in ("time_ns", "forward.capacity", "backward.capacity", "forward.loss", "forward.up"):
        field = attrgetter(name)
        assert np.array_equal(field(whole), np.concatenate([field(one) for one in parts]))
    other = _window(Rain("0.1%", NEW_YORK, "to", 2, 3000.0), 0, 3000, 40.0)
    assert whole.forward.capacity[0] == other.forward.capacity[0]
    assert not np.array_equal(whole.forward.capacity, other.forward.capacity)
    assert len(set(whole.forward.capacity.tolist())) > 2


def test_capacity_is_always_a_share_that_some_code_gives():
    found = _window(Rain("any", NEW_YORK, "to", 9, 20_000.0), 0, 20_000, 30.0)
    clear = modcod.BITS_PER_SYMBOL[modcod.best(np.array([12.0]))[0]]
    shares = np.append(modcod.BITS_PER_SYMBOL / clear, 0)
    assert np.isin(found.forward.capacity, shares).all()
    assert found.forward.capacity.max() <= 1


def test_rain_where_it_does_not_rain_like_that_is_refused_with_the_range():
    with pytest.raises(ValueError, match=r"rain: 9%: at New York .* must lie between 0.0001 and 8.8 %"):
        Rain("9%", NEW_YORK, "to", 1, 10.0)
    with pytest.raises(ValueError, match="rain: "):
        Rain("150", SAHARA, "to", 1, 10.0)
