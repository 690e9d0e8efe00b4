"""SIGINT and SIGTERM end a command within seconds: it cleans up, prints one line, and exits with 130 or 143.

Python runs signal handlers on the main thread between bytecodes, so compiled code or a lock can delay them. A
thread that the system wakes at each signal ends the process and its descendants where the command takes
longer than its grace time, and at the second signal.
"""

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

NUMBERS = (signal.SIGINT, signal.SIGTERM)
GRACE_S = 1.5
"""Time to clean up after the first signal, unless the command asks for more with `on_interrupt`."""
WRITE_S = 1.0
"""Time that writing the command's line may take."""
LINE = "interrupted"
_STOP = b"\0"
"""Ends the thread; no signal has this number."""


class Interrupted(KeyboardInterrupt):
    """SIGINT or SIGTERM asked the command to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class _Watch:
    """Handles the signals of one command."""

    def __init__(self) -> None:
        self.line, self.grace_s = LINE, GRACE_S
        self.number: int | None = None  # the first signal, once its handler ran
        self._printed, self._printing = False, threading.Lock()
        self._before: dict[int, Any] = {}
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)

    def start(self) -> None:
        """Install the handlers and start the thread."""
        self._wakeup_before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._before = {number: signal.getsignal(number) for number in NUMBERS}
        self.install()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, NUMBERS)  # a parent's mask is inherited
        self._thread = threading.Thread(target=self._watch, name="signals", daemon=True)
        self._thread.start()

    def install(self) -> None:
        """Install the handlers; also those of a shell's background job, which starts with SIGINT ignored."""
        for number in NUMBERS:
            signal.signal(number, self._interrupt)

    def stop(self) -> None:
        """Restore the earlier handlers.

        After a signal, the thread keeps watching until the process has ended, and another signal ends it.
        """
        for number, handler in self._before.items():
            signal.signal(number, handler if self.number is None else signal.SIG_DFL)
        signal.set_wakeup_fd(self._wakeup_before)
        if self.number is None:
            os.write(self._writer, _STOP)  # not a close: a forked process may have the pipe, too
            self._thread.join()
            os.close(self._writer)
            os.close(self._reader)

    def print_line(self, write: Callable[[str], object]) -> None:
        """Write the command's line, once; wait for another thread that writes it."""
        if self._printing.acquire(timeout=WRITE_S):
            try:
                if not self._printed:
                    write(f"{self.line}\n")
                    self._printed = True
            finally:
                self._printing.release()

    def _interrupt(self, number: int, _: FrameType | None) -> None:
        if self.number is None:
            self.number = number
            raise Interrupted(number)

    def _watch(self) -> None:
        first: int | None = None
        deadline_s: float | None = None
        while True:
            left_s = None if deadline_s is None else max(0.0, deadline_s - time.monotonic())
            if not select.select([self._reader], [], [], left_s)[0]:
                self._leave(first or signal.SIGTERM)
            numbers = os.read(self._reader, 64)
            if _STOP in numbers:
                return
            for number in numbers:
                # Code that installs its own handler, such as training, ends by itself.
                if number not in NUMBERS or signal.getsignal(number) != self._interrupt:
                    continue
                if first is not None:
                    self._leave(first)
                first, deadline_s = number, time.monotonic() + self.grace_s

    def _leave(self, number: int) -> None:
        """End this process and its descendants; files are whole or absent at any time."""
        from leogym.common import processes  # here, because it imports this module

        self.print_line(_write_unbuffered)
        processes.kill(processes.descendants(os.getpid()))
        os._exit(128 + number)


_active: _Watch | None = None


def _write_unbuffered(line: str) -> None:
    with suppress(OSError):  # the terminal may be gone
        os.write(2, line.encode("ascii", "backslashreplace"))


@contextmanager
def handled() -> Iterator[None]:
    """Raise `Interrupted` in the ``with`` block at the first SIGINT or SIGTERM.

    Within another such block, and outside the main thread, this does nothing.
    """
    global _active
    if _active is not None or threading.current_thread() is not threading.main_thread():
        yield
        return
    _active = watch = _Watch()
    watch.start()
    try:
        yield
    finally:
        watch.stop()
        _active = None


def on_interrupt(line: str | None = None, grace_s: float | None = None) -> None:
    """Set the line that the command prints when a signal ends it, and the time that its clean-up may take."""
    if _active is not None:
        _active.line = line or _active.line
        _active.grace_s = grace_s or _active.grace_s


def ended(error: KeyboardInterrupt) -> int:
    """Print the command's line; return the exit status, as a shell reports it."""
    if _active is None:
        print(LINE, file=sys.stderr)
    else:
        _active.print_line(sys.stderr.write)
    return 128 + (error.number if isinstance(error, Interrupted) else signal.SIGINT)


@contextmanager
def blocked() -> Iterator[None]:
    """Hold back both signals on this thread for the ``with`` block; processes that it starts inherit that."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, NUMBERS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
