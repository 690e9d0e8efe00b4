"""Ends runs early: a thread requests it, and the waits of all other threads end."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager


class StoppedError(Exception):
    """A run was ended early; there is no result."""


class Stop:
    """A permanent request to end all runs that share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: dict[object, Callable[[], None]] = {}
        self._is_requested = False

    @property
    def asked(self) -> bool:
        """Whether runs must end."""
        return self._is_requested

    def ask(self) -> None:
        """End all current runs and prevent new ones; an error in ending one follows once all are ended."""
        with self._lock, ExitStack() as ends:
            self._is_requested = True
            for end in self._ends.values():
                ends.callback(end)

    def check(self) -> None:
        """Check that no thread has requested the end.

        Raises:
            StoppedError: `ask` was called.
        """
        if self._is_requested:
            raise StoppedError

    @contextmanager
    def by(self, end: Callable[[], None]) -> Iterator[None]:
        """Call ``end`` on the requesting thread if `ask` is called during the ``with`` block.

        ``end`` must end the wait of the block, for instance by killing a process. Any error that follows in
        the block becomes:

        Raises:
            StoppedError: `ask` was called before or in the block.
        """
        key = object()
        with self._lock:
            self.check()
            self._ends[key] = end
        try:
            yield
        except Exception:
            self.check()
            raise
        finally:
            with self._lock:
                del self._ends[key]
