"""A run that is asked to stop writes a checkpoint at its next safe point, then leaves."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

ASKED = b"stopping: the run writes a checkpoint first; ask again to leave at once\n"


class Stopped(Exception):
    """The run was asked to stop, and its checkpoint is on disk."""


class Stop:
    """Whether a run is asked to stop. This one never is."""

    @property
    def asked(self) -> bool:
        """Whether it is."""
        return False

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Let a training loop come to its safe points, where it looks at `asked`, while the context lasts."""
        yield


class Note(Stop):
    """The note ``path`` asks: for the trials of a sweep, wherever they run.

    Args:
        path: of a file, which `write` makes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def asked(self) -> bool:
        """Whether the note is there."""
        return self.path.exists()

    def write(self) -> None:
        """Ask."""
        self.path.touch()

    def remove(self) -> None:
        """Ask no more."""
        self.path.unlink(missing_ok=True)


class Signals(Stop):
    """SIGINT (Ctrl-C) and SIGTERM ask, while the context lasts.

    The first one waits for a safe point where the run has some (`deferred`); elsewhere, and the second time,
    it is a `KeyboardInterrupt`.

    Args:
        note: written at the first one, for processes that see no signal.
    """

    NUMBERS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, note: Note | None = None) -> None:
        self.number: int | None = None
        """The latest signal; None before any."""
        self._note = note
        self._deferred = False
        self._before: dict[int, Any] = {}

    @property
    def asked(self) -> bool:
        """Whether a signal came."""
        return self.number is not None

    @property
    def status(self) -> int:
        """The exit status of a process that leaves for a signal, as a shell tells it."""
        return 128 + (self.number or signal.SIGINT)

    def __enter__(self) -> Signals:
        self._before = {number: signal.getsignal(number) for number in self.NUMBERS}
        self._install()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Let a signal wait for the next safe point."""
        self._install()  # again: Ray has put one of its own for SIGTERM
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False

    def _install(self) -> None:
        for number in self.NUMBERS:
            signal.signal(number, self._take)

    def _take(self, number: int, frame: FrameType | None) -> None:
        first, self.number = self.number is None, number
        if not (first and self._deferred):
            raise KeyboardInterrupt
        if self._note is not None:
            self._note.write()
        with suppress(OSError):  # the terminal may be gone; and `print` may be what was interrupted
            os.write(2, ASKED)
