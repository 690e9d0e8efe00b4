"""Atomic file writes: a file is complete or absent, even if the process is killed while writing."""

from __future__ import annotations

import errno
import fcntl
import io
import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    import polars as pl

DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EIO)
"""Errors that the operating system returns when a file cannot grow."""


def destination(path: Path) -> Path:
    """Return the file that a rename to ``path`` may replace: the one behind a symbolic link.

    Raises:
        OSError: it is a folder, or a device or a pipe, which the rename would remove.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "is a device or a pipe: name a file", str(path))
    return target


def write_atomically(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``. A reader sees the old file or the new one, never a partial one."""
    target = destination(path)
    write_together(target.parent, {target.name: data})


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Write ``table`` to the Parquet file ``path``, as `write_atomically` does."""
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    write_atomically(path, buffer.getvalue())


def write_together(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write ``files``, by name, to ``folder``: their bytes are on disk before the first gets its name.

    Processes that write the same file wait for each other.
    """
    temporaries = {name: folder / f".{name}.tmp" for name in sorted(files)}
    with ExitStack() as opened:
        try:
            for name, temporary in temporaries.items():
                file = opened.enter_context(_opened(temporary))
                file.write(files[name])
                file.flush()
                os.fsync(file.fileno())
            for name in files:
                os.replace(temporaries[name], folder / name)
                del temporaries[name]
        except BaseException:  # partial files would take up the space left on a full disk
            for temporary in temporaries.values():
                temporary.unlink(missing_ok=True)
            raise
    sync_folder(folder)


def _opened(temporary: Path) -> BinaryIO:
    """Return the file, empty, which no other process has: it is locked until it is closed."""
    while True:
        file = temporary.open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if _is_at(file, temporary):
                if file.tell():  # a killed process left it
                    file.truncate(0)
                return file
        except BaseException:
            file.close()
            raise
        file.close()  # another process has given it its name since


def _is_at(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def sync_file(path: Path) -> None:
    """Wait until the bytes of the file at ``path`` are on disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make renames in ``folder`` durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
