"""Satellite positions over the rotating Earth: circular two-body orbits, or SGP4."""

from datetime import datetime
from typing import Protocol

import leosim
import numpy as np
from numpy.typing import ArrayLike, NDArray

from leogym.common.errors import InputError
from leogym.traces.orbit.constellation import Constellation
from leogym.traces.orbit.earth import (
    EARTH_MU_KM3_PER_S2,
    EARTH_RADIUS_KM,
    SIDEREAL_RATE_RAD_PER_S,
    sidereal_angle_rad,
)

Floats = NDArray[np.float64]


class Orbits(Protocol):
    """Positions of a constellation's satellites in the Earth-fixed frame."""

    count: int

    def positions_km(self, time_s: ArrayLike, satellite: ArrayLike | None = None) -> Floats:
        """Return Earth-fixed positions; x points to 0° N 0° E, z to the north pole.

        ``time_s`` counts from the epoch. It broadcasts against the indices ``satellite`` (all by default),
        and the result adds a last axis of 3.
        """
        ...

    def lowest_km(self) -> float:
        """Return a lower bound of all altitudes over the equatorial radius."""
        ...


def propagator(constellation: Constellation, epoch: datetime) -> Orbits:
    """Return a constellation's orbits, with time counted from ``epoch``."""
    return Sgp4Orbits(constellation, epoch) if constellation.sgp4 else CircularOrbits(constellation, epoch)


class CircularOrbits:
    """Two-body motion without perturbations.

    Over one revolution the Earth's oblateness turns real planes by about 0.3°. It turns all planes of a shell
    alike, so the shell keeps its shape.
    """

    def __init__(self, constellation: Constellation, epoch: datetime) -> None:
        elements = constellation.elements
        self.count = len(elements.radius_km)
        self.radius_km = elements.radius_km
        self._argument = elements.argument_rad
        self._motion = elements.motion_rad_per_s
        self._node = elements.node_rad - sidereal_angle_rad(epoch)
        self._cos_inclination = np.cos(elements.inclination_rad)
        self._sin_inclination = np.sin(elements.inclination_rad)

    def positions_km(self, time_s: ArrayLike, satellite: ArrayLike | None = None) -> Floats:
        """Return Earth-fixed positions (see `Orbits`)."""
        index = slice(None) if satellite is None else np.asarray(satellite)
        time = np.asarray(time_s, dtype=np.float64)
        argument = self._argument[index] + self._motion[index] * time
        node = self._node[index] - SIDEREAL_RATE_RAD_PER_S * time
        along, across = np.cos(argument), np.sin(argument)
        cos_node, sin_node = np.cos(node), np.sin(node)
        level = across * self._cos_inclination[index]
        position = np.empty((*argument.shape, 3))
        position[..., 0] = along * cos_node - level * sin_node
        position[..., 1] = along * sin_node + level * cos_node
        position[..., 2] = across * self._sin_inclination[index]
        position *= self.radius_km[index][..., None]
        return position

    def lowest_km(self) -> float:
        """Return the lowest shell's altitude."""
        return float(self.radius_km.min()) - EARTH_RADIUS_KM


_LOWEST_SAMPLES = (
    48  # of a revolution: between them a circular orbit's radius changes far less than the margin
)
_LOWEST_MARGIN_KM = 5.0
_CIRCULAR_ECCENTRICITY = 0.01
_PERIGEE_MARGIN_KM = 50.0  # oblateness, sun and moon


class Sgp4Orbits:
    """Positions by SGP4, from a catalogue's elements or from shells converted to them.

    The rotation from SGP4's frame (true equator, mean equinox) uses mean sidereal time only, because polar
    motion moves satellites by less than 20 m.
    """

    def __init__(self, constellation: Constellation, epoch: datetime) -> None:
        elements, self._since_min = constellation.mean_elements(epoch)
        self.count = len(elements)
        self.inclination_deg = np.degrees(elements[:, 1])
        self.semi_major_km = np.cbrt(EARTH_MU_KM3_PER_S2 / (elements[:, 6] / 60) ** 2)
        self._eccentricity = elements[:, 3]
        self._name = constellation.name
        self._motion_rad_per_min = elements[:, 6]
        self._angle = sidereal_angle_rad(epoch)
        try:
            self._satellites = leosim.Sgp4(elements)
        except leosim.InputError as error:
            raise InputError(f"constellation: {self._name}: {error}") from None

    def inertial_km(self, time_s: ArrayLike, satellite: ArrayLike | None = None) -> Floats:
        """Return inertial positions, shaped as those of `positions_km`.

        Raises:
            InputError: a satellite has decayed by then.
        """
        time, index = np.broadcast_arrays(
            np.asarray(time_s, dtype=np.float64),
            np.arange(self.count) if satellite is None else np.asarray(satellite, dtype=np.int64),
        )
        flat = index.ravel()
        try:
            position = self._satellites.positions_km(time.ravel() / 60 + self._since_min[flat], flat)
        except leosim.InputError as error:
            raise InputError(f"constellation: {self._name}: {error}") from None
        return position.reshape(*index.shape, 3)

    def positions_km(self, time_s: ArrayLike, satellite: ArrayLike | None = None) -> Floats:
        """Return Earth-fixed positions (see `Orbits`)."""
        inertial = self.inertial_km(time_s, satellite)
        angle = self._angle + SIDEREAL_RATE_RAD_PER_S * np.broadcast_to(
            np.asarray(time_s, dtype=np.float64), inertial.shape[:-1]
        )
        cos, sin = np.cos(angle), np.sin(angle)
        position = np.empty_like(inertial)
        position[..., 0] = inertial[..., 0] * cos + inertial[..., 1] * sin
        position[..., 1] = inertial[..., 1] * cos - inertial[..., 0] * sin
        position[..., 2] = inertial[..., 2]
        return position

    def lowest_km(self) -> float:
        """Return the minimum altitude over each satellite's first revolution minus a margin."""
        period_s = 60 * 2 * np.pi / self._motion_rad_per_min
        times = np.linspace(0, period_s, _LOWEST_SAMPLES)
        radius = np.linalg.norm(self.inertial_km(times), axis=-1)
        lowest_km = float(radius.min()) - _LOWEST_MARGIN_KM
        if (eccentric := self._eccentricity > _CIRCULAR_ECCENTRICITY).any():
            # A passage through the perigee fits between two samples.
            perigee_km = (self.semi_major_km * (1 - self._eccentricity))[eccentric].min()
            lowest_km = min(lowest_km, float(perigee_km) - _PERIGEE_MARGIN_KM)
        return lowest_km - EARTH_RADIUS_KM
