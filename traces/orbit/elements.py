"""Mean elements of satellites for SGP4, as a catalogue lists them."""

from dataclasses import dataclass
from datetime import date, datetime

from leogym.common.errors import InputError

OTHER_THEORIES = {3: "PPT3", 4: "SGP4-XP", 6: "special perturbations"}
"""Ephemeris types of elements that SGP4 must not propagate (CCSDS 502.0-B-3, table 4-3)."""

EARLIEST_YEAR, LATEST_YEAR = 1957, 2199
"""Years of epochs: from the first satellite on."""


@dataclass(frozen=True)
class MeanElements:
    """Mean elements of one satellite at its own epoch, for SGP4."""

    name: str
    number: str
    """The catalogue number without leading zeros, Alpha-5 as digits; empty if the catalogue has none."""
    epoch: datetime
    inclination_rad: float
    node_rad: float  # right ascension of the ascending node
    eccentricity: float
    perigee_rad: float
    mean_anomaly_rad: float
    motion_rad_per_min: float  # Kozai's mean motion
    bstar: float  # drag term, per Earth radius
    decay: date | None = None
    """The day of its decay, if the catalogue states it."""


@dataclass(frozen=True)
class Catalogue:
    """The satellites of a file, in file order."""

    satellites: list[MeanElements]
    grid: tuple[int, int] | None = None
    """Planes and satellites per plane, if the file states them (as in Hypatia)."""


def require_sgp4(ephemeris_type: int, source: str, field: str) -> None:
    """Raise InputError if elements with this ephemeris type belong to another theory."""
    if theory := OTHER_THEORIES.get(ephemeris_type):
        raise InputError(
            f"{source}: {field}: {ephemeris_type} is {theory}, which SGP4 cannot propagate: use 0, SGP4"
        )
