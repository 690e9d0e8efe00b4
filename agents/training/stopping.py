"""Stop requests: the run writes a checkpoint at its next safe point and exits."""

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
    """Base class of stop requests; it never asks."""

    @property
    def asked(self) -> bool:
        """Whether the run is asked to stop."""
        return False

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Defer stopping to safe points, where the training loop checks `asked`."""
        yield


class Note(Stop):
    """A stop request by the existence of the file ``path``: all trials of a sweep see it, on any node."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def asked(self) -> bool:
        """Whether the file exists."""
        return self.path.exists()

    def write(self) -> None:
        """Create the file."""
        self.path.touch()

    def remove(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)


class Signals(Stop):
    """A stop request by SIGINT (Ctrl-C) or SIGTERM while the context is open.

    Within `deferred`, the first signal waits for a safe point and writes ``note``, for processes that receive
    no signal. Any other raises `KeyboardInterrupt`.
    """

    NUMBERS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, note: Note | None = None) -> None:
        self.number: int | None = None  # the latest signal; None before any
        self._note = note
        self._deferred = False
        self._before: dict[int, Any] = {}

    @property
    def asked(self) -> bool:
        """Whether a signal came."""
        return self.number is not None

    @property
    def status(self) -> int:
        """The exit status after the signal, as a shell reports it."""
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
        """Let the first signal wait for the next safe point."""
        self._install()  # again, because Ray installs its own SIGTERM handler
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
        with suppress(OSError):  # the terminal may be gone; not `print`, which may be interrupted itself
            os.write(2, ASKED)
