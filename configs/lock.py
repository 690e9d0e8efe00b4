"""An output folder that one process at a time writes to."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from configs.errors import InputError

NAME = "process.lock"


@contextmanager
def held(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Have ``folder`` for this process alone while the context lasts.

    The folder, with its parents, is made where it is missing, and taken back afterwards if nothing was
    written. The system releases the lock with the process, however that ends.

    Args:
        folder: where only one process is to write.
        wait: whether to wait until another process that has it ends.

    Raises:
        InputError: another process has it, or it cannot be written.
    """
    made = _make(folder)
    path = folder / NAME
    file = _locked(path, wait)
    try:
        _sign(file)
        yield
    finally:
        # While it is still locked: who waits for it sees that it is not the folder's lock any more.
        with suppress(OSError):
            path.unlink()
        for one in made:
            with suppress(OSError):  # something else is in it
                one.rmdir()
        file.close()


def _make(folder: Path) -> list[Path]:
    """Make ``folder``; return it and those of its parents that were missing, innermost first."""
    made = []
    nearest = folder
    while not nearest.exists() and nearest != nearest.parent:
        made.append(nearest)
        nearest = nearest.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: --out: cannot be written: {error.strerror}") from None
    return made


def _locked(path: Path, wait: bool) -> BinaryIO:
    """Return the lock's file, opened and locked."""
    while True:
        try:
            file = path.open("a+b")
        except FileNotFoundError:  # whoever had it took the folder back that it had made
            _make(path.parent)
            continue
        except OSError as error:
            raise InputError(f"{path.parent}: --out: cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = _signature(file)
            file.close()
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise InputError(f"{path}: cannot be locked: {error.strerror}") from None
            raise InputError(
                f"{path.parent}: --out: is being written by another process{holder}: "
                "wait until it ends, or name another"
            ) from None
        # Whoever had it may have taken the file away since it was opened here.
        with suppress(OSError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()


def _sign(file: BinaryIO) -> None:
    """Say in the file who has it: for people, who may find the disk full."""
    with suppress(OSError):
        file.truncate(0)
        file.write(f"{os.getpid()} on {socket.gethostname()}\n".encode())
        file.flush()


def _signature(file: BinaryIO) -> str:
    with suppress(OSError):
        file.seek(0)
        if text := file.read(200).decode(errors="replace").strip():
            return f" ({text})"
    return ""
