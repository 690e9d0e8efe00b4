"""The folder of kept results: one file an entry, whole or absent, the longest unused removed first.

Any number of processes may use it at once, and be killed at any time: an entry appears by a rename under a
name that says its content, so two that make the same one make the same file. A file that the disk damaged is
told by its check sums and made anew.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from configs.errors import InputError

MOST_BYTES = 10 * 1000**3
ENV = "LEOGYM_RESULTS"
NONE = "none"
_ROWS = "rows.json"
_OFTEN = 20
"""The folder's size is looked at whenever a process has written a part in so many of what it may hold."""
_LEFT_S = 3600.0
"""A temporary file this old belongs to a process that was killed."""


@dataclass(frozen=True)
class Entry:
    """What a run measured."""

    rows: list[dict[str, Any]]
    """As `results.metrics.flow_rows` gives them."""
    series: dict[str, bytes] = field(default_factory=dict, repr=False)
    """A Parquet file for each kind of series; empty where none were kept."""


class Folder:
    """Entries by key, in one folder."""

    def __init__(self, path: Path, most_bytes: int = MOST_BYTES) -> None:
        """Make the folder where it is missing.

        Raises:
            InputError: it cannot be written.
        """
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
        """Whether there is an entry, of which nothing is known but its name."""
        return self._file(key).exists()

    def get(self, key: str) -> Entry | None:
        """Return an entry; None where there is none, or a damaged one, which a line on stderr says."""
        path = self._file(key)
        try:
            with zipfile.ZipFile(path) as file:
                names = set(file.namelist()) - {_ROWS}
                entry = Entry(json.loads(file.read(_ROWS)), {name: file.read(name) for name in names})
            os.utime(path)
        except FileNotFoundError:
            return None
        # What zipfile, zlib and json raise of bytes that are none of theirs.
        except (OSError, ValueError, KeyError, EOFError, NotImplementedError, zipfile.BadZipFile) as error:
            self.damaged(key, " ".join(str(error).split()))
            return None
        return entry

    def damaged(self, key: str, why: str) -> None:
        """Say that an entry is damaged, and take it away."""
        path = self._file(key)
        print(f"warning: {path}: damaged, its run is made anew: {why}", file=sys.stderr)
        with suppress(OSError):
            path.unlink()

    def put(self, key: str, rows: list[dict[str, Any]], series: Mapping[str, Path]) -> None:
        """Keep a run's rows and the files of its series; a disk that takes no more is said once."""
        path = self._file(key)
        temporary: Path | None = None
        try:
            path.parent.mkdir(exist_ok=True)
            handle, name = tempfile.mkstemp(".tmp", ".", path.parent)
            temporary = Path(name)
            with os.fdopen(handle, "wb") as raw, zipfile.ZipFile(raw, "w") as file:
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
                print(f"warning: {self.path}: results are not kept: {error.strerror}", file=sys.stderr)
            return
        with self._lock:
            self._written += size
            due = self._written * _OFTEN > self._most_bytes
            self._written = 0 if due else self._written
        if due:
            self.trim()

    def trim(self) -> None:
        """Remove what was not used for the longest time, until the rest fits; and what the killed left."""
        now_s, files = time.time(), []
        for path in self.path.glob("??/*"):
            with suppress(FileNotFoundError):  # another process does the same
                about = path.stat()
                if path.suffix != ".tmp":
                    files.append((about.st_mtime, about.st_size, path))
                elif now_s - about.st_mtime > _LEFT_S:
                    path.unlink()
        left = sum(size for _, size, _ in files)
        for _, size, path in sorted(files, key=lambda one: one[0]):
            if left <= self._most_bytes:
                break
            path.unlink(missing_ok=True)
            left -= size

    def _file(self, key: str) -> Path:
        return self.path / key[:2] / f"{key}.zip"


def default() -> str:
    """Return where results are kept, or `NONE`.

    ``$LEOGYM_RESULTS``; else ``results`` in ``$LEOGYM_CACHE``, ``$XDG_CACHE_HOME/leogym`` or
    ``~/.cache/leogym``.
    """
    if named := os.environ.get(ENV):
        return named
    if root := os.environ.get("LEOGYM_CACHE"):
        return str(Path(root) / "results")
    root = os.environ.get("XDG_CACHE_HOME")
    return str((Path(root) if root else Path.home() / ".cache") / "leogym" / "results")


def opened(named: str | None) -> Folder | None:
    """Return the folder that ``--cache`` names, by default `default`; None for `NONE`.

    Raises:
        InputError: it cannot be written.
    """
    text = named or default()
    return None if text == NONE else Folder(Path(text))
