"""Lock an output folder: only one process at a time writes to it."""

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from leogym.common import output_folder
from leogym.common.errors import InputError

NAME = "process.lock"
_ATTEMPTS = 10
"""Attempts to create a folder that another process may be removing."""


@contextmanager
def held(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock on ``folder`` for the duration of the context.

    Creates the folder and its parents where they are missing, and removes those afterwards if they are empty.
    Git ignores what lies in a folder that this creates.
    The system releases the lock when the process ends, even if it is killed.

    If another process holds the lock, waits with ``wait``, else raises an `InputError`.
    """
    created = _make(folder)
    path = folder / NAME
    file = _locked(path, wait)
    try:
        _sign(file)
        yield
    finally:
        # Unlink while still locked: a waiting process then sees that its file is no longer the folder's lock.
        with suppress(OSError):
            path.unlink()
        for created_folder in created:
            with suppress(OSError):
                output_folder.remove_if_empty(created_folder)
        file.close()


def _make(folder: Path) -> list[Path]:
    """Create ``folder``; return all created folders, innermost first."""
    attempts_left = _ATTEMPTS
    while True:
        attempts_left -= 1
        try:
            return output_folder.make(folder)
        except OSError as error:
            # The previous holder may remove the folder at any time: a folder that has just existed is gone.
            if attempts_left and isinstance(error, FileExistsError | FileNotFoundError):
                continue
            raise InputError(f"{folder}: --out: cannot be written: {error.strerror}") from None


def _locked(path: Path, wait: bool) -> BinaryIO:
    while True:
        try:
            file = path.open("a+b")
        except FileNotFoundError:  # the previous holder removed the folder that it had created
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
                f"{path.parent}: --out: another process{holder} is writing to it: "
                "wait until it ends, or name another folder"
            ) from None
        # The previous holder may have unlinked the file after we opened it.
        with suppress(OSError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()


def _sign(file: BinaryIO) -> None:
    """Write the holder's PID and host into the file, for people to read; a full disk is no error."""
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
