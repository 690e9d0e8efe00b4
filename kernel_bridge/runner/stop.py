"""Ends runs early: one thread asks, and whatever other threads wait for ends."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class StoppedError(Exception):
    """A run was asked to end early; there is no result."""


class Stop:
    """A permanent request to end all runs that share it, whatever their threads wait for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: dict[object, Callable[[], None]] = {}
        self._asked = False

    @property
    def asked(self) -> bool:
        """Whether runs must end."""
        return self._asked

    def ask(self) -> None:
        """End all current runs and prevent new ones."""
        with self._lock:
            self._asked = True
            for end in self._ends.values():
                end()

    def check(self) -> None:
        """Check that nobody has asked.

        Raises:
            StoppedError: `ask` was called.
        """
        if self._asked:
            raise StoppedError

    @contextmanager
    def by(self, end: Callable[[], None]) -> Iterator[None]:
        """Call ``end`` on the asking thread if `ask` is called during the ``with`` block.

        ``end`` must end what the block waits for, such as a process. Any error that follows in the block
        becomes:

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
