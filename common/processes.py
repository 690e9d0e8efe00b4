"""Child processes: a pool that ends with this process, and the list of all descendants."""

import ctypes
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from leogym.common import signals

_PDEATHSIG = 1
"""Linux's number of ``PR_SET_PDEATHSIG``."""
T = TypeVar("T")


class Pool(ProcessPoolExecutor):
    """A process pool that a signal to this process, or its death, ends at once.

    The processes receive no SIGINT and SIGTERM themselves, which a terminal sends to the whole group: only
    this process handles them. An exception in the ``with`` block kills the processes, also in mid-task, so
    tasks must leave only whole files.
    """

    def __init__(
        self, workers: int, initializer: Callable[..., None] | None = None, initargs: tuple[Any, ...] = ()
    ) -> None:
        self._earlier_children = set(multiprocessing.active_children())
        self.pids: set[int] = set()
        """PIDs of all processes that the pool has started, also after they ended."""
        # Spawn: a forked process would inherit locks of threads that do not exist in it.
        context = multiprocessing.get_context("spawn")
        super().__init__(workers, context, _begin, (os.getpid(), initializer, initargs))

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Submit a call; this may start a process, which inherits the blocked signals."""
        with signals.blocked():
            future = super().submit(fn, *args, **kwargs)
        self.pids |= {process.pid or 0 for process in self._pool_processes()}
        return future

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            super().__exit__(kind, error, trace)
            return
        # First the shutdown: of futures that are cancelled, the pool's thread would else fail to say why.
        processes = self._pool_processes()
        self.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()
        for process in processes:
            process.join()

    def _pool_processes(self) -> set[Any]:
        return set(multiprocessing.active_children()) - self._earlier_children


def _begin(parent: int, initializer: Callable[..., None] | None, initargs: tuple[Any, ...]) -> None:
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(1)
    if initializer is not None:
        initializer(*initargs)


def descendants(pid: int) -> dict[int, str]:
    """Return the names of a process's descendants by PID."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text("utf-8", "replace")
            except OSError:
                continue
            name, fields = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :]
            parents[int(entry.name)] = (name, int(fields.split()[1]))
    names: dict[int, str] = {}
    for process in parents:
        ancestor = process
        while ancestor in parents and ancestor != pid:
            ancestor = parents[ancestor][1]
        if ancestor == pid and process != pid:
            names[process] = parents[process][0]
    return names


def kill(pids: Iterable[int]) -> None:
    """Send SIGKILL to processes that may have ended."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
