"""Figure style: colour, marker and dash of schemes, fonts, and SVG in the page's light or dark theme."""

import html
import io
import re
import textwrap
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.textpath import TextPath

INK, MUTED, FAINT = "#1b1f24", "#5b636e", "#d5d9de"
DARK = {INK: "#e6e9ee", MUTED: "#9aa3ae", FAINT: "#353b43"}

# Okabe and Ito's colours, which suit all kinds of colour vision, darkened for thin lines on white. The second
# of each pair is for dark pages.
_COLORS = (
    ("#0068a8", "#5fb0ee"),
    ("#d0550a", "#ff9250"),
    ("#008862", "#35cf9f"),
    ("#a8508a", "#e296c6"),
    ("#8a6d00", "#dfc04a"),
    ("#3d7f99", "#86cbe4"),
    ("#7a4b2a", "#cf9f7c"),
    ("#59616b", "#aab2bc"),
    ("#b3123d", "#ff7d96"),
    ("#4b3fa8", "#a99bff"),
)
DARK |= dict(_COLORS)
PALETTE = tuple(light for light, _ in _COLORS)
"""The colours for light pages, for lines that are not schemes."""
_MARKERS = "osD^vPX*<>"
_DASHES: tuple[Any, ...] = (
    *("-", (0, (4, 1.4)), (0, (1, 1)), (0, (5, 1.2, 1, 1.2)), (0, (8, 1.5))),
    *((0, (3, 1, 1, 1, 1, 1)), (0, (2, 2)), (0, (8, 1, 2, 1)), (0, (1, 2.5)), (0, (6, 3))),
)
_HATCHES = ("", "////", "....", "xxxx", "++++", "oooo", "----", "||||", "****", "OO")
_PLACES = (
    *("cubic", "reno", "astraea", "bbr3", "bbr", "vivace", "clone", "orca", "satcp", "aurora"),
    *("cubic-hystartpp", "westwood", "yeah", "starquic-bbr3", "starquic", "vivace-kernel"),
    *("sage-authors", "leocc", "orbit", "leotcp"),
    *("cubic-nohystart", "veno", "htcp", "lp", "nv", "vivace-proteus", "vegas", "udp", "oracle", "copa"),
    *("bic", "highspeed", "agent", "scalable", "cdg", "illinois", "orbcc", "hybla"),
    *("leotcp-noinitial", "satcp-2.3s"),
    *("leotcp-ownrtt", "satcp-0.9s", "satcp-0.3s", "satcp-1.3s"),
    *(
        "cubic-hystart-delay",
        "cubic-hystart-train",
        "cubic-search",
        "cubic-rapidstart",
        "cubic-resume",
        "prague",
    ),
)
"""Known schemes, ten per row, one colour per column, so a scheme's look never depends on the others.

Schemes of one column share a colour and are seldom compared; dash, marker and hatch distinguish them.
"""
_LABEL_CHARACTERS = 44
"""Longer legend entries wrap."""
_ROWS_WITHIN = 2
"""Legend rows that fit into a figure's given height."""
_COMBINATIONS = len(_COLORS) * len(_DASHES)

RC: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.labelsize": 9.5,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.size": 3,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "legend.handlelength": 2.4,
    "legend.handletextpad": 0.5,
    "legend.columnspacing": 1.0,
    "legend.borderaxespad": 0.0,
    "lines.linewidth": 1.3,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "path.simplify_threshold": 0.4,
}


@dataclass(frozen=True)
class Look:
    """A scheme's look, distinct even without colour: no two schemes share colour and marker."""

    color: str
    marker: str
    dash: Any
    """Line style."""
    hatch: str
    """Bar hatch."""


@dataclass(frozen=True)
class Panel:
    """A figure: a file in ``figures/`` and a cell of the report's grid."""

    name: str
    """File name without extension."""
    label: str
    """Description for readers who cannot see it."""
    figure: Figure
    row: str = ""
    """Panels with the same value are side by side."""


def looks(schemes: list[str]) -> dict[str, Look]:
    """Return the look of each scheme, up to a hundred.

    Known schemes always look the same. Other names get a look from their hash, or the next one if its colour
    is taken while colours are free, or the look itself is taken.
    """
    places = {name: _PLACES.index(name) for name in schemes if name in _PLACES}
    for name in schemes:
        if name in places:
            continue
        start = zlib.crc32(name.encode())
        own = _COMBINATIONS - len(_PLACES)
        at = [len(_PLACES) + (start + step) % own for step in range(own)]
        # If all are taken, use looks of known schemes that are absent.
        at += range(len(_PLACES))
        free = [place for place in at if place not in places.values()] or at
        colors = {place % len(_COLORS) for place in places.values()}
        unlike = [place for place in free if place % len(_COLORS) not in colors]
        places[name] = (unlike or free)[0]
    return {name: _look(places[name]) for name in schemes}


def _look(place: int) -> Look:
    row, column = divmod(place, len(_COLORS))
    # A shift of 3 per row pairs each marker with each colour once in ten rows.
    marker = _MARKERS[(column + 3 * row) % len(_MARKERS)]
    return Look(_COLORS[column][0], marker, _DASHES[row], _HATCHES[row])


@contextmanager
def canvas(
    width_in: float, height_in: float, heights: Sequence[float] = (1.0,)
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Yield a styled figure and its axes: one per row with these relative heights and a shared x axis."""
    with rc_context(RC):
        # Use a plain Figure, not pyplot: no global state and no display.
        figure = Figure(figsize=(width_in, height_in), layout=ConstrainedLayoutEngine(h_pad=0.03, w_pad=0.03))
        axes = figure.subplots(
            nrows=len(heights), sharex=True, squeeze=False, gridspec_kw={"height_ratios": list(heights)}
        )
        yield figure, list(axes[:, 0])


def legend_above(figure: Figure, handles: Sequence[Artist]) -> None:
    """Place one complete legend above the axes and enlarge the figure for it.

    The legend has as many columns as its longest entry permits; the axes keep their size.
    """
    if not handles:
        return
    size_pt = float(RC["legend.fontsize"])
    for handle in handles:
        handle.set_label("\n".join(textwrap.wrap(str(handle.get_label()), _LABEL_CHARACTERS)))
    lines = [str(handle.get_label()).split("\n") for handle in handles]
    texts = {line for label in lines for line in label if line}
    longest_pt = max(TextPath((0, 0), text, size=size_pt).get_extents().width for text in texts)
    spaces = RC["legend.handlelength"] + RC["legend.handletextpad"] + RC["legend.columnspacing"]
    width_in, height_in = figure.get_size_inches()
    room_pt = 72 * width_in - 2 * size_pt
    columns = max(1, min(len(handles), int(room_pt // (longest_pt + spaces * size_pt))))
    rows = -(-len(handles) // columns)
    tallest = max(len(label) for label in lines)
    extra_in = max(0.0, (rows * (tallest + 0.5) - _ROWS_WITHIN * 1.5) * 1.1 * size_pt / 72)
    figure.set_size_inches(width_in, height_in + extra_in)
    with rc_context(RC):
        figure.legend(handles=list(handles), loc="outside upper left", ncols=columns)


def is_own(data: bytes) -> bool:
    """Return whether `svg` made a file, by its metadata."""
    return b"<dc:title>LeoGym</dc:title>" in data


def svg(panel: Panel) -> str:
    """Return the panel as a standalone SVG file with a transparent background."""
    buffer = io.StringIO()
    # The salt determines the IDs; the panel's name makes them unique within a page.
    with rc_context({**RC, "svg.hashsalt": panel.name}):
        panel.figure.savefig(
            buffer, format="svg", metadata={"Date": None, "Creator": "LeoGym", "Title": panel.label}
        )
    return buffer.getvalue()


def themed(text: str, label: str) -> str:
    """Return an SVG file's text as an ``<svg>`` element with the page's colours and fonts.

    Every colour becomes ``var(--c-RRGGBB)``; `css_variables` defines them for light and dark pages.
    """
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<title>.*?</title>|<!--.*?-->\s*", "", text, flags=re.DOTALL)
    # Unreferenced IDs would clash between panels, so remove them.
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', text))
    text = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", text)
    text = re.sub("|".join(DARK), lambda match: f"var(--c-{match[0][1:]})", text)
    text = re.sub(r"(font: [^;\"]*?px)[^;\"]*", r"\1 var(--sans)", text)
    head, body = text.split(">", 1)
    view_box = re.search(r'viewBox="[^"]+"', head)
    assert view_box, "matplotlib writes a viewBox"
    return f'<svg {view_box[0]} role="img" aria-label="{html.escape(label)}">{body}'


def css_variables(dark: bool) -> str:
    """Return the declarations of all colour variables."""
    return " ".join(f"--c-{light[1:]}: {DARK[light] if dark else light};" for light in DARK)
