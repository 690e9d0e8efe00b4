"""The tables that ``leogym evaluate`` prints: all headline metrics, split to fit the terminal."""

import sys
from collections.abc import Sequence
from typing import IO

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from leogym.configs.suite import Suite
from leogym.evaluation.fidelity.summary import kernel, of_results
from leogym.evaluation.recorded import warnings
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.report import page
from leogym.evaluation.report.tables import table as table_of
from leogym.results.metrics import SHARED

_GAP = 2
_ANY_WIDTH = 10_000
"""Width for pipes and files: their lines stay whole."""


def print_all(results: Results, chosen: Sequence[Suite], file: IO[str] | None = None) -> None:
    """Print the headline metrics of all suites just run."""
    console = Console(file=file or sys.stdout)
    if not console.file.isatty():
        console.width = _ANY_WIDTH
    for suite in chosen:
        title = f"{suite.title} ({page.QUICK})" if results.quick else suite.title
        header, rows = _cells(results, suite)
        for table in tables(header, rows, console.width):
            table.title, table.title_justify = escape(title), "left"
            console.print(table, highlight=False)
            console.print()
        if results.shared(suite):
            console.print(SHARED, highlight=False)
            console.print()
    for distance in of_results(results):
        console.print(
            f"{distance.scheme}: the simulator is {distance.goodput_median:.1%} off Linux {kernel()} in "
            f"goodput, {distance.rtt_median:.1%} in mean RTT (medians over {distance.runs} paths)",
            highlight=False,
        )


def _cells(results: Results, suite: Suite) -> tuple[list[str], list[list[str]]]:
    metrics = results.headline(suite)
    header = ["scenario", "scheme", *(m.label + (f" ({m.unit})" if m.unit else "") for m in metrics)]
    rows = []
    for scenario in results.scenarios(suite.name):
        out = warnings.starved_in(results, suite.name, scenario)
        for scheme, cells in table_of(results, suite, scenario):
            texts = [f"{c.mean} [{c.low}, {c.high}]" if c and c.low else c.mean if c else "–" for c in cells]
            rows.append([scenario, f"{scheme} (starved)" if scheme in out else scheme, *texts])
    return header, rows


def tables(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[Table]:
    """Return the rows as one table, or as several that repeat the first two columns.

    All columns are shown. A column too wide to fit next to the first two is folded. ``width`` is in
    characters.
    """
    widths = [max(map(cell_len, column)) for column in zip(header, *rows, strict=True)]
    groups: list[list[int]] = []
    room = 0
    for column in range(2, len(header)):
        needed = _GAP + widths[column]
        if not groups or needed > room:
            groups.append([])
            room = width - (widths[0] + _GAP + widths[1])
        groups[-1].append(column)
        room -= needed
    parts = []
    for group in groups:
        table = Table(box=None, pad_edge=False)
        for column in (0, 1, *group):
            table.add_column(escape(header[column]), overflow="fold")
        for row in rows:
            table.add_row(*(escape(row[column]) for column in (0, 1, *group)))
        parts.append(table)
    return parts
