"""Output files that are written whole or not at all, and say in one line why not."""

from __future__ import annotations

from pathlib import Path

from configs.atomic import write_atomically
from configs.errors import InputError


def write_file(out: Path, data: bytes) -> None:
    """Write ``data`` to ``out``; what was there before stays until the new file is complete.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        write_atomically(out, data)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {error.strerror}") from None
