"""CSV tables as tools and spreadsheets save them.

Columns are separated by commas, semicolons or tabs, as in the header. Cells may be in quotes. With
semicolons or tabs, numbers may have decimal commas, in the whole file. Excel's line ``sep=;``, empty columns
on the right and blank lines are left out.
"""

import csv
import math
from collections.abc import Iterator
from pathlib import Path

from leogym.traces.formats.source import Source

_UNKNOWN = ("", "nan", "na", "n/a", "null", "none", "-", "--", "#n/a")
"""Cells without a value, in lower case, as spreadsheets, pandas, databases and Go write them."""


def separator_of(line: str) -> str:
    """Return the separator of a table's columns, by its first line."""
    # Where both are as many, the commas are those of decimals.
    return max((";", "\t", ","), key=line.count)


def is_unknown(cell: str) -> bool:
    """Return whether a cell says that there is no value."""
    return cell.lower() in _UNKNOWN


class Table(Source):
    """A CSV table with a header."""

    def __init__(self, path: Path) -> None:
        """Read the header; raise InputError if there is none."""
        super().__init__(path)
        self._rows = self.rows()
        self._decimals: dict[str, int] = {}
        number, text = next(self._filled(), (1, ""))
        if text.lower().startswith("sep="):
            number, text = next(self._filled(), (number, ""))
        if not text:
            raise self.error(number, "header", "is missing: every line is blank")
        self.header_line = number
        self.separator = separator_of(text)
        self.header = self._cells(number, text)
        while self.header and not self.header[-1]:
            self.header.pop()

    def cells(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line numbers and stripped cells, as many as the header has.

        Raises:
            InputError: a row has another number of cells.
        """
        for number, text in self._filled():
            cells = self._cells(number, text)
            while len(cells) > len(self.header) and not cells[-1]:
                cells.pop()
            if len(cells) != len(self.header):
                rule = f"must have {len(self.header)} columns, not {len(cells)}"
                if self.separator == "," and len(cells) > len(self.header):
                    rule += ": with decimal commas, separate the columns by semicolons"
                raise self.error(number, "row", rule)
            yield number, cells

    def decimal(self, line: int, field: str, text: str, low: float, high: float) -> float:
        """Parse a number in [``low``, ``high``] with the file's decimal mark; NaN for a cell without a value.

        Raises:
            InputError: it is no such number, or has another decimal mark than the cells before.
        """
        if is_unknown(text):
            return math.nan
        if self.separator == ",":
            return self.number(line, field, text, low, high)
        mark = "," if "," in text else "." if "." in text else None
        if mark is not None:
            self._decimals.setdefault(mark, line)
            if len(self._decimals) > 1:
                other = "." if mark == "," else ","
                raise self.error(
                    line,
                    field,
                    f"has the decimal mark {mark!r}, while line {self._decimals[other]} has {other!r}",
                )
        return self.number(line, field, text.replace(",", ".", 1), low, high)

    def _filled(self) -> Iterator[tuple[int, str]]:
        return ((number, text) for number, text in self._rows if text.strip(" ,;\t"))

    def _cells(self, number: int, text: str) -> list[str]:
        if '"' not in text:
            return [cell.strip() for cell in text.split(self.separator)]
        try:
            [cells] = csv.reader([text], delimiter=self.separator, skipinitialspace=True, strict=True)
        except (csv.Error, ValueError):
            raise self.error(number, "row", "has a quote that is not closed") from None
        return [cell.strip() for cell in cells]
