"""Orbit mean-elements messages (OMM, CCSDS 502.0-B-3), as CelesTrak and Space-Track give them."""

import math
import re
from datetime import UTC, date, datetime, timedelta

from leogym.common.errors import InputError
from leogym.traces.orbit import omm_syntax
from leogym.traces.orbit.elements import (
    EARLIEST_YEAR,
    LATEST_YEAR,
    Catalogue,
    MeanElements,
    require_sgp4,
)

_NUMBER = re.compile(r"[+-]?(\d{1,30}\.?\d{0,30}|\.\d{1,30})([eE][+-]?\d{1,3})?", re.ASCII)
_UNIT = re.compile(r"(.*?)\s*\[([^\[\]]*)\]")
_CALENDAR = r"(?P<year>\d{4})-(?:(?P<month>\d\d)-(?P<day>\d\d)|(?P<ordinal>\d{3}))"
_EPOCH = re.compile(
    _CALENDAR + r"[T ](?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?P<fraction>\.\d{1,30})?Z?", re.ASCII
)

_SUPPORTED = {
    "CENTER_NAME": ("EARTH",),
    "REF_FRAME": ("TEME", "TEMEOFDATE"),
    "TIME_SYSTEM": ("UTC",),
    "MEAN_ELEMENT_THEORY": ("SGP4", "SGP/SGP4"),
}
"""What SGP4 means by its elements. A keyword that is absent, as in CelesTrak's CSV, is the first value."""

_NO_BSTAR = ("BTERM", "AGOM")
"""Drag terms of SGP4-XP, in the place of B*."""


def parse(data: str, source: str, reader: omm_syntax.Reader) -> Catalogue:
    """Parse the text of an OMM with the reader from `omm_syntax.reader`.

    Raises:
        InputError: a record is invalid, or there is none; the message names source, record and keyword.
    """
    satellites = [_satellite(place, fields) for place, fields in reader(data, source)]
    if not satellites:
        raise InputError(f"{source}: file: has no satellite")
    return Catalogue(satellites)


def _satellite(place: str, fields: dict[str, str]) -> MeanElements:
    for key, values in _SUPPORTED.items():
        value = fields.get(key, "")
        if value and value.upper() not in values:
            raise InputError(f"{place}: {key}: must be {values[0]}, not {value[:40]!r}")
    if kind := fields.get("EPHEMERIS_TYPE"):
        require_sgp4(int(_number(place, kind, "EPHEMERIS_TYPE", 0, 9)), place, "EPHEMERIS_TYPE")
    for key in _NO_BSTAR:
        if fields.get(key) and not fields.get("BSTAR"):
            raise InputError(f"{place}: {key}: belongs to SGP4-XP: SGP4 needs BSTAR")

    def number(key: str, least: float, most: float, unit: str) -> float:
        return _number(place, _required(place, fields, key), key, least, most, unit)

    def angle_rad(key: str, least: float = -360) -> float:
        return math.radians(number(key, least, 180 if key == "INCLINATION" else 360, "deg"))

    eccentricity = number("ECCENTRICITY", 0, 1, "")
    if eccentricity == 1:
        raise InputError(f"{place}: ECCENTRICITY: must be below 1")
    catalogue_number = fields.get("NORAD_CAT_ID", "")
    if catalogue_number:
        catalogue_number = f"{int(_number(place, catalogue_number, 'NORAD_CAT_ID', 0, 999_999_999))}"
    name = fields.get("OBJECT_NAME") or catalogue_number or fields.get("OBJECT_ID", "")
    if not name:
        raise InputError(f"{place}: NORAD_CAT_ID: is missing, and so are OBJECT_NAME and OBJECT_ID")
    return MeanElements(
        name=name,
        number=catalogue_number.lstrip("0"),
        epoch=_epoch(place, _required(place, fields, "EPOCH"), fields.get("EPOCH_MICROSECONDS", "")),
        inclination_rad=angle_rad("INCLINATION", 0),
        node_rad=angle_rad("RA_OF_ASC_NODE") % (2 * math.pi),
        eccentricity=eccentricity,
        perigee_rad=angle_rad("ARG_OF_PERICENTER") % (2 * math.pi),
        mean_anomaly_rad=angle_rad("MEAN_ANOMALY") % (2 * math.pi),
        motion_rad_per_min=number("MEAN_MOTION", 0.01, 18, "rev/day") * 2 * math.pi / 1440,
        bstar=number("BSTAR", -1e6, 1e6, "1/ER"),
        decay=_decay(place, fields.get("DECAY_DATE", "")),
    )


def _required(place: str, fields: dict[str, str], key: str) -> str:
    if not fields.get(key):
        raise InputError(f"{place}: {key}: is missing")
    return fields[key]


def _number(place: str, text: str, key: str, least: float, most: float, unit: str = "") -> float:
    if with_unit := _UNIT.fullmatch(text):
        text, stated = with_unit.groups()
        if unit and stated.strip().lower() != unit.lower():
            raise InputError(f"{place}: {key}: must be in {unit}, not {stated[:20]!r}")
    if not _NUMBER.fullmatch(text):
        raise InputError(f"{place}: {key}: must be a number such as 15.05, not {text[:40]!r}")
    value = float(text)
    if not least <= value <= most:
        raise InputError(f"{place}: {key}: must be from {least:g} to {most:g}, not {value:g}")
    return value


def _epoch(place: str, text: str, microseconds: str) -> datetime:
    """Parse a time in UTC. Space-Track's retired classes give its microseconds apart."""
    parts = _EPOCH.fullmatch(text)
    year = 0 if parts is None else int(parts["year"])
    if parts is not None and not EARLIEST_YEAR <= year <= LATEST_YEAR:
        raise InputError(f"{place}: EPOCH: must be from {EARLIEST_YEAR} to {LATEST_YEAR}, not {year}")
    try:
        if parts is None:
            raise ValueError
        if parts["ordinal"]:
            day = datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=int(parts["ordinal"]) - 1)
            if day.year != year:
                raise ValueError
        else:
            day = datetime(year, int(parts["month"]), int(parts["day"]), tzinfo=UTC)
        instant = day.replace(
            hour=int(parts["hour"]), minute=int(parts["minute"]), second=int(parts["second"])
        )
    except ValueError:
        raise InputError(
            f"{place}: EPOCH: must be UTC such as 2026-11-16T12:00:00.000000, not {text[:40]!r}"
        ) from None
    if parts["fraction"]:
        return instant + timedelta(seconds=float(parts["fraction"]))
    if microseconds:
        apart = _number(place, microseconds, "EPOCH_MICROSECONDS", 0, 999_999)
        return instant + timedelta(microseconds=apart)
    return instant


def _decay(place: str, text: str) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        raise InputError(
            f"{place}: DECAY_DATE: must be a day such as 2026-11-16, not {text[:40]!r}"
        ) from None
