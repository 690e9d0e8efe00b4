"""Length of legs to the ground: a straight line, or LeoEM's fault, to test which results depend on it.

LeoEM (XuyangCaoUCSD/LeoEM, commit 4488b00, ``route_stage/utility.py``) computes the root of dx² + dy² + dy²
for every leg between a satellite and the ground; its lasers are right. Most of its user links are therefore
shorter than the satellites' altitude. The wrong lengths also decide which satellite is nearest and which
gateways a path takes, but not whether a satellite is in reach.
"""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Delays = Literal["straight", "leoem-flat"]

FLAT = "leoem-flat"

_AXES = np.array([1.0, math.sqrt(2), 0.0])


def measured_km(position_km: Floats, delays: Delays) -> Floats:
    """Scale points, (..., 3), such that their distances are the lengths of legs to the ground."""
    return position_km * _AXES if delays == FLAT else position_km


def legs_km(position_km: Floats, in_space: NDArray[np.bool_], delays: Delays) -> Floats:
    """Return the lengths of a chain's legs, shape (times, nodes - 1).

    Positions are Earth-fixed, (times, nodes, 3); ``in_space`` marks the satellites, (nodes,).
    """
    straight = np.linalg.norm(np.diff(position_km, axis=1), axis=2)
    if delays != FLAT:
        return straight
    flat = np.linalg.norm(np.diff(measured_km(position_km, delays), axis=1), axis=2)
    return np.where(in_space[1:] & in_space[:-1], straight, flat)
