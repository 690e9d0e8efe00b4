"""Writes the run log's columns as Markdown: ``python -m results.columns FILE`` updates the tables in FILE."""

import sys
from pathlib import Path

import leosim

from leogym.common.atomic import write_atomically

BEGIN, END = "<!-- columns of {table} -->", "<!-- end of {table} -->"


def markdown(table: str) -> str:
    """Return one of the run log's tables as a Markdown table."""
    cells = [(name, unit or "–", meaning.replace("|", r"\|")) for name, _, unit, meaning in _columns(table)]
    rows = [f"| `{name}` | {unit} | {meaning} |" for name, unit, meaning in cells]
    return "\n".join(["| column | unit | meaning |", "|---|---|---|", *rows])


def updated(text: str) -> str:
    """Return a page with updated tables.

    Raises:
        ValueError: a table's markers are missing.
    """
    for table in leosim.run_log_columns():
        begin, end = BEGIN.format(table=table), END.format(table=table)
        before, begin_marker, remainder = text.partition(begin)
        _, end_marker, after = remainder.partition(end)
        if not (begin_marker and end_marker):
            raise ValueError(f"the page lacks the markers {begin} and {end}")
        text = f"{before}{begin}\n{markdown(table)}\n{end}{after}"
    return text


def _columns(table: str) -> list[tuple[str, str, str, str]]:
    return leosim.run_log_columns()[table]


if __name__ == "__main__":
    page = Path(sys.argv[1])
    write_atomically(page, updated(page.read_text(encoding="utf-8")).encode())
