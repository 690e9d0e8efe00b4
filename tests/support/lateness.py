"""Measure how late this machine wakes sleeping processes during a test, to skip the test if it was too
late."""

import math
import os
import subprocess
import sys
from typing import Self

import pytest

# Runs on each core. Sleeps for a millisecond at a time, as a test's shells and senders do, and prints each
# sleep's lateness in ns once its stdin ends.
_SLEEPER = """
import os, select, sys, time
core, prompt = map(int, sys.argv[1:])
os.sched_setaffinity(0, {core})
if prompt:
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        pass
print(flush=True)
late, due = [], time.monotonic_ns()
while True:
    due += 1_000_000
    ended = select.select([0], [], [], max(0, due - time.monotonic_ns()) / 1e9)[0]
    now = time.monotonic_ns()
    if now >= due or not ended:
        late.append(now - due)  # also of a sleep that the end of input finds overdue
    if ended:
        break
    due = max(due, now)
print(*late)
"""


class Lateness:
    """Measures during the ``with`` block.

    ``prompt`` uses the real-time priority of runs (`kernel_bridge.inside.scenario.raise_priority`).
    """

    def __init__(self, *, prompt: bool) -> None:
        self._prompt = prompt
        self._sleepers: list[subprocess.Popen[str]] = []
        self._late_ns: list[int] = []

    def __enter__(self) -> Self:
        for core in sorted(os.sched_getaffinity(0)):
            line = [sys.executable, "-I", "-c", _SLEEPER, str(core), str(int(self._prompt))]
            pipe = subprocess.PIPE
            self._sleepers.append(subprocess.Popen(line, stdin=pipe, stdout=pipe, text=True))
        for sleeper in self._sleepers:
            assert sleeper.stdout is not None
            sleeper.stdout.readline()
        return self

    def __exit__(self, *_: object) -> None:
        outputs = [sleeper.communicate()[0] for sleeper in self._sleepers]
        self._late_ns = sorted(int(word) for line in outputs for word in line.split())

    @property
    def worst_ms(self) -> float:
        """Return the largest lateness, after the block."""
        return self.quantile_ms(1.0)

    def quantile_ms(self, quantile: float) -> float:
        """Return a quantile of the lateness, after the block."""
        return self._late_ns[max(0, math.ceil(quantile * len(self._late_ns)) - 1)] / 1e6

    def skip_above(self, ms: float, *, often_ms: float = math.inf) -> None:
        """Skip the test, whatever its result, if a sleep was later than ``ms`` or one in a hundred than
        ``often_ms``."""
        if self.worst_ms > ms:
            pytest.skip(f"this machine stood still for {self.worst_ms:.0f} ms, and {ms:g} ms are tolerable")
        if (often := self.quantile_ms(0.99)) > often_ms:
            pytest.skip(
                f"this machine was {often:.1f} ms late (99th percentile), {often_ms:g} ms are tolerable"
            )
