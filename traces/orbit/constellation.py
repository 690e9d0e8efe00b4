"""Constellations: Walker shells or catalogued satellites, from ``data/constellations`` or a file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from leogym.common import text_file, yaml_text
from leogym.common.command_line import leogym_command
from leogym.common.errors import InputError, one_line
from leogym.common.nearest import suggest_names
from leogym.common.strict import Range, Strict
from leogym.traces.orbit import catalogue, flown
from leogym.traces.orbit.earth import EARTH_MU_KM3_PER_S2, EARTH_RADIUS_KM, J2000, JULIAN_YEAR_S
from leogym.traces.orbit.elements import Catalogue, MeanElements

FOLDER = Path(__file__).resolve().parents[1] / "data" / "constellations"
Floats = NDArray[np.float64]

_TLE_ECCENTRICITY = 1e-7  # the smallest above 0 that two-line elements can state
_TLE_DECIMALS = 4  # decimals of angles in degrees
_MOST_SATELLITES = 100_000
"""A position of each, at 32 re-selections at once, takes 77 MB."""

MOTION_TOLERANCE = 0.005
"""Share by which a stated mean motion may differ from Kepler's at the altitude. The Earth's oblateness
explains 0.0014, an altitude over the mean radius (6,371 km) 0.0015."""

Altitude = Annotated[float, Range(ge=160, le=50_000)]
Degrees = Annotated[float, Range(ge=0, le=180)]
Elevation = Annotated[float, Range(ge=0, lt=90)]


class Shell(Strict):
    """Circular orbits of one altitude and inclination: evenly spread planes, evenly spread satellites."""

    planes: Annotated[int, Range(ge=1, le=1000)]
    """Number of orbital planes."""
    satellites_per_plane: Annotated[int, Range(ge=1, le=1000)]
    """Number of satellites in each plane."""
    altitude_km: Altitude
    """Above the Earth's equatorial radius, 6,378 km."""
    inclination_deg: Degrees
    """Angle between the planes and the equator."""
    raan_span_deg: Annotated[float, Range(gt=0, le=360)] = 360.0
    """Angle over which the ascending nodes spread: 360 for a Walker delta, 180 for a Walker star."""
    phasing: Annotated[int, Range(ge=0, lt=1000)] | Literal["alternate"] = 0
    """Walker's F, below ``planes``: a satellite leads its western neighbour by F / planes slots.
    ``alternate``: odd planes lead by half a slot."""
    isl_slot_shift: Annotated[int, Range(gt=-1000, lt=1000)] = 0
    """Slot of the laser neighbour in the next plane minus the satellite's own slot; shorter than a plane."""
    mean_motion_rev_per_day: Annotated[float, Range(gt=0.01, le=18)] | None = None
    """For SGP4 orbits: Kozai's mean motion, as in two-line elements. Kepler's by default."""

    @model_validator(mode="after")
    def _consistent(self) -> Shell:
        if self.phasing != "alternate" and self.phasing >= self.planes:
            raise ValueError(f"phasing: must be below planes, {self.planes}, not {self.phasing}")
        if abs(self.isl_slot_shift) >= self.satellites_per_plane:
            raise ValueError(
                f"isl_slot_shift: must be shorter than satellites_per_plane, {self.satellites_per_plane}, "
                f"not {self.isl_slot_shift}"
            )
        stated, own = self.mean_motion_rev_per_day, 86_400 / self.period_s
        if stated is not None and abs(stated / own - 1) > MOTION_TOLERANCE:
            fitting_km = self.radius_km * (own / stated) ** (2 / 3) - EARTH_RADIUS_KM
            raise ValueError(
                f"mean_motion_rev_per_day: {stated:g} belongs to {fitting_km:.0f} km; altitude_km is "
                f"{self.altitude_km:g}, to which {own:.4g} belongs"
            )
        return self

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
    """By default the file's name without its suffix."""
    source: str
    """Where the numbers come from; by default the file's name."""
    min_elevation_deg: Elevation = 25.0
    """Lowest elevation at which users and gateways reach a satellite; Starlink's by default."""
    orbits: Literal["circular", "sgp4"] = "circular"
    """``sgp4`` propagates shells by SGP4 too, from elements with eccentricity 1e-7, as Hypatia does."""
    isl: Literal["plus-grid", "none"] = "plus-grid"
    """``plus-grid``: lasers to two neighbours in the plane and one in each adjacent plane."""
    isl_max_km: Annotated[float, Range(gt=0)] | None = None
    """Maximum length of a laser link, if the equipment rather than the horizon limits it."""
    isl_min_altitude_km: Annotated[float, Range(ge=0)] = 80.0
    """Laser links stay above this altitude, because the atmosphere bends and absorbs them."""
    shells: list[Shell] = Field(default=[])
    """Required, unless there is a ``tle_file``."""
    tle_file: str | None = None
    """A catalogue of satellites instead of shells: two-line elements, or an OMM as CSV, JSON, XML or KVN. The
    path is relative to the YAML file's folder."""
    _catalogue: Catalogue | None = PrivateAttr(default=None)
    _file: Path | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _no_shell_keys(cls, data: Any) -> Any:
        """Refuse keys of a shell outside of ``shells``, all in one message."""
        keys = [key for key in data if key in Shell.model_fields] if isinstance(data, dict) else []
        if keys:
            rule = f"must be in an entry of shells, as in shells: [{{{keys[0]}: {data[keys[0]]}}}]"
            error = PydanticCustomError("shell_key", "{rule}", {"rule": rule})
            details = InitErrorDetails(type=error, loc=(", ".join(keys),), input=data)
            raise ValidationError.from_exception_data(cls.__name__, [details])
        return data

    @model_validator(mode="after")
    def _consistent(self) -> Constellation:
        if bool(self.shells) == bool(self.tle_file):
            raise ValueError("give shells or tle_file, not both or neither")
        if self.tle_file and self.orbits == "circular" and "orbits" in self.model_fields_set:
            raise ValueError("orbits: satellites of a tle_file fly by SGP4: leave circular out, or say sgp4")
        count = sum(shell.planes * shell.satellites_per_plane for shell in self.shells)
        if count > _MOST_SATELLITES:
            raise ValueError(f"shells: must have at most {_MOST_SATELLITES:,} satellites, not {count:,}")
        lowest_km = min((shell.altitude_km for shell in self.shells), default=None)
        if self.isl != "none" and lowest_km is not None and self.isl_min_altitude_km >= lowest_km:
            raise ValueError(
                f"isl_min_altitude_km: must be below the lowest altitude_km, {lowest_km:g}, not "
                f"{self.isl_min_altitude_km:g}: no laser link stays above it"
            )
        return self

    @property
    def catalogue(self) -> Catalogue | None:
        """The satellites of ``tle_file``, after `load` has read it."""
        return self._catalogue

    @property
    def satellite_names(self) -> list[str] | None:
        """The names in the catalogue; None for shells."""
        return None if self._catalogue is None else [own.name for own in self._catalogue.satellites]

    @property
    def file(self) -> Path | None:
        """The file of the catalogue."""
        return self._file

    @property
    def own_epoch(self) -> datetime | None:
        """The catalogue's own time (`flown.own_epoch`); None for shells."""
        return None if self._catalogue is None else flown.own_epoch(self._catalogue)

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
        if self._catalogue is not None:
            return _catalogued(self._catalogue.satellites)
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
        if self._catalogue is not None:
            return flown.columns(self._catalogue.satellites, epoch)
        elements = self.elements
        columns = np.zeros((len(elements.radius_km), 8))
        columns[:, 0] = (epoch - J2000).total_seconds() / JULIAN_YEAR_S
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

    def at(self, epoch: datetime, start_s: float, duration_s: float) -> tuple[Constellation, list[str]]:
        """Return the constellation of the satellites that fly then, and notes about it (`flown.flight`).

        Raises:
            InputError: none of the catalogue's satellites flies.
        """
        if self._catalogue is None:
            return self, []
        flight = flown.flight(self._catalogue, str(self._file), epoch, start_s, duration_s)
        return self.with_catalogue(flight.catalogue, self._file), flight.notes

    def with_catalogue(self, satellites: Catalogue, file: Path | None) -> Constellation:
        """Return this constellation with the satellites of ``file``."""
        other = Constellation.model_validate(self.model_dump(exclude_unset=True))
        other._catalogue, other._file = satellites, file
        return other


def _catalogued(satellites: list[MeanElements]) -> Elements:
    motion = np.array([own.motion_rad_per_min for own in satellites]) / 60
    # Use the perigee: a link that clears the atmosphere there clears it everywhere.
    radius_km = np.cbrt(EARTH_MU_KM3_PER_S2 / motion**2) * (
        1 - np.array([own.eccentricity for own in satellites])
    )
    return Elements(
        radius_km,
        np.array([own.inclination_rad for own in satellites]),
        np.array([own.node_rad for own in satellites]),
        np.array([own.perigee_rad + own.mean_anomaly_rad for own in satellites]) % (2 * np.pi),
        motion,
    )


def names() -> list[str]:
    """Return the names of the constellations that come with LeoGym."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load(name_or_file: str) -> Constellation:
    """Load a constellation that comes with LeoGym, or one from a YAML file or a catalogue of satellites.

    The content of the file says which, not its name.

    Raises:
        InputError: there is no such name or file, or the file is invalid.
    """
    shipped = names()
    if name_or_file in shipped:
        path = FOLDER / f"{name_or_file}.yaml"
    elif Path(name_or_file).is_file():
        path = Path(name_or_file)
    else:
        raise InputError(
            f"constellation: {name_or_file!r}: neither a file nor a known constellation "
            f"{suggest_names(name_or_file, shipped, leogym_command('traces', 'list'))}"
        ) from None
    satellites = read_catalogue(path)
    if satellites is not None:
        own = Constellation(
            name=path.stem,
            source=f"orbital elements in {path.name}",
            tle_file=path.name,
        )
        return own.with_catalogue(satellites, path)
    fields = yaml_text.read(path)
    if isinstance(fields, dict):
        fields = {"name": path.stem, "source": path.name, **fields}
    try:
        constellation = Constellation.model_validate(fields)
    except ValidationError as error:
        raise InputError(one_line(str(path), error)) from None
    if constellation.tle_file is None:
        return constellation
    file = path.parent / constellation.tle_file
    if not file.is_file():
        raise InputError(f"{path}: tle_file: no file {constellation.tle_file!r} in the folder {path.parent}")
    satellites = read_catalogue(file)
    if satellites is None:
        raise InputError(f"{path}: tle_file: {file} is YAML, and must be {catalogue.FORMATS}")
    return constellation.with_catalogue(satellites, file)


def read_catalogue(path: Path) -> Catalogue | None:
    """Return a file's satellites, or None if it is YAML; raise InputError if it is invalid."""
    return _parsed(text_file.read(path, catalogue.MAX_BYTES), str(path))


@lru_cache(maxsize=1)  # two paths over one catalogue are built one after the other
def _parsed(text: str, source: str) -> Catalogue | None:
    return catalogue.parse(text, source)
