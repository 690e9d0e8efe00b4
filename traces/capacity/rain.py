"""Rain fade on a user link: ITU-R attenuation over time, and the rate that adaptive coding gets.

ITU-Rpy computes the attenuation exceeded for p % of an average year by ITU-R P.618 (rain rates P.837, rain
heights P.839, specific attenuation P.838), for the site and the link's elevation at every row. Over time the
attenuation follows the lognormal process of ITU-R P.1853-1, annex 1, section 2. ``P%`` starts at the level
that is exceeded P % of the year, mm/h at the level exceeded as often as that rain rate is at the site, and
``any`` at a random moment of the year (mostly dry).

The signal is 12.5 dB of Es/N0 under a clear sky at every elevation (assumed: power control and beam steering
level it), minus the attenuation and, on the downlink, minus the rain's own noise (275 K medium, 200 K
receiver). The rate is that of the fastest DVB-S2 code whose threshold lies 0.5 dB below the signal one second
ago, relative to the clear-sky rate. Packets are lost while the rate lags: after a handover to a lower
satellite in rain.
"""

import warnings
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.stats import norm

from leogym.common import extras
from leogym.common.units import NS_PER_S
from leogym.traces.capacity import modcod
from leogym.traces.capacity.settings import parse_rain
from leogym.traces.capacity.span import End, Floats, Ints, Span, View, span
from leogym.traces.orbit.ground import Site

with extras.needed_by("rain"):
    from itur.models.itu618 import rain_attenuation
    from itur.models.itu837 import rainfall_probability, unavailability_from_rainfall_rate

DOWN_GHZ, UP_GHZ = 11.7, 14.25  # Centres of Starlink's user bands, 10.7-12.7 and 14.0-14.5 GHz
CLEAR_SKY_DB = 12.5
MARGIN_DB = 0.5
LOOP_NS = NS_PER_S
MEDIUM_K, RECEIVER_K = 275.0, 200.0
BETA_PER_S = 2e-4  # P.1853-1, annex 1, section 2.2, step B
ELEVATIONS_DEG: Floats = np.arange(5.0, 91.0, 5.0)

_PERCENTS = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
_CIRCULAR_DEG = 45
_STREAM = 4


def exceeded_db(site: Site, ghz: float, elevation_deg: Floats, percent: float) -> Floats:
    """Return the rain attenuation exceeded for ``percent`` of an average year at a site at sea level."""
    with warnings.catch_warnings():
        # The library warns below 5° and outside its frequency range; neither happens here.
        warnings.simplefilter("ignore")
        attenuation_db = rain_attenuation(
            site.lat_deg, site.lon_deg, ghz, elevation_deg, hs=0.0, p=percent, tau=_CIRCULAR_DEG
        )
    return np.atleast_1d(np.asarray(attenuation_db, dtype=np.float64))


def rainy_percent(site: Site) -> float:
    """Return the percentage of an average year in which it rains at a site (P.837)."""
    return float(np.asarray(rainfall_probability(site.lat_deg, site.lon_deg)))


def percent_of_rate(site: Site, mm_per_h: float) -> float:
    """Return the percentage of an average year in which rain at a site exceeds a rate (P.837)."""
    return float(np.asarray(unavailability_from_rainfall_rate(site.lat_deg, site.lon_deg, mm_per_h)))


@lru_cache(maxsize=16)
def _lognormal(lat_deg: float, lon_deg: float, ghz: float) -> NDArray[np.float64]:
    """Return mean and deviation of the log attenuation, and its offset in dB, shape (3, elevations).

    P.1853-1, annex 1, section 2.2, steps A1 to A4 and C: fit a line to (Q⁻¹(p), ln A(p)).
    """
    site = Site(name="", lat_deg=lat_deg, lon_deg=lon_deg)
    rainy = rainy_percent(site)
    percents = [percent for percent in _PERCENTS if percent < rainy]
    logarithm = np.log([exceeded_db(site, ghz, ELEVATIONS_DEG, percent) for percent in percents])
    deviate = norm.isf(np.array(percents) / 100)
    line = np.stack([np.ones(len(deviate)), deviate], axis=1)
    (mean, deviation), *_ = np.linalg.lstsq(line, logarithm, rcond=None)
    return np.stack([mean, deviation, np.exp(mean + deviation * norm.isf(rainy / 100))])


def attenuation_db(site: Site, ghz: float, deviate: Floats, elevation_deg: Floats) -> Floats:
    """Return the attenuation for values ``deviate`` of the underlying Gaussian process. Shapes (rows,)."""
    mean, deviation, offset_db = (
        np.interp(elevation_deg, ELEVATIONS_DEG, column)
        for column in _lognormal(site.lat_deg, site.lon_deg, ghz)
    )
    return np.maximum(np.exp(mean + deviation * deviate) - offset_db, 0.0)


class Rain:
    """Rain at one end of a path."""

    def __init__(self, text: str, site: Site, at: End, seed: int, duration_s: float) -> None:
        """Draw the process for the whole trace, one value per second.

        Raises:
            ValueError: such rain does not occur at the site.
        """
        self._text, self._site = text, site
        self._at: End = at
        kind, value = parse_rain(text)
        rng = np.random.default_rng([seed, _STREAM])
        rainy = rainy_percent(site)
        if rainy <= 2 * _PERCENTS[0]:
            raise ValueError(f"rain: it hardly ever rains at {site.name}")
        self._percent: float | None = None
        first = float(rng.normal())
        if kind != "any":
            percent = value if kind == "percent" else percent_of_rate(site, value)
            if not 1e-4 <= percent <= rainy:
                raise ValueError(
                    f"rain: {text}: at {site.name} that is exceeded {percent:.2g} % of the year, "
                    f"which must lie between 0.0001 and {rainy:.2g} %"
                )
            self._percent = percent
            first = float(norm.isf(percent / 100))
        keep = np.exp(-BETA_PER_S)
        noise = rng.normal(size=int(np.ceil(duration_s)))
        later, _ = lfilter([np.sqrt(1 - keep**2)], [1, -keep], noise, zi=np.array([keep * first]))
        self._deviate = np.concatenate([[first], later])
        # The rate follows the signal one second ago; before the first row, that of the first row.
        self._seen_ns: Ints = np.array([-LOOP_NS])
        self._seen_db: Floats = np.empty((2, 0))
        self._elevation_deg = 90.0

    def window(self, view: View) -> Span:
        """Return the remaining share of capacity each way, and the residual loss."""
        time_ns = view.time_ns
        elevation_deg = view.elevation_deg(self._at)
        if elevation_deg is None:
            elevation_deg = np.full(len(time_ns), self._elevation_deg)
        self._elevation_deg = float(elevation_deg[-1])
        snr_db = self.snr_db(time_ns, elevation_deg)
        if not self._seen_db.size:
            self._seen_db = snr_db[:, :1]
        known_ns = np.concatenate([self._seen_ns, time_ns])
        known_db = np.concatenate([self._seen_db, snr_db], axis=1)
        then = np.searchsorted(known_ns, time_ns - LOOP_NS, side="right") - 1
        row = modcod.best(known_db[:, then] - MARGIN_DB)
        clear = modcod.BITS_PER_SYMBOL[modcod.best(np.array([CLEAR_SKY_DB - MARGIN_DB]))[0]]
        share = np.where(row < 0, 0.0, modcod.BITS_PER_SYMBOL[row]) / clear
        loss = modcod.residual_loss(row, snr_db).max(axis=0)
        still_needed = known_ns >= known_ns[then[-1]]
        self._seen_ns, self._seen_db = known_ns[still_needed], known_db[:, still_needed]
        down, up = share
        forward, backward = (down, up) if self._at == "to" else (up, down)
        usable = np.all(row >= 0, axis=0)
        # Traces store loss to 1e-6.
        loss = np.where(usable & (loss >= 1e-6), loss, 0.0)
        return span(time_ns, forward=forward, backward=backward, loss=loss, up=usable)

    def snr_db(self, time_ns: Ints, elevation_deg: Floats) -> Floats:
        """Return Es/N0 of downlink and uplink, shape (2, rows)."""
        deviate = self._deviate[np.minimum(time_ns // NS_PER_S, len(self._deviate) - 1)]
        down_db = attenuation_db(self._site, DOWN_GHZ, deviate, elevation_deg)
        up_db = attenuation_db(self._site, UP_GHZ, deviate, elevation_deg)
        # Sky noise of an attenuating medium (P.618, section 3).
        noise_db = 10 * np.log10(1 + MEDIUM_K * (1 - 10 ** (-down_db / 10)) / RECEIVER_K)
        return CLEAR_SKY_DB - np.stack([down_db + noise_db, up_db])

    def metadata(self) -> dict[str, Any]:
        """Return the model's parameters."""
        return {
            "model": "ITU-R P.618 with P.1853-1, DVB-S2",
            "rain": self._text,
            "at": self._at,
            "percent_of_year_at_start": self._percent,
            "down_ghz": DOWN_GHZ,
            "up_ghz": UP_GHZ,
            "clear_sky_db": CLEAR_SKY_DB,
            "margin_db": MARGIN_DB,
            "loop_s": LOOP_NS / NS_PER_S,
        }
