"""Read catalogues of satellites: two-line elements, or OMM in any of its syntaxes, told by their content."""

import re
from pathlib import Path

from leogym.common.errors import InputError
from leogym.traces.orbit import omm, omm_syntax, tle
from leogym.traces.orbit.elements import Catalogue

FORMATS = "two-line elements, or OMM as CSV, JSON, XML or KVN"

MAX_BYTES = 64 << 20
"""Enough for over 300,000 satellites in two-line elements, or for every catalogued object as OMM.
Larger files are refused, because a file is read into memory whole."""

_TLE_SUFFIXES = {".tle", ".3le", ".2le"}
_LINE_1 = re.compile(r"1 .{30,}")
_HEAD_LINES = 5
_YAML = re.compile(r"---|\{|-\s|[A-Za-z_\"'][\w\"' ]*:(\s|$)")


def parse(text: str, source: str) -> Catalogue | None:
    """Return the satellites of a file's text, or None if it is neither two-line elements nor an OMM.

    The suffix of ``source`` decides only where the content shows neither these nor YAML.

    Raises:
        InputError: the text is one of these formats, and invalid.
    """
    lines = [line for line in text.split("\n", 1000) if line.strip() and not line.startswith("#")]
    head = lines[:_HEAD_LINES]
    if any(map(_LINE_1.match, head)):
        return tle.parse_text(text, source)
    reader = omm_syntax.reader(text)
    if reader is not None:
        return omm.parse(text, source, reader)
    if head and _YAML.match(head[0]):
        return None
    suffix = Path(source).suffix.lower()
    if suffix in _TLE_SUFFIXES or (suffix == ".txt" and head):
        return tle.parse_text(text, source)
    if suffix in {".yaml", ".yml"}:
        return None
    raise InputError(f"{source}: file: has neither satellites ({FORMATS}) nor a constellation in YAML")
