"""Constellations: Walker shells or two-line elements, from ``data/constellations`` or a file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr, ValidationError, model_validator

from leogym.configs import yaml_text
from leogym.configs.errors import InputError, one_line
from leogym.configs.nearest import instead
from leogym.configs.strict import Range, Strict
from leogym.traces.orbit import tle
from leogym.traces.orbit.earth import EARTH_MU_KM3_PER_S2, EARTH_RADIUS_KM

FOLDER = Path(__file__).resolve().parents[1] / "data" / "constellations"
Floats = NDArray[np.float64]

_J2000 = datetime(2000, 1, 1, 12, tzinfo=UTC)
_JULIAN_YEAR_S = 365.25 * 86_400
_TLE_ECCENTRICITY = 1e-7  # the smallest above 0 that two-line elements can state
_TLE_DECIMALS = 4  # decimals of angles in degrees
_TLE_SUFFIXES = {".tle", ".txt", ".3le", ".2le"}
_TLE_MIN_ELEVATION_DEG = 25.0

Altitude = Annotated[float, Range(ge=160, le=50_000)]
Degrees = Annotated[float, Range(ge=0, le=180)]
Elevation = Annotated[float, Range(ge=0, lt=90)]


class Shell(Strict):
    """Circular orbits of one altitude and inclination: evenly spread planes, evenly spread satellites."""

    planes: Annotated[int, Range(ge=1, le=1000)]
    satellites_per_plane: Annotated[int, Range(ge=1, le=1000)]
    altitude_km: Altitude
    inclination_deg: Degrees
    raan_span_deg: Annotated[float, Range(gt=0, le=360)] = 360.0
    """Angle over which the ascending nodes spread: 360 for a Walker delta, 180 for a Walker star."""
    phasing: Annotated[int, Range(ge=0)] | Literal["alternate"] = 0
    """Walker's F: a satellite leads its western neighbour by F / planes slots.
    ``alternate``: odd planes lead by half a slot."""
    isl_slot_shift: int = 0
    """Slot of the laser neighbour in the next plane minus the satellite's own slot."""
    mean_motion_rev_per_day: Annotated[float, Range(gt=0.01, le=18)] | None = None
    """For SGP4 orbits: Kozai's mean motion, as in two-line elements. Kepler's by default."""

    @property
    def radius_km(self) -> float:
        """Distance from the Earth's centre."""
        return EARTH_RADIUS_KM + self.altitude_km

    @property
    def motion_rad_per_s(self) -> float:
        """Mean motion of a circular orbit (Kepler's third law)."""
        return float(np.sqrt(EARTH_MU_KM3_PER_S2 / self.radius_km**3))

    @property
    def period_s(self) -> float:
        """Sidereal orbital period."""
        return 2 * np.pi / self.motion_rad_per_s

    def slot_offsets(self) -> Floats:
        """Return each plane's lead, in slots, shape (planes,)."""
        plane = np.arange(self.planes)
        if self.phasing == "alternate":
            return (plane % 2).astype(np.float64) / 2
        return plane * self.phasing / self.planes

    def seam_slots(self) -> int:
        """Return the slots by which the planes' leads add up, which links over the seam must take back."""
        return 0 if self.phasing == "alternate" else self.phasing


@dataclass(frozen=True)
class Elements:
    """Orbital elements of all satellites at the epoch. All arrays have shape (satellites,)."""

    radius_km: Floats
    inclination_rad: Floats
    node_rad: Floats  # right ascension of the ascending node
    argument_rad: Floats  # argument of latitude: angle from the ascending node along the orbit
    motion_rad_per_s: Floats


class Constellation(Strict):
    """Shells, or the satellites of a file, with their common settings."""

    name: str
    source: str
    min_elevation_deg: Elevation
    """For users and gateways."""
    orbits: Literal["circular", "sgp4"] = "circular"
    """``sgp4`` propagates shells by SGP4 too, from elements with eccentricity 1e-7, as Hypatia does."""
    isl: Literal["plus-grid", "none"] = "plus-grid"
    """``plus-grid``: lasers to two neighbours in the plane and one in each adjacent plane."""
    isl_max_km: Annotated[float, Range(gt=0)] | None = None
    """Maximum length of a laser link, if the equipment rather than the horizon limits it."""
    isl_min_altitude_km: Annotated[float, Range(ge=0)] = 80.0
    """Laser links stay above this altitude, because the atmosphere bends and absorbs them."""
    shells: list[Shell] = Field(default=[])
    tle_file: str | None = None
    """Two-line elements instead of shells; the path is relative to the YAML file's folder."""
    _tles: tle.TleFile | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _one_of(self) -> Constellation:
        if bool(self.shells) == bool(self.tle_file):
            raise ValueError("give shells or tle_file, not both or neither")
        return self

    @property
    def tles(self) -> tle.TleFile | None:
        """The satellites of ``tle_file``, after `load` has read it."""
        return self._tles

    @property
    def sgp4(self) -> bool:
        """Whether SGP4 propagates the satellites."""
        return self.orbits == "sgp4" or self.tle_file is not None

    @cached_property
    def altitude_km(self) -> float:
        """The lowest nominal altitude: of the shells, or of the perigees."""
        return float(self.elements.radius_km.min()) - EARTH_RADIUS_KM

    @cached_property
    def elements(self) -> Elements:
        """Elements of all satellites, ordered by shell, plane and slot."""
        if self._tles is not None:
            return _tle_elements(self._tles.tles)
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

    def mean_elements(self, epoch: datetime) -> tuple[Floats, Floats]:
        """Return `leosim.Sgp4`'s columns, (satellites, 8), and minutes from own epochs to ``epoch``.

        Shells have their epoch at ``epoch``, and angles rounded to the decimals of two-line elements.
        """
        if self._tles is not None:
            rows = [
                (
                    (own.epoch - _J2000).total_seconds() / _JULIAN_YEAR_S,
                    own.inclination_rad,
                    own.node_rad,
                    own.eccentricity,
                    own.perigee_rad,
                    own.mean_anomaly_rad,
                    own.motion_rad_per_min,
                    own.bstar,
                )
                for own in self._tles.tles
            ]
            since = [(epoch - own.epoch).total_seconds() / 60 for own in self._tles.tles]
            return np.array(rows), np.array(since)
        elements = self.elements
        columns = np.zeros((len(elements.radius_km), 8))
        columns[:, 0] = (epoch - _J2000).total_seconds() / _JULIAN_YEAR_S
        for column, angle in (
            (1, elements.inclination_rad),
            (2, elements.node_rad),
            (5, elements.argument_rad),
        ):
            columns[:, column] = np.radians(np.round(np.degrees(angle), _TLE_DECIMALS))
        columns[:, 3] = _TLE_ECCENTRICITY
        columns[:, 6] = np.concatenate(
            [
                np.full(
                    shell.planes * shell.satellites_per_plane,
                    shell.motion_rad_per_s * 60
                    if shell.mean_motion_rev_per_day is None
                    else shell.mean_motion_rev_per_day * 2 * np.pi / 1440,
                )
                for shell in self.shells
            ]
        )
        return columns, np.zeros(len(columns))

    def read_tles(self, folder: Path) -> None:
        """Read ``tle_file``, if any, from ``folder``; raise InputError if it is invalid."""
        if self.tle_file is not None:
            self._tles = tle.read(folder / self.tle_file)


def _tle_elements(tles: list[tle.Tle]) -> Elements:
    motion = np.array([own.motion_rad_per_min for own in tles]) / 60
    # Use the perigee: a link that clears the atmosphere there clears it everywhere.
    radius_km = np.cbrt(EARTH_MU_KM3_PER_S2 / motion**2) * (1 - np.array([own.eccentricity for own in tles]))
    return Elements(
        radius_km,
        np.array([own.inclination_rad for own in tles]),
        np.array([own.node_rad for own in tles]),
        np.array([own.perigee_rad + own.mean_anomaly_rad for own in tles]) % (2 * np.pi),
        motion,
    )


def names() -> list[str]:
    """Return the names of the constellations that come with LeoGym."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load(name_or_file: str) -> Constellation:
    """Load a constellation that comes with LeoGym, or one from a YAML or two-line element file.

    Raises:
        InputError: there is no such name or file, or the file is invalid.
    """
    known = names()
    if name_or_file in known:
        path = FOLDER / f"{name_or_file}.yaml"
    elif Path(name_or_file).is_file():
        path = Path(name_or_file)
    else:
        raise InputError(
            f"constellation: {name_or_file!r}: neither a file nor a known constellation "
            f"{instead(name_or_file, known, 'leogym traces list')}"
        ) from None
    if path.suffix.lower() in _TLE_SUFFIXES:
        found = Constellation(
            name=path.stem,
            source=f"two-line elements in {path.name}",
            min_elevation_deg=_TLE_MIN_ELEVATION_DEG,
            tle_file=path.name,
        )
    else:
        try:
            found = Constellation.model_validate(yaml_text.read(path))
        except ValidationError as error:
            raise InputError(one_line(str(path), error)) from None
    found.read_tles(path.parent)
    return found
