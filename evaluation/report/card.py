"""An evaluation as a card for notebooks: tables with intervals, and each suite's main figure."""

import html
from itertools import islice

from leogym.configs.suite import Suite
from leogym.evaluation.figures import figure_module
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.report import first_screen
from leogym.evaluation.report.tables import Cell
from leogym.evaluation.report.tables import table as table_of
from leogym.results.notebook_card import MOST_BYTES, Markup, card, drawing, paragraph, table

_ROOM_BYTES = MOST_BYTES - 20_000
"""For suites; the rest is for style and title."""
_MOST_PANELS = 4


class Evaluation(Results):
    """`Results` that a notebook shows as tables and figures."""

    def _repr_html_(self) -> str:
        return evaluation_card(self)


def evaluation_card(results: Results) -> str:
    """Return the card of an evaluation. Suites that would make it too large are named only."""
    counts = ", ".join(f"{number} {name}" for number, name in first_screen.counts(results))
    parts = [paragraph(f"{results.folder}: {counts}")]
    if results.quick:
        parts.append(paragraph("Quick: a look, not a result."))
    if results.invalid:
        parts.append(paragraph(f"{len(results.invalid)} runs were invalid and are excluded."))
    left_out = []
    room = _ROOM_BYTES
    for suite in results.suites:
        for make in (_whole, _tables):
            text = make(results, suite)
            if len(text.encode()) <= room:
                parts.append(text)
                room -= len(text.encode())
                break
        else:
            left_out.append(suite.name)
    if left_out:
        parts.append(paragraph(f"No room for {', '.join(left_out)}: report.html has them."))
    return card(" and ".join(suite.title for suite in results.suites[:2]), parts)


def _whole(results: Results, suite: Suite) -> str:
    return _tables(results, suite) + _figure(results, suite)


def _tables(results: Results, suite: Suite) -> str:
    metrics = results.headline(suite)
    header = ["scheme", *(metric.label + (f" ({metric.unit})" if metric.unit else "") for metric in metrics)]
    parts = []
    for scenario in results.scenarios(suite.name):
        rows = [[scheme, *map(_cell, cells)] for scheme, cells in table_of(results, suite, scenario)]
        parts.append(f"<h5>{html.escape(f'{suite.name}: {scenario}')}</h5>\n{table(header, rows)}")
    return "".join(parts)


def _cell(cell: Cell | None) -> Markup:
    if cell is None:
        return Markup("–")
    mean = f"<b>{cell.mean}</b>" if cell.best else cell.mean
    return Markup(f"{mean} <small>[{cell.low}, {cell.high}]</small>" if cell.low else mean)


def _figure(results: Results, suite: Suite) -> str:
    """Return the first panels of the suite's first figure; empty if it has none."""
    for kind in suite.figures[:1]:
        module = figure_module(kind)
        panels = islice(module.panels(results, suite), _MOST_PANELS)
        drawn = "".join(drawing(panel) for panel in panels)
        head = f"<h5>{html.escape(module.TITLE)}</h5>\n"
        return f'{head}<div class="panels">{drawn}</div>\n{paragraph(module.CAPTION)}'
    return ""
