"""Suggest the nearest valid names for a misspelled name."""

import difflib
import unicodedata
from collections.abc import Iterable

MAX_SUGGESTIONS = 3
"""Names that a message suggests."""
MIN_SIMILARITY = 0.5
"""Least similarity of a suggestion, as `difflib.SequenceMatcher.ratio`."""
MAX_LISTED_NAMES = 12
"""A message lists all names if there are at most this many."""


_PLAIN = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "_": "-"})
"""Characters that Unicode does not decompose."""


def folded(text: str) -> str:
    """Normalize a name for comparison: drop case, accents and repeated blanks; ``_`` is ``-``."""
    plain = "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))
    return " ".join(plain.casefold().translate(_PLAIN).split())


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Return up to `MAX_SUGGESTIONS` of ``names`` that resemble ``name``, the nearest first."""
    by_text: dict[str, str] = {}
    for candidate in names:
        by_text.setdefault(folded(candidate), candidate)
    matches = difflib.get_close_matches(folded(name), list(by_text), MAX_SUGGESTIONS, MIN_SIMILARITY)
    return [by_text[text] for text in matches]


def suggest_names(name: str, names: Iterable[str], listed_by: str = "") -> str:
    """Return the end of a message about a wrong ``name``: the nearest valid names, and where all are listed.

    ``listed_by`` is the command that lists all ``names``; without it, and if there are few, they are listed.
    """
    unique = list(dict.fromkeys(names))
    near = nearest(name, unique)
    parts = [f"nearest: {', '.join(near)}"] if near else []
    if len(unique) <= MAX_LISTED_NAMES or not listed_by:
        parts.append(f"there are: {', '.join(unique)}")
    else:
        parts.append(f"all {len(unique)}: {listed_by}")
    return f"({'; '.join(parts)})"
