"""Parser of two-line element sets.

Columns are those of Hoots and Roehrich, Spacetrack Report No. 3 (1980), and of CelesTrak's page on the
format.
"""

import math
import re
from datetime import UTC, datetime, timedelta

from leogym.common import text_file
from leogym.common.errors import InputError
from leogym.traces.orbit.elements import Catalogue, MeanElements, require_sgp4

_LENGTH = 69
_GRID = re.compile(r"([1-9]\d{0,4}) +([1-9]\d{0,4})", re.ASCII)
_MOST_IN_GRID = 1000
"""Planes, and satellites per plane, as in `constellation.Shell`."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)", re.ASCII)
_EXPONENTIAL = re.compile(r"([+-]?)(\d{1,5})([+-]\d)", re.ASCII)
_DIGITS = re.compile(r"\d+", re.ASCII)
_ALPHA_5 = re.compile(r"[A-HJ-NP-Z]\d{4}", re.ASCII)
_ALPHA_5_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"  # without I and O; A is 10


def checksum(line: str) -> int:
    """Return the checksum that ends a line: the sum of its digits, plus 1 per minus sign, modulo 10."""
    return sum(int(c) if c in "0123456789" else c == "-" for c in line[: _LENGTH - 1]) % 10


def parse(data: bytes, source: str) -> Catalogue:
    """Parse two- or three-line sets in UTF-8, skipping blank lines and lines that start with #.

    Raises:
        InputError: wrong length, checksum, number or order of lines; the message names source and line.
    """
    return parse_text(text_file.decode(data, source), source)


def parse_text(text: str, source: str) -> Catalogue:
    """Parse the text of `parse`."""
    lines = [
        (number, line.rstrip("\r\t "))
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip() and not line.startswith("#")
    ]
    grid: tuple[int, int] | None = None
    if lines and (header := _GRID.fullmatch(lines[0][1])):
        grid = int(header[1]), int(header[2])
        if max(grid) > _MOST_IN_GRID:
            raise InputError(
                f"{source}:{lines[0][0]}: file: says {grid[0]} x {grid[1]} satellites: at most "
                f"{_MOST_IN_GRID} planes of {_MOST_IN_GRID} satellites can be linked"
            )
        lines = lines[1:]
    satellites: list[MeanElements] = []
    place = 0
    while place < len(lines):
        number, line = lines[place]
        name = ""
        if not line.startswith("1 "):
            if line.startswith("2 ") and len(line) == _LENGTH:
                raise InputError(f"{source}:{number}: line 2: comes without its line 1")
            name = line.removeprefix("0 ").strip()
            place += 1
            if place == len(lines) or not lines[place][1].startswith("1 "):
                raise InputError(f"{source}:{number}: line 1: must follow the name {name[:40]!r}")
        number, first = lines[place]
        if place + 1 == len(lines) or not lines[place + 1][1].startswith("2 "):
            raise InputError(f"{source}:{number}: line 2: must follow line 1")
        other, second = lines[place + 1]
        satellites.append(_satellite(name, first, second, f"{source}:{number}", f"{source}:{other}"))
        place += 2
    if not satellites:
        raise InputError(f"{source}: file: has no two-line elements")
    if grid and grid[0] * grid[1] != len(satellites):
        raise InputError(
            f"{source}:1: file: says {grid[0]} x {grid[1]} satellites, but {len(satellites)} follow"
        )
    return Catalogue(satellites, grid)


def _satellite(name: str, first: str, second: str, source1: str, source2: str) -> MeanElements:
    for line, source in ((first, source1), (second, source2)):
        if len(line) != _LENGTH:
            raise InputError(f"{source}: length: must be {_LENGTH} characters, not {len(line)}")
        if line[-1] != str(checksum(line)):
            raise InputError(f"{source}: checksum: must be {checksum(line)}, not {line[-1]!r}")
    if first[2:7] != second[2:7]:
        raise InputError(f"{source2}: satellite: must be that of line 1, {first[2:7]!r}, not {second[2:7]!r}")
    if _DIGITS.fullmatch(first[62]):
        require_sgp4(int(first[62]), source1, "ephemeris type")
    turn = 2 * math.pi
    eccentricity = _digits(second[26:33], "eccentricity", source2)
    return MeanElements(
        name=name or first[2:7].strip(),
        number=catalogue_number(first[2:7]),
        epoch=_epoch(first[18:32], source1),
        bstar=_exponential(first[53:61], "B*", source1),
        inclination_rad=math.radians(_number(second[8:16], "inclination", source2, 0, 180)),
        node_rad=math.radians(_number(second[17:25], "right ascension", source2, 0, 360)),
        eccentricity=eccentricity / 10 ** len(second[26:33]),
        perigee_rad=math.radians(_number(second[34:42], "argument of perigee", source2, 0, 360)),
        mean_anomaly_rad=math.radians(_number(second[43:51], "mean anomaly", source2, 0, 360)),
        motion_rad_per_min=_number(second[52:63], "mean motion", source2, 0.01, 18) * turn / 1440,
    )


def catalogue_number(text: str) -> str:
    """Return a catalogue number as digits: ``00005`` is 5, and ``A0001`` (Alpha-5) is 100001."""
    plain = text.strip(" ")
    if _ALPHA_5.fullmatch(plain):
        return f"{10 + _ALPHA_5_LETTERS.index(plain[0])}{plain[1:]}"
    return plain.lstrip("0") if _DIGITS.fullmatch(plain) else plain


def _number(text: str, field: str, source: str, least: float, most: float) -> float:
    # Only blanks may pad a field; a plain strip() also removes control characters.
    if not _NUMBER.fullmatch(text.strip(" ")):
        raise InputError(f"{source}: {field}: {text!r} is not a number")
    value = float(text.strip(" "))
    if not least <= value <= most:
        raise InputError(f"{source}: {field}: must be from {least:g} to {most:g}, not {value:g}")
    return value


def _digits(text: str, field: str, source: str) -> int:
    if not _DIGITS.fullmatch(text.replace(" ", "0")):
        raise InputError(f"{source}: {field}: {text!r} must be digits only")
    return int(text.replace(" ", "0"))


def _exponential(text: str, field: str, source: str) -> float:
    """Parse a number like `` 28098-4``: the point before the digits and the ten of the power are implied."""
    parts = _EXPONENTIAL.fullmatch(text.replace(" ", "") or "00000+0")
    if parts is None:
        raise InputError(f"{source}: {field}: {text!r} is not a number like ' 28098-4'")
    sign, digits, power = parts.groups()
    return float(f"{sign}0.{digits}e{power}")


def _epoch(text: str, source: str) -> datetime:
    """Parse a two-digit year (57 to 99 are in the 20th century) and a fractional day that counts from 1."""
    year = _digits(text[:2], "epoch", source)
    day = _number(text[2:], "epoch", source, 1, 367)
    start = datetime(year + (1900 if year >= 57 else 2000), 1, 1, tzinfo=UTC)
    return start + timedelta(days=day - 1)
