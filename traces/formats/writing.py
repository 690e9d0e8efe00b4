"""Saying how large an export will be before it is written, and how far it is."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from configs.errors import InputError

SAID_BYTES = 10_000_000
"""Smaller exports are done at once."""
_STEPS = 10


def progress(folder: Path, lines: int, size_bytes: int) -> Callable[[int], None]:
    """Say what will be written into ``folder``, on standard error; return what says how far it is.

    Args:
        folder: where the disk must have room.
        lines: about how many will be written; what is returned is called with the number of each piece.
        size_bytes: about how much that is.

    Raises:
        InputError: the disk has no room for it.
    """
    if size_bytes < SAID_BYTES:
        return lambda _: None
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < size_bytes:
        raise InputError(
            f"{folder}: --out: needs about {size_bytes / 1e6:,.0f} MB and has {free_bytes / 1e6:,.0f} MB free"
        )
    _say(f"writing about {size_bytes / 1e6:,.0f} MB: {lines / 1e6:,.1f} million opportunities")
    done = 0

    def told(count: int) -> None:
        nonlocal done
        before, done = done, done + count
        if done * _STEPS // lines > before * _STEPS // lines:
            _say(f"{min(100, done * 100 // lines)} % written")

    return told


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
