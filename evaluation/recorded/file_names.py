"""File names for what suites, scenarios and schemes are called; a scenario may be named for a path's file."""

from __future__ import annotations

import hashlib
import re

_LONGEST = 56
"""Characters of a part; three parts, a kind and an ending stay below a file name's 255 bytes."""
_DIGITS = 10
_PLAIN = re.compile(r"(?!\.)(?!-)[\w.+-]+(?<!-)", re.ASCII)


def joined(*parts: str) -> str:
    """Return one name for these parts: ``leo-single--sd-ny-bp--cubic--0``.

    Other parts give another name. One that is no plain name, such as ``/data/my path.csv``, has what it
    cannot show replaced, and a digest after a ``~``, which plain ones never have.
    """
    return "--".join(map(_safe, parts))


def _safe(part: str) -> str:
    if _PLAIN.fullmatch(part) and "--" not in part and len(part) <= _LONGEST:
        return part
    digest = hashlib.sha256(part.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    shown = re.sub(r"[^\w+]+", "_", part, flags=re.ASCII)[-(_LONGEST - _DIGITS - 1) :]
    return f"{shown}~{digest}"
