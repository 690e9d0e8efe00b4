"""The nearest right names for a wrong one, for messages."""

import difflib
import unicodedata
from collections.abc import Iterable

MOST = 3
"""Names that a message suggests."""
ALIKE = 0.5
"""Least similarity of a suggestion, as `difflib.SequenceMatcher.ratio`."""
FEW = 12
"""A message lists all names up to this many."""


_PLAIN = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "_": "-"})
"""Characters that Unicode does not decompose."""


def folded(text: str) -> str:
    """Normalize a name for comparison: drop case, accents and repeated blanks; ``_`` is ``-``."""
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))
    return " ".join(plain.casefold().translate(_PLAIN).split())


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Return up to `MOST` of ``names`` that resemble ``name``, the nearest first."""
    by_text: dict[str, str] = {}
    for one in names:
        by_text.setdefault(folded(one), one)
    found = difflib.get_close_matches(folded(name), list(by_text), MOST, ALIKE)
    return [by_text[text] for text in found]


def instead(name: str, names: Iterable[str], listed_by: str = "") -> str:
    """Return what a message says after a wrong ``name``: the nearest right ones, and where all are.

    ``listed_by`` is the command that lists all ``names``; without it, and if there are few, they are listed.
    """
    known = list(dict.fromkeys(names))
    near = nearest(name, known)
    parts = [f"nearest: {', '.join(near)}"] if near else []
    if len(known) <= FEW or not listed_by:
        parts.append(f"there are: {', '.join(known)}")
    else:
        parts.append(f"all {len(known)}: {listed_by}")
    return f"({'; '.join(parts)})"
