"""The cache folder: one file per entry, written atomically, evicted least recently used first.

Any number of processes may use it at once and be killed at any time: an entry is renamed into place under its
key, which it also holds. A file that is damaged, or holds another entry, is deleted, and its run is made
again.
"""

import json
import os
import struct
import sys
import tempfile
import threading
import time
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leogym.common import home
from leogym.common.errors import InputError

MOST_BYTES = 10 * 1000**3
ENV = "LEOGYM_RESULTS"
NONE = "none"
_KEY, _ROWS = "key.txt", "rows.json"
INVALID = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    RuntimeError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)
"""What `zipfile`, `zlib` and `json` raise on invalid bytes."""
_OFTEN = 20
"""A process checks the folder's size each time it has written 1/`_OFTEN` of the limit."""
_LEFT_S = 3600.0
"""A temporary file older than this is left over from a killed process."""


@dataclass(frozen=True)
class Entry:
    """A run's results."""

    rows: list[dict[str, Any]]
    """From `results.metrics.flow_rows`."""
    series: dict[str, bytes] = field(default_factory=dict, repr=False)
    """Parquet bytes per kind of series; may be empty."""


class Folder:
    """Entries by key, in one folder."""

    def __init__(self, path: Path, most_bytes: int = MOST_BYTES) -> None:
        """Create the folder if it is missing; raise an `InputError` if it is not writable."""
        self.path = path
        self._most_bytes = most_bytes
        self._written = 0
        self._lock = threading.Lock()
        self._complained = False
        try:
            path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass
        except OSError as error:
            raise InputError(
                f"--cache: {path}: cannot be written: {error.strerror}; name another folder, or {NONE}"
            ) from None

    def has(self, key: str) -> bool:
        """Return whether a file exists for ``key``, without checking its content."""
        return self._file(key).exists()

    def get(self, key: str) -> Entry | None:
        """Return an entry; None if it is missing or, with a warning on stderr, damaged."""
        path = self._file(key)
        try:
            with zipfile.ZipFile(path) as file:
                names = set(file.namelist()) - {_KEY, _ROWS}
                if (its := file.read(_KEY).decode()) != key:
                    raise ValueError(f"holds the results of {its}")
                entry = Entry(json.loads(file.read(_ROWS)), {name: file.read(name) for name in names})
            os.utime(path)
        except FileNotFoundError:
            return None
        except INVALID as error:
            self.damaged(key, " ".join(str(error).split()))
            return None
        return entry

    def damaged(self, key: str, why: str) -> None:
        """Warn that an entry is damaged, and delete it."""
        path = self._file(key)
        print(f"warning: {path}: damaged, running it again: {why}", file=sys.stderr)
        with suppress(OSError):
            path.unlink()

    def put(self, key: str, rows: list[dict[str, Any]], series: Mapping[str, Path]) -> None:
        """Store a run's rows and series files; warn once if the disk is full."""
        path = self._file(key)
        temporary: Path | None = None
        try:
            path.parent.mkdir(exist_ok=True)
            handle, name = tempfile.mkstemp(".tmp", ".", path.parent)
            temporary = Path(name)
            with os.fdopen(handle, "wb") as raw, zipfile.ZipFile(raw, "w") as file:
                file.writestr(_KEY, key)
                file.writestr(_ROWS, json.dumps(rows), zipfile.ZIP_DEFLATED)
                for kind, source in series.items():
                    file.write(source, kind)
            size = temporary.stat().st_size
            os.replace(temporary, path)
        except OSError as error:
            if temporary is not None:
                temporary.unlink(missing_ok=True)
            with self._lock:
                first, self._complained = not self._complained, True
            if first:
                print(f"warning: {self.path}: results not cached: {error.strerror}", file=sys.stderr)
            return
        with self._lock:
            self._written += size
            due = self._written * _OFTEN > self._most_bytes
            self._written = 0 if due else self._written
        if due:
            self.trim()

    def trim(self) -> None:
        """Delete the least recently used entries beyond the limit, and killed processes' temporary files."""
        now_s, files = time.time(), []
        for path in self.path.glob("??/*"):
            with suppress(FileNotFoundError):  # another process trims, too
                about = path.stat()
                if path.suffix != ".tmp":
                    files.append((about.st_mtime, about.st_size, path))
                elif now_s - about.st_mtime > _LEFT_S:
                    path.unlink()
        total_bytes = sum(size for _, size, _ in files)
        for _, size, path in sorted(files, key=lambda file: file[0]):
            if total_bytes <= self._most_bytes:
                break
            path.unlink(missing_ok=True)
            total_bytes -= size

    def _file(self, key: str) -> Path:
        return self.path / key[:2] / f"{key}.zip"


def default() -> str:
    """Return the default cache folder, or `NONE`.

    It is ``$LEOGYM_RESULTS``, else ``results`` in ``$LEOGYM_CACHE``, ``$XDG_CACHE_HOME/leogym`` or
    ``~/.cache/leogym``.
    """
    if named := os.environ.get(ENV):
        return named
    if root := os.environ.get("LEOGYM_CACHE"):
        return str(Path(root) / "results")
    root = os.environ.get("XDG_CACHE_HOME")
    return str((Path(root) / "leogym" if root else home.caches()) / "results")


def opened(named: str | None) -> Folder | None:
    """Return the folder that ``--cache`` names (default: `default`), or None for `NONE`."""
    text = named or default()
    return None if text == NONE else Folder(Path(text))
