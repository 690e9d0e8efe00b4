"""PyEphem's positions of sites, from which Hypatia measures slant ranges.

Hypatia (Kassing et al., IMC 2020) lets a site use a satellite if PyEphem's range between them is short
enough. PyEphem's ground is up to 60 m from that of WGS 72. This shifts the gain or loss of a satellite by up
to 10 ms, and so sometimes changes a row of a trace. Only reach is measured from here, never delays.
"""

import math
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from leogym.traces.orbit.earth import EARTH_RADIUS_KM, sidereal_angle_rad

Floats = NDArray[np.float64]

_RADIUS_KM = 6_378.16  # PyEphem's equatorial radius, by which it also scales SGP4's positions in Earth radii

_FLATTENING = 1 / 298.25

SATELLITE_SCALE = _RADIUS_KM / EARTH_RADIUS_KM
"""PyEphem's distance of a satellite from the Earth's centre over that of SGP4."""

_NEWCOMB_EPOCH = datetime(1899, 12, 31, 12, tzinfo=UTC)


def newcomb_angle_rad(instant: datetime) -> float:
    """Return PyEphem's sidereal angle for satellites: Newcomb's formula at 0h plus the rotation since.

    In 2000 it is 0.07 s behind the sidereal time of IAU 1982 (the equinox correction of the FK5).
    """
    midnight = instant.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    centuries = (midnight - _NEWCOMB_EPOCH).total_seconds() / 86_400 / 36_525
    hours = 6.646_065_6 + 2_400.051_262 * centuries + 0.000_025_81 * centuries**2
    turns = hours / 24 + (instant - midnight).total_seconds() / 86_400 * 1.002_737_909_3
    return 2 * math.pi * (turns % 1)


def measured_from_km(up: Floats, epoch: datetime) -> Floats:
    """Return PyEphem's positions of sites divided by `SATELLITE_SCALE`, shape (sites, 3).

    The range from here to SGP4's position times `SATELLITE_SCALE` is PyEphem's range. ``up`` has unit vectors
    to the zenith, (sites, 3); ``epoch`` needs a time zone.
    """
    # PyEphem scales the tangent of the geodetic latitude by 1 / (1 - f²) before it places the site.
    lat = np.arctan2(up[..., 2] / (1 - _FLATTENING**2), np.hypot(up[..., 0], up[..., 1]))
    lon = np.arctan2(up[..., 1], up[..., 0]) + newcomb_angle_rad(epoch) - sidereal_angle_rad(epoch)
    normal_km = _RADIUS_KM / np.sqrt(1 - _FLATTENING * (2 - _FLATTENING) * np.sin(lat) ** 2)
    return (
        np.stack(
            [
                normal_km * np.cos(lat) * np.cos(lon),
                normal_km * np.cos(lat) * np.sin(lon),
                normal_km * (1 - _FLATTENING) ** 2 * np.sin(lat),
            ],
            axis=-1,
        )
        / SATELLITE_SCALE
    )
