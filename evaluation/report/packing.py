"""Compressed parts of a page, which its script unpacks when they are about to come into view."""

import base64
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from markupsafe import Markup

PLAIN_BYTES = 1_200_000
"""Bytes at the start of the page that stay uncompressed. More would delay the first paint."""
MOST_BYTES = 9_500_000
"""Size limit of the page: people mail it and open it on phones."""


@dataclass(frozen=True)
class Part:
    """A part of the page's HTML."""

    html: str
    instead: str = ""
    """Replacement if the page has no room for the part; a part without one always stays."""


def packed(text: str) -> str:
    """Return text as gzip in base64; deterministic."""
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


@cache
def plotly() -> str:
    """Return plotly.js, packed: a wheel has a copy, a checkout the package plotly."""
    copy = Path(__file__).with_name("plotly.min.js")
    script = copy if copy.is_file() else resources.files("plotly") / "package_data/plotly.min.js"
    return packed(script.read_text("utf-8"))


def placed(parts: Sequence[Part], room_bytes: int) -> list[Markup]:
    """Return each part as HTML for the page.

    The first `PLAIN_BYTES` stay plain, so a page of few runs is readable without a script; the rest is
    packed. If that exceeds ``room_bytes`` in total, the largest parts with a replacement are left out.
    """
    texts, plain = [], 0
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
        texts.append(text)
    over = sum(len(text.encode()) for text in texts) - room_bytes
    for index in sorted(range(len(texts)), key=lambda index: -len(texts[index])):
        if over <= 0:
            break
        if parts[index].instead:
            over -= len(texts[index].encode()) - len(parts[index].instead.encode())
            texts[index] = parts[index].instead
    return [Markup(text) for text in texts]
