"""How late this machine wakes who sleeps, measured beside a test: a reason to skip it, whatever it found."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from typing import Self

import pytest

# There is one on each core. It sleeps for a millisecond at a time, as a test's shells and senders do, and
# says how much too long each sleep was, in ns, once its standard input ends.
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
    """Measures for as long as the ``with`` block.

    Args:
        prompt: at the real-time priority of runs (`kernel_bridge.inside.scenario.keep_up`), not as any
            process.
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
        told = [sleeper.communicate()[0] for sleeper in self._sleepers]
        self._late_ns = sorted(int(word) for line in told for word in line.split())

    @property
    def worst_ms(self) -> float:
        """Return how much too long the worst sleep was; once the block is over."""
        return self.quantile_ms(1.0)

    def quantile_ms(self, quantile: float) -> float:
        """Return how much too long sleeps were, that share of them at most; once the block is over."""
        return self._late_ns[max(0, math.ceil(quantile * len(self._late_ns)) - 1)] / 1e6

    def skip_above(self, ms: float, *, often_ms: float = math.inf) -> None:
        """Skip the test if the machine was so late, whatever the test found.

        Args:
            ms: once is enough.
            often_ms: one sleep in a hundred is.
        """
        if self.worst_ms > ms:
            pytest.skip(f"this machine stood still for {self.worst_ms:.0f} ms, and {ms:g} ms are tolerable")
        if (often := self.quantile_ms(0.99)) > often_ms:
            pytest.skip(
                f"this machine was {often:.1f} ms late (99th percentile), {often_ms:g} ms are tolerable"
            )
