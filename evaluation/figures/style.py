"""How figures look: colours per scheme, type, and SVG that follows the page's light or dark theme."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

INK, MUTED, FAINT = "#1b1f24", "#5b636e", "#d5d9de"
DARK = {INK: "#e6e9ee", MUTED: "#9aa3ae", FAINT: "#353b43"}

# After Okabe and Ito's colours for all kinds of colour vision, darkened where thin lines on white need it.
# The second of each pair is for dark pages.
_COLORS = (
    ("#0068a8", "#5fb0ee"),
    ("#d0550a", "#ff9250"),
    ("#008862", "#35cf9f"),
    ("#a8508a", "#e296c6"),
    ("#8a6d00", "#dfc04a"),
    ("#3d7f99", "#86cbe4"),
    ("#7a4b2a", "#cf9f7c"),
    ("#59616b", "#aab2bc"),
)
DARK |= dict(_COLORS)
_MARKERS = "osD^vPX*"
_USUAL = {"cubic": 0, "reno": 1, "astraea": 2, "bbr3": 3, "bbr": 4, "vivace": 5, "sage": 6}

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
    "legend.handlelength": 1.2,
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
    """Colour and marker of a scheme; the marker tells them apart without colour."""

    color: str
    marker: str


@dataclass(frozen=True)
class Panel:
    """One figure of its own: a file in ``figures/`` and a cell of the report's grid."""

    name: str
    """The file's name without its ending."""
    label: str
    """What it shows, in words, for those who cannot see it."""
    figure: Figure
    row: str = ""
    """Panels with the same text here belong side by side."""


def looks(schemes: list[str]) -> dict[str, Look]:
    """Return the look of each scheme: well-known ones always look the same, others take what is free."""
    taken = {_USUAL[name] for name in schemes if name in _USUAL}
    free = iter([index for index in range(len(_COLORS)) if index not in taken])
    found = {}
    for rank, name in enumerate(schemes):
        index = _USUAL[name] if name in _USUAL else next(free, rank % len(_COLORS))
        found[name] = Look(_COLORS[index][0], _MARKERS[index])
    return found


@contextmanager
def canvas(
    width_in: float, height_in: float, heights: Sequence[float] = (1.0,)
) -> Iterator[tuple[Figure, list[Axes]]]:
    """Yield a figure in the house style and its axes: one a row, of these relative heights, one x axis."""
    with rc_context(RC):
        # A Figure of its own, not pyplot's: nothing global, and no display is looked for.
        figure = Figure(figsize=(width_in, height_in), layout=ConstrainedLayoutEngine(h_pad=0.03, w_pad=0.03))
        axes = figure.subplots(
            nrows=len(heights), sharex=True, squeeze=False, gridspec_kw={"height_ratios": list(heights)}
        )
        yield figure, list(axes[:, 0])


def legend_above(figure: Figure, handles: list[object], columns: int = 5) -> None:
    """Place one legend above the figure's axes."""
    with rc_context(RC):
        figure.legend(handles=handles, loc="outside upper left", ncols=columns)  # type: ignore[arg-type]


def svg(panel: Panel) -> str:
    """Return the panel as an SVG file of its own, on a transparent ground."""
    buffer = io.StringIO()
    # Ids are drawn from the salt: with the panel's name in it they stay unique in a page of many panels.
    with rc_context({**RC, "svg.hashsalt": panel.name}):
        panel.figure.savefig(
            buffer, format="svg", metadata={"Date": None, "Creator": "LeoGym", "Title": panel.label}
        )
    return buffer.getvalue()


def themed(text: str, label: str) -> str:
    """Return an SVG file's text as an ``<svg>`` element whose colours and type are the page's.

    Every colour becomes ``var(--c-RRGGBB)``; `css_variables` defines them for light and dark pages.
    """
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<title>.*?</title>|<!--.*?-->\s*", "", text, flags=re.DOTALL)
    # Names of groups and lines mean nothing here and would clash between panels; keep what is referred to.
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', text))
    text = re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", text)
    text = re.sub("|".join(DARK), lambda match: f"var(--c-{match[0][1:]})", text)
    text = re.sub(r"(font: [^;\"]*?px)[^;\"]*", r"\1 var(--sans)", text)
    head, body = text.split(">", 1)
    view_box = re.search(r'viewBox="[^"]+"', head)
    assert view_box, "matplotlib writes a viewBox"
    return f'<svg {view_box[0]} role="img" aria-label="{html.escape(label)}">{body}'


def css_variables(dark: bool) -> str:
    """Return the declarations of every colour variable."""
    return " ".join(f"--c-{light[1:]}: {DARK[light] if dark else light};" for light in DARK)
