"""The rotating Earth: the WGS 72 ellipsoid, the model behind two-line elements."""

import math
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

LIGHT_KM_PER_S = 299_792.458  # speed of light in vacuum, exact by definition

EARTH_RADIUS_KM = 6_378.135
"""Equatorial radius of WGS 72. Altitudes count from it, so they bound legs to the ground from below."""

FLATTENING = 1 / 298.26  # of WGS 72: the poles are 21 km nearer to the centre than the equator

EARTH_MU_KM3_PER_S2 = 398_600.8  # gravitational parameter of WGS 72

SIDEREAL_RATE_RAD_PER_S = 2 * math.pi * 1.002_737_909_350_795 / 86_400
"""The Earth's rotation against the stars (IAU 1982)."""

J2000 = datetime(2000, 1, 1, 12, tzinfo=UTC)
JULIAN_YEAR_S = 365.25 * 86_400


def light_ns(km: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the time of light over ``km``, rounded up: no delay is below the straight line's."""
    return np.ceil(km / LIGHT_KM_PER_S * 1e9).astype(np.int64)


def sidereal_angle_rad(instant: datetime) -> float:
    """Return Greenwich mean sidereal time at ``instant`` as an angle in [0, 2π).

    IAU 1982 model (Aoki et al., Astronomy and Astrophysics 105, 1982), with UTC for UT1: they differ by less
    than 0.9 s, or 0.4 km at the equator, equally for every satellite and site. ``instant`` needs a time zone.
    """
    days = (instant - J2000).total_seconds() / 86_400
    centuries = days / 36_525
    degrees = (
        280.460_618_37 + 360.985_647_366_29 * days + 0.000_387_933 * centuries**2 - centuries**3 / 38_710_000
    )
    return math.radians(degrees % 360)
