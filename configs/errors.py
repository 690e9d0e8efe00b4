"""The error for bad input, and how entry points report it."""

import functools
import io
import os
import re
import signal
import sys
from collections.abc import Callable
from typing import NoReturn, ParamSpec

from leosim import InputError as InputError  # Rust and Python raise the same class
from pydantic import ValidationError

from leogym.configs.nearest import nearest

Arguments = ParamSpec("Arguments")


def one_line(source: str, error: ValidationError) -> str:
    """Return a pydantic ``error`` as ``source: field: rule`` of the first violation, and how many more."""
    first, *others = error.errors(include_url=False)
    field = ".".join(str(part) for part in first["loc"]) or "(whole file)"
    rule = first["msg"]
    if first["type"] == "literal_error":
        near = nearest(str(first["input"]), re.findall("'([^']*)'", first.get("ctx", {}).get("expected", "")))
        rule += f", not {first['input']!r}" + (f" (nearest: {', '.join(near)})" if near else "")
    more = f" (and {len(others)} more)" if others else ""
    return printable(f"{source}: {field}: {rule}{more}")


def printable(text: str) -> str:
    """Return ``text`` with non-printable characters escaped: keys from a user's file may hold any."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def exit_2(message: object) -> NoReturn:
    """Print one line to standard error and exit with status 2 (bad input)."""
    print(" ".join(str(message).split()), file=sys.stderr)
    raise SystemExit(2)


def reports_input_errors(main: Callable[Arguments, int]) -> Callable[Arguments, int]:
    """Wrap an entry point: errors that the user can fix print one line instead of a traceback.

    `InputError`, an `OSError` that names a file and `MemoryError` exit with status 2, Ctrl-C with 130, and a
    closed stdout, as in ``| head``, with 141 and no message.
    """

    @functools.wraps(main)
    def wrapped(*arguments: Arguments.args, **named: Arguments.kwargs) -> int:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="surrogateescape")  # file names may hold any bytes
        try:
            try:
                return main(*arguments, **named)
            finally:
                sys.stdout.flush()  # here, also after --help, so that a closed pipe is noticed
        except InputError as error:
            exit_2(error)
        except BrokenPipeError:
            # At exit Python flushes stdout again, and would print an error.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return 128 + signal.SIGPIPE
        except OSError as error:
            if error.filename is None or error.strerror is None:
                raise
            exit_2(f"{printable(os.fsdecode(error.filename))}: {error.strerror}")
        except MemoryError as error:
            exit_2(f"not enough memory: {error}")
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return 128 + signal.SIGINT

    return wrapped
