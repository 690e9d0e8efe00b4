"""Announce the size of a large export, and show its progress."""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from leogym.common.errors import InputError
from leogym.common.progress import Progress

SAID_BYTES = 10_000_000  # smaller exports are fast, and report nothing


@contextmanager
def progress(folder: Path, lines: int, size_bytes: int) -> Iterator[Callable[[int], None]]:
    """Print the estimated size of an export on standard error; yield a callback that shows its progress.

    The callback takes the number of lines just written. Raises InputError if the disk has too little space.
    """
    if size_bytes < SAID_BYTES:
        yield lambda _: None
        return
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < size_bytes:
        raise InputError(
            f"{folder}: --out: needs about {size_bytes / 1e6:,.0f} MB and has {free_bytes / 1e6:,.0f} MB free"
        )
    said = f"writing about {size_bytes / 1e6:,.0f} MB: {lines / 1e6:,.1f} million opportunities"
    print(said, file=sys.stderr, flush=True)
    with Progress("writing", lines, quiet_s=0.0) as shown:
        yield shown.advance
