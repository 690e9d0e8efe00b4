"""Constellations as data: Walker shells, from YAML files in ``data/constellations`` or one of your own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from configs.errors import InputError, one_line
from configs.scenario import Strict, load_yaml
from traces.earth import EARTH_MU_KM3_PER_S2, EARTH_RADIUS_KM

FOLDER = Path(__file__).parent / "data" / "constellations"
Floats = NDArray[np.float64]

Altitude = Annotated[float, Field(ge=160, le=50_000, allow_inf_nan=False)]
Degrees = Annotated[float, Field(ge=0, le=180, allow_inf_nan=False)]
Elevation = Annotated[float, Field(ge=0, lt=90, allow_inf_nan=False)]


class Shell(Strict):
    """Satellites on circular orbits of one altitude and inclination, evenly over evenly spread planes."""

    planes: Annotated[int, Field(ge=1, le=1000)]
    satellites_per_plane: Annotated[int, Field(ge=1, le=1000)]
    altitude_km: Altitude
    inclination_deg: Degrees
    raan_span_deg: Annotated[float, Field(gt=0, le=360, allow_inf_nan=False)] = 360.0
    """The planes' ascending nodes share this angle evenly: 360 for a Walker delta, 180 for a Walker star."""
    phasing: Annotated[int, Field(ge=0)] | Literal["alternate"] = 0
    """Walker's F: a satellite leads its neighbour in the plane to the west by F / planes of a slot.
    ``alternate``: every odd plane leads by half a slot."""
    isl_slot_shift: int = 0
    """Slot of the laser neighbour in the next plane, minus one's own."""

    @property
    def radius_km(self) -> float:
        """Distance of the satellites from the Earth's centre."""
        return EARTH_RADIUS_KM + self.altitude_km

    @property
    def motion_rad_per_s(self) -> float:
        """Mean motion of a circular orbit (Kepler's third law)."""
        return float(np.sqrt(EARTH_MU_KM3_PER_S2 / self.radius_km**3))

    @property
    def period_s(self) -> float:
        """Time of one revolution against the stars."""
        return 2 * np.pi / self.motion_rad_per_s

    def slot_offsets(self) -> Floats:
        """Return each plane's lead in slots, shape (planes,)."""
        plane = np.arange(self.planes)
        if self.phasing == "alternate":
            return (plane % 2).astype(np.float64) / 2
        return plane * self.phasing / self.planes

    def seam_slots(self) -> int:
        """Return the slots that the planes gain on the way round and a link over the seam must take back."""
        return 0 if self.phasing == "alternate" else self.phasing


@dataclass(frozen=True)
class Elements:
    """Orbital elements of every satellite at the epoch; all arrays have shape (satellites,)."""

    radius_km: Floats
    inclination_rad: Floats
    node_rad: Floats
    """Right ascension of the ascending node."""
    argument_rad: Floats
    """Argument of latitude: angle from the ascending node along the orbit."""
    motion_rad_per_s: Floats


class Constellation(Strict):
    """Shells that serve the same users, and what applies to all of them."""

    name: str
    source: str
    min_elevation_deg: Elevation
    """For users and gateways alike."""
    isl_min_altitude_km: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 80.0
    """Laser links stay above this altitude: the atmosphere would bend and absorb them."""
    shells: Annotated[list[Shell], Field(min_length=1)]

    @property
    def altitude_km(self) -> float:
        """The lowest shell's altitude."""
        return min(shell.altitude_km for shell in self.shells)

    @cached_property
    def elements(self) -> Elements:
        """Elements of all satellites: shell by shell, plane by plane, slot by slot."""
        columns: list[list[Floats]] = [[], [], [], [], []]
        for shell in self.shells:
            slots = shell.satellites_per_plane
            count = shell.planes * slots
            node = np.radians(shell.raan_span_deg) * np.arange(shell.planes) / shell.planes
            argument = 2 * np.pi * (np.arange(slots) + shell.slot_offsets()[:, None]) / slots
            columns[0].append(np.full(count, shell.radius_km))
            columns[1].append(np.full(count, np.radians(shell.inclination_deg)))
            columns[2].append(np.repeat(node, slots))
            columns[3].append(argument.ravel() % (2 * np.pi))
            columns[4].append(np.full(count, shell.motion_rad_per_s))
        return Elements(*(np.concatenate(column) for column in columns))


def names() -> list[str]:
    """Return the names of the constellations that come with LeoGym."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load(name_or_file: str) -> Constellation:
    """Return a constellation that comes with LeoGym, or the one in a YAML file of the same form.

    Raises:
        InputError: no such name and no such file, or the file breaks the schema.
    """
    known = names()
    if name_or_file in known:
        path = FOLDER / f"{name_or_file}.yaml"
    elif Path(name_or_file).is_file():
        path = Path(name_or_file)
    else:
        raise InputError(
            f"constellation: {name_or_file!r}: neither a file nor one of {', '.join(known)}"
        ) from None
    try:
        return Constellation.model_validate(load_yaml(path))
    except ValidationError as error:
        raise InputError(one_line(str(path), error)) from None
