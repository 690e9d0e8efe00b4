"""Ending runs before their time: what one thread asks, and what others wait for ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class StoppedError(Exception):
    """A run was asked to end before its time; there is no result."""


class Stop:
    """Asks for the end of all runs that were given it, whatever their threads wait for. Once is for good."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: dict[object, Callable[[], None]] = {}
        self._asked = False

    @property
    def asked(self) -> bool:
        """Whether runs are to end."""
        return self._asked

    def ask(self) -> None:
        """End what runs now, and let nothing begin."""
        with self._lock:
            self._asked = True
            for end in self._ends.values():
                end()

    def check(self) -> None:
        """Go on only if nobody asked.

        Raises:
            StoppedError: somebody did.
        """
        if self._asked:
            raise StoppedError

    @contextmanager
    def by(self, end: Callable[[], None]) -> Iterator[None]:
        """Have ``end`` called, on the thread that asks, if somebody does during the ``with`` block.

        It ends what the block waits for, such as a process. Whatever error the block makes of that is this:

        Raises:
            StoppedError: somebody asked, before the block or in it.
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
