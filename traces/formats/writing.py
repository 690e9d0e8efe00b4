"""Announce the size of a large export, and report its progress."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from leogym.configs.errors import InputError

SAID_BYTES = 10_000_000  # smaller exports are fast, and report nothing
_STEPS = 10


def progress(folder: Path, lines: int, size_bytes: int) -> Callable[[int], None]:
    """Print the estimated size of an export on standard error, and return a callback that reports progress.

    The callback takes the number of lines just written. Raises InputError if the disk has too little space.
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
