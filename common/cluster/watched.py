"""The cluster that this process has joined, and the thread that watches it."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import ray
from ray.util.client import ray as client

from leogym.common.cluster.head import Head, Node
from leogym.common.cluster.joining import LOCAL
from leogym.common.cluster.node_checks import Folder, NodeChecks
from leogym.common.errors import InputError

POLL_INTERVAL_S = 1.0
"""Interval between two looks at the cluster's nodes."""
HEAD_LOST_AFTER_S = 5.0
"""The head counts as lost if it has not answered for this time."""
REPORT_WAIT_AFTER_S = 10.0
"""A wait for processors is reported after this time."""
CLEANUP_TIMEOUT_S = 20.0
"""Time that a command has to clean up after its cluster has failed."""
FAILURE_SIGNAL = signal.SIGUSR2
EXIT_STATUS = 2


class ClusterFailed(BaseException):
    """Raised in the main thread when the cluster fails; `joining.joined` makes it an `InputError`."""


class Cluster:
    """The cluster that this process has joined."""

    def __init__(self, address: str, resume: str | Callable[[], str]) -> None:
        self.address = address
        """As the user gave it."""
        self.fault: str | None = None
        """The line to print, once the cluster has failed."""
        self._resume = resume
        self._head: Head | None = None
        self._nodes: Sequence[Node] = ()
        self._failed, self._ended = threading.Event(), threading.Event()
        self._waiting: tuple[str, float] | None = None
        self._forced_exit: threading.Timer | None = None

    def open(self) -> None:
        """Look at the cluster for the first time; Ray has joined it."""
        if not client.is_connected():
            self._head = Head(ray.get_runtime_context().gcs_address)
        self._nodes = self._look()

    def close(self) -> None:
        """End what `open` began; Ray leaves the cluster next."""
        if self._head is not None:
            self._head.close()

    def cancel_exit(self) -> None:
        """Cancel the forced exit after this process has left the cluster."""
        if self._forced_exit is not None:
            self._forced_exit.cancel()

    @property
    def cpus(self) -> int:
        """Processors of all living nodes, at the latest look."""
        return sum(node.cpus for node in self._nodes)

    def require_cpus(self, count: int, purpose: str) -> None:
        """Raise an `InputError` if the cluster has fewer than the ``count`` CPUs that ``purpose`` needs."""
        if self.cpus < count:
            needs = f"{purpose} needs {_cpus(count)}"
            if self.address == LOCAL:
                raise InputError(f"{needs}, this machine has {self.cpus}")
            raise InputError(f"--ray: {self.address}: {needs}, {self._has()}")

    def start_waiting(self, count: int, purpose: str) -> None:
        """Start the time in which ``purpose`` waits for ``count`` processors; a long wait is reported."""
        self._waiting = (f"{purpose} needs {_cpus(count)}", time.monotonic())

    def end_waiting(self) -> None:
        """End the wait that `start_waiting` began: the processors are there."""
        self._waiting = None

    def with_resume(self, line: str) -> str:
        """Return a line with the way to continue."""
        resume = self._resume if isinstance(self._resume, str) else self._resume()
        return f"{line}; {resume}" if resume else line

    def fails_within(self, seconds: float) -> str | None:
        """Wait up to ``seconds`` for the cluster to fail; return its fault, or None."""
        self._failed.wait(seconds)
        return self.fault

    @contextmanager
    def watched(self, packages: Sequence[str], folder: Path | None) -> Iterator[None]:
        """Check all nodes, and watch the cluster for the time of the block.

        Raises:
            InputError: a node differs or does not see ``folder``.
        """
        if self.address == LOCAL:
            with self._watching(None):
                yield
            return
        marked = Folder.marked(folder) if folder is not None else None
        try:
            checks = NodeChecks(packages, marked)
            checks.require(self._nodes)
            with self._watching(checks):
                yield
        finally:
            if marked is not None:
                marked.clear()

    @contextmanager
    def _watching(self, checks: NodeChecks | None) -> Iterator[None]:
        in_main_thread = threading.current_thread() is threading.main_thread()
        before = signal.signal(FAILURE_SIGNAL, self._raise) if in_main_thread else None
        thread = threading.Thread(
            target=self._watch, args=(checks, in_main_thread), name="watches the cluster", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()
            if in_main_thread:
                signal.signal(FAILURE_SIGNAL, before or signal.SIG_IGN)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        if not self._ended.is_set():
            raise ClusterFailed

    def _watch(self, checks: NodeChecks | None, in_main_thread: bool) -> None:
        try:
            self._watch_nodes(checks, in_main_thread)
        except Exception as error:  # of any type: the thread would end, and a lost head go unnoticed
            if self._ended.is_set():
                return  # this process is leaving the cluster
            reason, *_ = str(error).splitlines() or [""]
            self._fail(f"its nodes cannot be watched: {type(error).__name__}: {reason}", in_main_thread)

    def _watch_nodes(self, checks: NodeChecks | None, in_main_thread: bool) -> None:
        answered_s = time.monotonic()
        while not self._ended.wait(POLL_INTERVAL_S):
            try:
                nodes = self._look()
            except ConnectionError as error:
                if time.monotonic() - answered_s > HEAD_LOST_AFTER_S:
                    self._fail(f"the head is lost: {error}", in_main_thread)
                    return
                continue
            answered_s = time.monotonic()
            if self.cpus and not sum(node.cpus for node in nodes):
                _say(f"--ray: {self.address}: the cluster has no CPU left: waiting for a node")
            self._nodes = nodes
            if checks is not None:
                checks.start(nodes)
                for fault in checks.faults():
                    self._fail(fault, in_main_thread)
                    return
            self._report_waiting()

    def _look(self) -> list[Node]:
        if self._head is not None:
            return self._head.nodes()
        return [
            Node(node["NodeID"], node["NodeManagerAddress"], int(node["Resources"].get("CPU", 0)))
            for node in ray.nodes()
            if node["Alive"]
        ]

    def _report_waiting(self) -> None:
        waiting = self._waiting
        if waiting is not None and time.monotonic() - waiting[1] > REPORT_WAIT_AFTER_S:
            self._waiting = None
            if self.address == LOCAL:
                return  # nobody else uses a Ray that this command started: its process is starting
            _say(f"--ray: {self.address}: {waiting[0]}, {self._has()}, and others use them: waiting")

    def _has(self) -> str:
        count = len(self._nodes)
        return f"the cluster has {self.cpus} on {count} {'node' if count == 1 else 'nodes'}"

    def _fail(self, reason: str, in_main_thread: bool) -> None:
        self.fault = self.with_resume(f"--ray: {self.address}: {reason}")
        self._failed.set()
        # Any call of Ray may wait for a lost head for minutes.
        self._forced_exit = threading.Timer(CLEANUP_TIMEOUT_S, self._exit)
        self._forced_exit.daemon = True
        self._forced_exit.start()
        if in_main_thread and not self._ended.is_set():
            main = threading.main_thread().ident
            assert main is not None
            signal.pthread_kill(main, FAILURE_SIGNAL)

    def _exit(self) -> None:
        _say(self.fault or "")
        os._exit(EXIT_STATUS)


def _cpus(count: int) -> str:
    return f"{count} CPU{'' if count == 1 else 's'}"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
