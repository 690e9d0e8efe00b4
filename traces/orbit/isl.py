"""Laser links between satellites: the +Grid with four neighbours each."""

import numpy as np
from numpy.typing import NDArray

from leogym.traces.orbit.constellation import Constellation, Shell
from leogym.traces.orbit.earth import EARTH_RADIUS_KM
from leogym.traces.orbit.satellites import Sgp4Orbits

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_SHELL_GAPS = 0.1, 10.0
"""Gaps between sorted satellites, in degrees of inclination and km of mean height, that separate shells."""
_NEAR_SHELL_GAPS = 0.03, 3.0
"""Smaller gaps that separate shells of many satellites each, such as Starlink's at 53.05°, 53.16° and 53.2°.
Satellites on station keep their height to a kilometre. At 3 km a satellite gains 0.2° in a revolution."""
_MANY = 50

_SHELL_LEAST_SHARE = 0.02
"""Of a catalogue's satellites: fewer within a gap are on their way to a shell or from it."""

_PLANE_NODE_DEG = 1.0
"""Gap between sorted ascending nodes that separates planes, which are at least 5° apart."""

_EQUATORIAL_DEG = 1.0
"""Inclination, or its difference from 180°, below which the pull of sun and moon moves nodes at random."""

_PREFERRED_LEAD_DEG = 0.5  # well above the orbits' irregularity, well below half a slot

_NEXT_PLANE_DEG = 60.0
"""Adjacent planes further apart are the seam of a Walker star, or a gap in an incomplete shell."""


def plus_grid(constellation: Constellation, orbits: Sgp4Orbits | None = None) -> Ints:
    """Return the links as pairs of satellite indices, shape (links, 2), each link once.

    A satellite has links to its neighbours ahead and behind in its plane, and to one in each adjacent plane.
    Shells have no links with each other. A catalogue that states no grid needs ``orbits`` to infer it
    (`grid_of`).
    """
    if constellation.isl == "none":
        return np.empty((0, 2), dtype=np.int64)
    if constellation.catalogue is not None:
        grid = constellation.catalogue.grid
        if grid is not None:
            return _shell_links(
                Shell(planes=grid[0], satellites_per_plane=grid[1], altitude_km=500, inclination_deg=0)
            )
        if orbits is None:
            raise ValueError("a catalogue without a stated grid needs orbits")
        return grid_of(orbits)
    offset, links = 0, []
    for shell in constellation.shells:
        links.append(_shell_links(shell) + offset)
        offset += shell.planes * shell.satellites_per_plane
    return np.concatenate(links)


def _shell_links(shell: Shell) -> Ints:
    planes, slots = shell.planes, shell.satellites_per_plane
    plane, slot = (axis.ravel() for axis in np.mgrid[0:planes, 0:slots])
    own = plane * slots + slot
    ahead = plane * slots + (slot + 1) % slots
    # Links over the seam, from the last plane to the first, take back the accumulated lead. This gives them
    # the same geometry as all others.
    seam = np.where(plane == planes - 1, shell.seam_slots(), 0)
    beside = (plane + 1) % planes * slots + (slot + shell.isl_slot_shift + seam) % slots
    links = np.concatenate([np.stack([own, ahead], axis=1), np.stack([own, beside], axis=1)])
    if shell.raan_span_deg < 360:
        # The first and last planes of a Walker star move in opposite directions, so they have no links.
        over_seam = np.concatenate([np.zeros(len(own), dtype=bool), plane == planes - 1])
        links = links[~over_seam]
    links.sort(axis=1)
    return np.unique(links[links[:, 0] != links[:, 1]], axis=0)


def shells_of(orbits: Sgp4Orbits) -> list[Ints]:
    """Return the satellites of each shell: those of similar inclination and mean height.

    A satellite on its way to a shell or from it belongs to none. The elements decide, not the positions, in
    which the Earth's oblateness moves a satellite by 10 km in a revolution.
    """
    least = _SHELL_LEAST_SHARE * orbits.count
    shells: list[Ints] = []
    for shell in _alike(np.arange(orbits.count), orbits, _SHELL_GAPS, least):
        parts = _alike(shell, orbits, _NEAR_SHELL_GAPS, least)
        parts = [part for part in parts if len(part) >= max(least, _MANY)]
        shells += parts if len(parts) > 1 else [shell]
    return shells


def _alike(members: Ints, orbits: Sgp4Orbits, gaps: tuple[float, float], least: float) -> list[Ints]:
    inclination_gap_deg, height_gap_km = gaps
    parts: list[Ints] = []
    for inclined_alike in _dense(members, orbits.inclination_deg, inclination_gap_deg, least):
        parts += _dense(inclined_alike, orbits.semi_major_km, height_gap_km, least)
    return parts


def grid_of(orbits: Sgp4Orbits) -> Ints:
    """Infer the +Grid from the satellites' motion at the epoch; return links as in `plus_grid`.

    Satellites of a shell (`shells_of`) with similar ascending nodes form a plane. A satellite has links to
    the next one ahead, and to the nearest along the orbit in the next plane, which stays the nearest because
    satellites of a shell move alike.
    """
    now, soon = orbits.inertial_km(0.0), orbits.inertial_km(1.0)
    normal = np.cross(now, soon)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    node = np.degrees(np.arctan2(normal[:, 0], -normal[:, 1])) % 360
    # Equatorial orbits have no node; they share one plane.
    node[np.hypot(normal[:, 0], normal[:, 1]) < np.sin(np.radians(_EQUATORIAL_DEG))] = 0.0
    to_node = np.stack([np.cos(np.radians(node)), np.sin(np.radians(node)), np.zeros(len(node))], axis=1)
    along = np.einsum("ni,ni->n", now, to_node)
    across = np.einsum("ni,ni->n", now, np.cross(normal, to_node))
    ahead = np.degrees(np.arctan2(across, along)) % 360
    links: list[tuple[int, int]] = []
    for shell in shells_of(orbits):
        planes = _split(shell, node, _PLANE_NODE_DEG, around=True)
        for plane in planes:
            ring = plane[np.argsort(ahead[plane])].tolist()
            links += zip(ring, ring[1:] + ring[:1], strict=True)
        for plane, east in zip(planes, planes[1:] + planes[:1], strict=True):
            step = (node[east[0]] - node[plane[0]]) % 360
            if len(planes) > 1 and step <= _NEXT_PLANE_DEG:
                links += _between(plane, east, ahead)
    pairs = np.array(links, dtype=np.int64).reshape(-1, 2)
    pairs.sort(axis=1)
    return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)


def _dense(members: Ints, value: Floats, gap: float, least: float) -> list[Ints]:
    """Split satellites at gaps in their sorted values between those that have at least ``least`` nearby.

    Nearby is within half a gap, the satellite itself included. The others join such a satellite nearby, or no
    part at all.
    """
    values = np.sort(value[members])
    above = np.searchsorted(values, value[members] + gap / 2, side="right")
    crowded = above - np.searchsorted(values, value[members] - gap / 2, side="left") >= least
    parts: list[Ints] = []
    for core in _split(members[crowded], value, gap):
        low, high = value[core].min() - gap / 2, value[core].max() + gap / 2
        inside = (value[members] >= low) & (value[members] <= high)
        parts.append(members[inside])
    return parts


def _split(members: Ints, value: Floats, gap: float, *, around: bool = False) -> list[Ints]:
    """Split satellites at gaps in their sorted values; with ``around``, values are degrees on a circle."""
    if not len(members):
        return []
    order = members[np.argsort(value[members], kind="stable")]
    parts = np.split(order, np.flatnonzero(np.diff(value[order]) > gap) + 1)
    if around and len(parts) > 1 and value[parts[0][0]] + 360 - value[parts[-1][-1]] <= gap:
        parts = [np.concatenate([parts[-1], parts[0]]), *parts[1:-1]]
    return parts


def _between(plane: Ints, east: Ints, ahead: Floats) -> list[tuple[int, int]]:
    """Return the pairs of satellites of two planes that are each other's nearest along the orbit.

    If one plane leads by half a slot, two satellites are equally near; the one ahead is preferred.
    """
    apart = np.abs((ahead[east][None, :] - ahead[plane][:, None] - _PREFERRED_LEAD_DEG + 180) % 360 - 180)
    nearest, back = apart.argmin(axis=1), apart.argmin(axis=0)
    return [
        (int(plane[own]), int(east[other])) for own, other in enumerate(nearest) if int(back[other]) == own
    ]


def meshes(links: Ints, count: int) -> list[Ints]:
    """Return the groups of satellites that links join across planes, the largest first.

    A group has more links than satellites: a ring has as many, such as that of satellites just launched. If
    all groups are rings, they are the constellation.
    """
    # Here, because the import takes time and only catalogues without a stated grid need it.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = csr_array((np.ones(len(links)), links.T), shape=(count, count))
    _, group = connected_components(graph, directed=False)
    satellites = np.bincount(group)
    joined = np.bincount(group[links[:, 0]], minlength=len(satellites))
    chosen = np.flatnonzero(joined > satellites)
    if not len(chosen):
        chosen = np.flatnonzero(satellites > 1)
    largest_first = chosen[np.argsort(-satellites[chosen], kind="stable")]
    return [np.flatnonzero(group == number) for number in largest_first]


def horizon_km(constellation: Constellation) -> NDArray[np.float64]:
    """Return each satellite's distance to its horizon at ``isl_min_altitude_km``, shape (satellites,).

    The maximum length of a link is the sum of its ends' distances.
    """
    floor = EARTH_RADIUS_KM + constellation.isl_min_altitude_km
    return np.sqrt(np.maximum(constellation.elements.radius_km**2 - floor**2, 0))
