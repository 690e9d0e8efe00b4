"""Laser links between satellites: the +Grid of four neighbours each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from traces.constellation import Constellation, Shell
from traces.earth import EARTH_RADIUS_KM


def plus_grid(constellation: Constellation) -> NDArray[np.int64]:
    """Return the links as pairs of satellite indices, shape (links, 2), each link once.

    A satellite is linked to its neighbours ahead and behind in its plane and to one in each plane beside it.
    Shells are not linked with each other.
    """
    offset, links = 0, []
    for shell in constellation.shells:
        links.append(_shell_links(shell) + offset)
        offset += shell.planes * shell.satellites_per_plane
    return np.concatenate(links)


def _shell_links(shell: Shell) -> NDArray[np.int64]:
    planes, slots = shell.planes, shell.satellites_per_plane
    plane, slot = (axis.ravel() for axis in np.mgrid[0:planes, 0:slots])
    own = plane * slots + slot
    ahead = plane * slots + (slot + 1) % slots
    # Over the seam from the last plane to the first, the slots gained on the way round are taken back, so
    # that the link there has the same geometry as everywhere else.
    seam = np.where(plane == planes - 1, shell.seam_slots(), 0)
    beside = (plane + 1) % planes * slots + (slot + shell.isl_slot_shift + seam) % slots
    links = np.concatenate([np.stack([own, ahead], axis=1), np.stack([own, beside], axis=1)])
    if shell.raan_span_deg < 360:
        # The first and last planes of a Walker star move against each other: no link holds between them.
        over_seam = np.concatenate([np.zeros(len(own), dtype=bool), plane == planes - 1])
        links = links[~over_seam]
    links.sort(axis=1)
    return np.unique(links[links[:, 0] != links[:, 1]], axis=0)


def horizon_km(constellation: Constellation) -> NDArray[np.float64]:
    """Return each satellite's distance to where its ray grazes ``isl_min_altitude_km``, shape (satellites,).

    A link may be as long as the sum of its ends' distances.
    """
    floor = EARTH_RADIUS_KM + constellation.isl_min_altitude_km
    return np.sqrt(np.maximum(constellation.elements.radius_km**2 - floor**2, 0))
