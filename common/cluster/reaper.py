"""End the Ray processes that this process started if this process is killed.

Ray ends its processes when it is shut down. After a kill -9, its agents would live for minutes. `Reaper` runs
this file as a separate process: ``python reaper.py DRIVER EARLIER_CHILD…``.
"""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

POLL_INTERVAL_S = 0.25


class Reaper:
    """A process that waits until this process ends, then kills the children that were started after it."""

    def __init__(self) -> None:
        earlier = map(str, descendants([os.getpid()]))
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(os.getpid()), *earlier],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # a signal to the process group, as by Ctrl-C, is not for it
        )

    def settle(self) -> None:
        """Stop listing: processes that this process starts from now on are not Ray's."""
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def end(self) -> None:
        """End the process: Ray was shut down."""
        self.settle()
        self._process.kill()
        self._process.wait()


def started(pid: int) -> str | None:
    """Return when a process started, which distinguishes it from a later one; None if it has ended."""
    status = _status(pid)
    return status[19] if status is not None and status[0] != "Z" else None


def descendants(pids: Iterable[int]) -> set[int]:
    """Return the descendants of ``pids``."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (status := _status(int(entry))) is not None:
            children.setdefault(int(status[1]), []).append(int(entry))
    pids_below: set[int] = set()
    waiting = list(pids)
    while waiting:
        new = [pid for pid in children.get(waiting.pop(), []) if pid not in pids_below]
        pids_below.update(new)
        waiting += new
    return pids_below


def _status(pid: int) -> list[str] | None:
    """Return the fields of a process's status from the third (its state) on; None if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _reap(driver: int, earlier: set[int]) -> None:
    processes: dict[int, str] = {}

    def add(pids: Iterable[int]) -> None:
        for pid in pids:
            if pid not in earlier and (since := started(pid)) is not None:
                processes[pid] = since

    # Agents lose their parent when the driver is killed, so they are listed while they start.
    settled = False
    while not settled and os.getppid() == driver:
        settled = bool(select.select([0], [], [], POLL_INTERVAL_S)[0])
        add(descendants([driver]))
    while os.getppid() == driver:
        time.sleep(POLL_INTERVAL_S)
    processes = {pid: since for pid, since in processes.items() if started(pid) == since}
    add(descendants(list(processes)))
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    for _number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(_number, signal.SIG_IGN)
    _reap(int(sys.argv[1]), {os.getpid(), *map(int, sys.argv[2:])})
