"""Bounded reading of other tools' files, line by line. Each error is one line with file, line and rule."""

import math
from collections.abc import Iterator
from pathlib import Path

from leogym.common import text_file
from leogym.common.errors import InputError
from leogym.common.progress import Progress
from leogym.traces.path.cache import MAX_BYTES

MAX_LINE_BYTES = 1 << 20
"""No format has longer lines, and a file without line breaks must not fill the memory."""

SHOWN_BYTES = 1 << 20
"""The progress of reading is shown each time that so many bytes are read."""


class Source:
    """A text file of another tool."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def error(self, line: int, field: str, rule: str) -> InputError:
        """Return an error about ``field`` in ``line`` (from 1)."""
        return InputError(f"{self.path}:{line}: {field}: {rule}")

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield line numbers, from 1, and lines without line breaks and byte-order mark.

        Raises:
            InputError: the file is unreadable, empty, larger than `MAX_BYTES`, packed, or not UTF-8.
        """
        number = 0
        for number, raw in self._raw_lines():
            if number == 1:
                raw = text_file.without_mark(raw, str(self.path))
            if b"\0" in raw:
                raise self.error(number, "file", "holds NUL bytes: not text, or cut off by a crash")
            try:
                yield number, raw.decode("utf-8")
            except UnicodeDecodeError:
                raise self.error(number, "file", "not UTF-8 text") from None
        if number == 0:
            raise InputError(f"{self.path}: file: is empty")

    def rows(self) -> Iterator[tuple[int, str]]:
        """Yield line numbers and lines without spaces around, but no blank lines at the end; see `lines`."""
        blank: list[int] = []
        number, is_blank = 1, True
        for number, line in self.lines():
            if not line.strip():
                blank.append(number)
                continue
            is_blank = False
            yield from ((earlier, "") for earlier in blank)
            blank.clear()
            yield number, line.strip(" ")
        if is_blank:
            raise self.error(number, "file", "every line is blank")

    def _raw_lines(self) -> Iterator[tuple[int, bytes]]:
        try:
            size = self.path.stat().st_size
            if size > MAX_BYTES:
                raise InputError(
                    f"{self.path}: file: {size} bytes are more than the {MAX_BYTES} that a trace may have"
                )
            with self.path.open("rb") as file, Progress(f"reading {self.path.name}", size) as progress:
                number, read, reported = 0, 0, 0
                while raw := file.readline(MAX_LINE_BYTES + 1):
                    number, read = number + 1, read + len(raw)
                    if read - reported >= SHOWN_BYTES:
                        progress.advance(read - reported)
                        reported = read
                    if len(raw) > MAX_LINE_BYTES:
                        raise self.error(number, "file", f"the line is longer than {MAX_LINE_BYTES} bytes")
                    # A pipe or device reports no size.
                    if read > MAX_BYTES:
                        raise self.error(number, "file", f"more than {MAX_BYTES} bytes")
                    yield number, raw.rstrip(b"\r\n")
        except OSError as error:
            raise InputError(f"{self.path}: file: cannot be read: {error.strerror}") from None

    def number(self, line: int, field: str, text: str, low: float, high: float) -> float:
        """Parse a finite number in [``low``, ``high``]; raise InputError otherwise."""
        try:
            # float() also accepts digit groups and digits of other scripts, which no tool writes.
            value = float(text) if text.isascii() and "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise self.error(line, field, f"must be a number from {low:g} to {high:g}, not {shown(text)}")
        return value

    def integer(self, line: int, field: str, text: str, low: int, high: int) -> int:
        """Parse an integer in [``low``, ``high``]; raise InputError otherwise."""
        digits = text.removeprefix("-")
        value = int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 20 else None
        if value is None or not low <= value <= high:
            raise self.error(line, field, f"must be an integer from {low} to {high}, not {shown(text)}")
        return value


def shown(text: str) -> str:
    """Return a text from a file as an error message shows it: in quotes, ASCII, at most 40 characters."""
    return ascii(text if len(text) <= 40 else f"{text[:37]}...")
