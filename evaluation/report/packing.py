"""Parts of a page in few bytes: compressed text that its script unpacks when a reader comes near."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from markupsafe import Markup

PLAIN_BYTES = 1_200_000
"""What stands in the page as it is, from its beginning on. More would keep the first paint waiting."""
MOST_BYTES = 9_500_000
"""Of the whole page: it is mailed around and opened on phones."""


@dataclass(frozen=True)
class Part:
    """A part of the page."""

    html: str
    instead: str = ""
    """What stands there where the page has no room for it; a part without it always stays."""


def packed(text: str) -> str:
    """Return text as gzip in base64: the same text, the same bytes."""
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


@cache
def plotly() -> str:
    """Return the library that draws the interactive charts, packed."""
    return packed((resources.files("plotly") / "package_data/plotly.min.js").read_text("utf-8"))


def placed(parts: Sequence[Part], room_bytes: int) -> list[Markup]:
    """Return each part as it stands in the page.

    The first `PLAIN_BYTES` are plain, so that a page of few runs needs no script to be read; what follows is
    packed. Where not even that has room, the largest of the parts that need not stay are left out.

    Args:
        parts: in the order of the page.
        room_bytes: for all of them together.
    """
    found, plain = [], 0
    for part in parts:
        size = len(part.html.encode())
        plain += size
        text = part.html
        if plain > PLAIN_BYTES and size > 2_000:
            plain -= size
            text = (
                f'<div class="packed"><script type="application/gzip">{packed(part.html)}</script>'
                "<p class=facts>This part needs JavaScript.</p></div>"
            )
        found.append(text)
    over = sum(len(text.encode()) for text in found) - room_bytes
    for index in sorted(range(len(found)), key=lambda index: -len(found[index])):
        if over <= 0:
            break
        if parts[index].instead:
            over -= len(found[index].encode()) - len(parts[index].instead.encode())
            found[index] = parts[index].instead
    return [Markup(text) for text in found]
