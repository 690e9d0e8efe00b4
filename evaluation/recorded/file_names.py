"""File names from names of suites, scenarios and schemes, which may contain a file's path."""

import hashlib
import re

_LONGEST = 56
"""Most characters of a part: three parts, a kind and a suffix fit a file name's 255 bytes."""
_DIGITS = 10
_PLAIN = re.compile(r"(?!\.)(?!-)[\w.+-]+(?<!-)", re.ASCII)


def joined(*parts: str) -> str:
    """Join parts to a unique file name, such as ``leo-single--sd-ny-bp--cubic--0``.

    Different parts give different names. In a part such as ``/data/my path.csv`` other characters are
    replaced, and a digest follows after ``~``, which plain parts never have.
    """
    return "--".join(map(_safe, parts))


def _safe(part: str) -> str:
    if _PLAIN.fullmatch(part) and "--" not in part and len(part) <= _LONGEST:
        return part
    digest = hashlib.sha256(part.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    legible = re.sub(r"[^\w+]+", "_", part, flags=re.ASCII)[-(_LONGEST - _DIGITS - 1) :]
    return f"{legible}~{digest}"
