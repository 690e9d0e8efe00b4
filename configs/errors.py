"""The one error that bad input raises, and how an entry point shows it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NoReturn

from leosim import InputError as InputError  # one class on both sides of the language border
from pydantic import ValidationError


def one_line(source: str, error: ValidationError) -> str:
    """Return the first violation of a pydantic ``error`` as ``source: field: rule``.

    Further violations are counted, not listed, so that the message stays one line.
    """
    first, *others = error.errors(include_url=False)
    field = ".".join(str(part) for part in first["loc"]) or "(whole file)"
    rule = "unknown key" if first["type"] == "extra_forbidden" else first["msg"]
    more = f" (and {len(others)} more)" if others else ""
    return printable(f"{source}: {field}: {rule}{more}")


def printable(text: str) -> str:
    """Return ``text`` with whatever would break or garble a line escaped: keys come from the user's file."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def exit_2(message: object) -> NoReturn:
    """Print one line on standard error and leave with the exit status of bad input."""
    print(" ".join(str(message).split()), file=sys.stderr)
    raise SystemExit(2)


def reports_input_errors(main: Callable[[], int]) -> Callable[[], int]:
    """Wrap an entry point so that `InputError` becomes one line and exit status 2."""

    def wrapped() -> int:
        try:
            return main()
        except InputError as error:
            exit_2(error)

    return wrapped
