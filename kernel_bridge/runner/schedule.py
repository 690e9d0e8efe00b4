"""What a link is like over a run: delay, capacity, loss and outages, piecewise constant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import leosim
import numpy as np
from numpy.typing import NDArray

from configs.scenario import Link

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Schedule:
    """Spans that hold from ``start_ns[i]`` to ``start_ns[i + 1]``; the last one holds for ever.

    All arrays have shape (spans,); ``start_ns`` counts from the run's start, begins with 0 and increases.
    """

    start_ns: Integers
    delay_ns: Integers
    """One way."""
    rate_bps: Integers
    """Capacity while connected, of IP packets."""
    loss: NDArray[np.float64]
    connected: NDArray[np.bool_]

    @property
    def varies(self) -> bool:
        """Whether it matters when the run starts."""
        return len(self.start_ns) > 1

    @property
    def delay_varies(self) -> bool:
        """Whether the delay changes."""
        return bool((self.delay_ns != self.delay_ns[0]).any())

    @property
    def loss_varies(self) -> bool:
        """Whether the loss probability changes."""
        return bool((self.loss != self.loss[0]).any())

    @property
    def capacity_bps(self) -> Integers:
        """What can be carried; outages count as zero."""
        return np.where(self.connected, self.rate_bps, 0)

    def delay_at(self, time_ns: NDArray[np.int64]) -> Integers:
        """Return the delay at each of the times given; before the run's start it is that of the start."""
        return self.delay_ns[self._span(time_ns)]

    def rate_at(self, time_ns: NDArray[np.int64]) -> Integers:
        """Return the rate at each of the times given; in an outage, the rate that the link would have."""
        return self.rate_bps[self._span(time_ns)]

    def capacity_bits(self, from_ns: Integers, to_ns: Integers) -> NDArray[np.float64]:
        """Return how many bits can be carried from each of ``from_ns`` to each of ``to_ns``."""
        return self._carried_by(to_ns) - self._carried_by(from_ns)

    def stays_connected(self, from_ns: Integers, to_ns: Integers) -> NDArray[np.bool_]:
        """Return whether no outage touches each of the times from ``from_ns`` up to ``to_ns``."""
        down = np.concatenate(([0], np.cumsum(~self.connected)))
        return down[self._span(np.maximum(to_ns - 1, from_ns)) + 1] == down[self._span(from_ns)]

    def _span(self, time_ns: Integers) -> Integers:
        return np.maximum(np.searchsorted(self.start_ns, time_ns, side="right") - 1, 0)

    def _carried_by(self, time_ns: Integers) -> NDArray[np.float64]:
        capacity = self.capacity_bps.astype(np.float64)
        before = np.concatenate(([0.0], np.cumsum(capacity[:-1] * np.diff(self.start_ns) / NS_PER_S)))
        span = self._span(time_ns)
        return before[span] + capacity[span] * (time_ns - self.start_ns[span]) / NS_PER_S


def constant(delay_ms: float, rate_mbps: float, loss: float = 0.0) -> Schedule:
    """Return the schedule of a link that never changes."""
    return Schedule(
        np.zeros(1, dtype=np.int64),
        np.array([round(delay_ms * NS_PER_MS)]),
        np.array([round(rate_mbps * 1e6)]),
        np.array([loss]),
        np.ones(1, dtype=bool),
    )


def of_link(link: Link, traces: Mapping[str, leosim.PathTrace], duration_s: float) -> Schedule:
    """Return a scenario link's schedule over a run.

    Args:
        link: of a scenario; the run starts at its ``offset_s`` of its trace.
        traces: every path trace that the scenario names.
        duration_s: of the run; spans that begin later are left out.
    """
    if link.trace is None:
        assert link.delay_ms is not None
        assert link.rate_mbps is not None
        return constant(link.delay_ms, link.rate_mbps, link.loss)
    trace = traces[link.trace]
    times = trace.time_ns.astype(np.int64)
    offset = round(link.offset_s * NS_PER_S) % trace.period_ns
    periods = (offset + round(duration_s * NS_PER_S)) // trace.period_ns + 1
    start = np.concatenate([times + round_ * trace.period_ns - offset for round_ in range(periods)])
    first = int(np.searchsorted(start, 0, side="right")) - 1
    last = int(np.searchsorted(start, round(duration_s * NS_PER_S)))
    rows = np.tile(np.arange(len(times)), periods)[first : max(last, first + 1)]
    start = start[first : first + len(rows)].copy()
    start[0] = 0
    rate = trace.uplink_bps.astype(np.int64)
    if link.rate_mbps is not None:
        rate = np.full(len(times), round(link.rate_mbps * 1e6))
    # A packet survives both of two independent losses.
    loss = 1 - (1 - trace.loss) * (1 - link.loss)
    connected = trace.connected.astype(bool)
    columns = [trace.delay_ns.astype(np.int64)[rows], rate[rows], loss[rows], connected[rows]]
    # Rows that repeat the one before tell nothing new.
    new = np.ones(len(rows), dtype=bool)
    new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return Schedule(start[new], *(column[new] for column in columns))
