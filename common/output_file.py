"""Atomic writes of output files; a failure is a one-line `InputError`."""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
        with temporary_file(target) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(file.name, target)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from None


@contextmanager
def temporary_file(target: Path, part: str = "") -> Iterator[IO[str]]:
    """Open a text file next to ``target``, to be renamed to it; delete it afterwards unless it was.

    Those that killed processes left are deleted first: a process that still writes has locked its own.
    """
    _remove_leftovers(target)
    path = target.with_name(f".{target.name}.{os.getpid()}{part}.tmp")
    try:
        with path.open("w+", encoding="utf-8", newline="\n") as file:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield file
    finally:
        path.unlink(missing_ok=True)


def _remove_leftovers(target: Path) -> None:
    name = re.compile(rf"\.{re.escape(target.name)}\.\d+(\.\w+)?\.tmp")
    for path in target.parent.glob(".*.tmp"):
        if name.fullmatch(path.name) and path.is_file():
            with suppress(OSError), path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
