"""Atomic writes of output files; a failure is a one-line `InputError`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from leogym.common.atomic import destination, write_atomically
from leogym.common.errors import InputError


def write_file(out: Path, data: bytes) -> None:
    """Write ``data`` to ``out`` atomically, or raise an `InputError`."""
    try:
        write_atomically(out, data)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from None


@contextmanager
def whole_file(out: Path) -> Iterator[IO[str]]:
    """Open a file that appears under its name only once complete; raise an `InputError` if it cannot."""
    try:
        target = destination(out)
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            with temporary.open("w", encoding="utf-8", newline="\n") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from None
