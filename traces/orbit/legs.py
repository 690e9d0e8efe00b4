"""How long a leg to the ground is: as light flies, or without the z axis, as LeoEM's published paths have it.

LeoEM (XuyangCaoUCSD/LeoEM, commit 4488b00, ``route_stage/utility.py``) takes the root of dx² + dy² + dy² for
every leg between a satellite and the ground; its lasers are right. So most of its user links are shorter than
satellites are high. The wrong lengths also decide which satellite is nearest and which gateways a path takes;
whether a satellite is in reach does not depend on them. They are here to tell which results hinge on them.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Delays = Literal["straight", "leoem-flat"]

FLAT = "leoem-flat"

_AXES = np.array([1.0, math.sqrt(2), 0.0])


def measured_km(position_km: Floats, delays: Delays) -> Floats:
    """Return the points, (..., 3), whose distances are the lengths of legs to the ground."""
    return position_km * _AXES if delays == FLAT else position_km


def legs_km(position_km: Floats, in_space: NDArray[np.bool_], delays: Delays) -> Floats:
    """Return the lengths of a chain's legs.

    Args:
        position_km: (times, nodes, 3), Earth-fixed.
        in_space: (nodes,), which of them are satellites.
        delays: how legs with an end on the ground are measured.

    Returns:
        (times, nodes - 1).
    """
    straight = np.linalg.norm(np.diff(position_km, axis=1), axis=2)
    if delays != FLAT:
        return straight
    flat = np.linalg.norm(np.diff(measured_km(position_km, delays), axis=1), axis=2)
    return np.where(in_space[1:] & in_space[:-1], straight, flat)
