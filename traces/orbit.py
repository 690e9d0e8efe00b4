"""Where satellites are: circular two-body orbits over a turning Earth."""

from __future__ import annotations

from datetime import datetime

import numpy as np
from numpy.typing import ArrayLike, NDArray

from traces.constellation import Constellation
from traces.earth import SIDEREAL_RATE_RAD_PER_S, sidereal_angle_rad

Floats = NDArray[np.float64]


class CircularOrbits:
    """Positions of a constellation's satellites in the frame that turns with the Earth.

    Two-body motion without perturbations. Over one revolution the oblateness of the Earth turns the real
    planes by about 0.3° and every plane of a shell alike, so the shell keeps its shape.
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
        """Return Earth-fixed positions; x points to 0° N 0° E, z to the north pole.

        Args:
            time_s: seconds since the epoch.
            satellite: indices; all satellites by default. Broadcast against ``time_s``.

        Returns:
            Positions, of the broadcast shape with a last axis of 3.
        """
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
