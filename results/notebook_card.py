"""HTML cards for notebooks: self-contained, offline, and readable on light and dark pages."""

import base64
import html
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from leogym.results.figure_style import FAINT, INK, MUTED, Panel, css_variables, svg, themed

MOST_BYTES = 300_000
"""Cards are smaller than this: a notebook stores each of them."""

_DARK_PAGES = (
    '[data-jp-theme-light="false"] .leogym',  # JupyterLab
    ".vscode-dark .leogym",
    "html[theme=dark] .leogym",  # Colab
    "[data-theme=dark] .leogym",  # documentation built from notebooks
)
# Unlike a media query, these follow the notebook's own theme, which may differ from the system's.
_STYLE = f"""
.leogym {{ {css_variables(dark=False)} --page: #ffffff; --sans: system-ui, sans-serif; }}
{", ".join(_DARK_PAGES)} {{ {css_variables(dark=True)} --page: #16191d; }}
.leogym {{ background: var(--page); color: var(--c-{INK[1:]}); border: 1px solid var(--c-{FAINT[1:]});
  border-radius: 6px; padding: 10px 14px; max-width: 880px; font: 13px/1.45 var(--sans); overflow-x: auto; }}
.leogym h4 {{ margin: 0 0 6px; font-size: 15px; }}
.leogym h5 {{ margin: 12px 0 4px; font-size: 13px; }}
.leogym p {{ margin: 4px 0; color: var(--c-{MUTED[1:]}); }}
.leogym table {{ border-collapse: collapse; margin: 4px 0; background: none; color: inherit; }}
.leogym th, .leogym td {{ padding: 2px 10px 2px 0; border: 0; text-align: right; background: none;
  white-space: nowrap; }}
.leogym th:first-child, .leogym td:first-child {{ text-align: left; }}
.leogym th {{ white-space: normal; color: var(--c-{MUTED[1:]}); font-weight: 600;
  border-bottom: 1px solid var(--c-{FAINT[1:]}); }}
.leogym small {{ color: var(--c-{MUTED[1:]}); }}
.leogym svg {{ display: block; width: 100%; height: auto; max-width: 700px; }}
.leogym .panels svg {{ display: inline-block; width: 48%; min-width: 280px; vertical-align: top; }}
.leogym img {{ background: #ffffff; border-radius: 4px; max-width: 100%; }}
"""


class Markup(NamedTuple):
    """A cell of a table that is HTML already."""

    text: str


def card(title: str, parts: Iterable[str]) -> str:
    """Return a card with a title (text) and parts (HTML)."""
    return (
        f'<div class="leogym"><style>{_STYLE}</style>\n<h4>{html.escape(title)}</h4>\n{"".join(parts)}</div>'
    )


def paragraph(text: str) -> str:
    """Return a paragraph of plain text."""
    return f"<p>{html.escape(text)}</p>\n"


def table(header: Sequence[str], rows: Iterable[Sequence[str | Markup]]) -> str:
    """Return a table; cells are text unless they are `Markup`."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>"
        + "".join(f"<td>{cell.text if isinstance(cell, Markup) else html.escape(cell)}</td>" for cell in row)
        + "</tr>\n"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>\n"


def drawing(panel: Panel) -> str:
    """Return a figure as inline SVG in the page's colours."""
    return themed(svg(panel), panel.label)


def picture(png: bytes, label: str) -> str:
    """Return a PNG with a description."""
    data = base64.b64encode(png).decode()
    return f'<img src="data:image/png;base64,{data}" alt="{html.escape(label)}"/>\n'
