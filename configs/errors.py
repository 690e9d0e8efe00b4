"""The one error that bad input raises, and how an entry point shows it."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
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


class OneLineParser(argparse.ArgumentParser):
    """A parser whose complaints are an `InputError`, so that they are one line like all others."""

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print after its usage."""
        raise InputError(f"{self.prog}: {message}")


def as_folder(text: str) -> Path:
    """Return a folder that the command line names, for an argument's ``type``; an empty name is refused."""
    if not text:
        raise argparse.ArgumentTypeError("must name a folder")
    return Path(text)


def reports_input_errors(main: Callable[[], int]) -> Callable[[], int]:
    """Wrap an entry point so that what its user can mend is one line instead of a traceback.

    `InputError`, a file that the system refuses and memory that it has not got give exit status 2; Ctrl-C
    gives 130; output that nobody reads any more, as in ``| head``, gives 141 without a word.
    """

    def wrapped() -> int:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="surrogateescape")  # names of files are any bytes
        try:
            status = main()
            sys.stdout.flush()
            return status
        except InputError as error:
            exit_2(error)
        except BrokenPipeError:
            # Python would flush once more at its end, and complain.
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
