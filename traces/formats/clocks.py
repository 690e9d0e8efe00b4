"""Check the clocks of measurements: steps of a clock, and two clocks that differ.

Sequence numbers count probes that a tool sends at even intervals. So a clock that goes on by much more or
less than the numbers between two probes was set, or the tool was stopped: either way nothing was sent in
between.

The two clocks of one-way delays differ by a constant, which no measurement tells. `aligned` moves it so that
both ways have the same least delay.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leogym.common.units import NS_PER_MS, NS_PER_S
from leogym.traces.formats.tally import times

Ints, Floats, Flags = NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]

_LEAST_STEP_NS = NS_PER_S
_STEP_INTERVALS = 1.5
_STEP_JITTERS = 20
"""A step is more than this many times the usual deviation from even intervals, and than the two above."""


@dataclass(frozen=True)
class Steps:
    """Steps of the clock that stamped probes in the order of their numbers."""

    time_ns: Ints
    """The probes' times without the steps."""
    before: Ints
    """Indices of the probes after which the clock steps."""
    by_ns: Ints
    """How far it steps, below 0 backwards."""
    interval_ns: float
    """Time between two probes whose numbers are neighbours, 0 if it is unknown."""

    def remark(self, sequence: Ints, name: str) -> str:
        """Return a line about the steps; ``name`` is that of the sequence numbers."""
        first = int(self.before[0])
        count = len(self.before)
        often = "steps" if count == 1 else f"steps {times(count)}, first"
        return (
            f"the clock {often} by {self.by_ns[0] / NS_PER_S:+,.3f} s between {name} {sequence[first]} and "
            f"{sequence[first + 1]}: left out, the time follows {name}"
        )


def interval(sequence: Ints, time_ns: Ints) -> float:
    """Return the usual time between neighbours in ns, 0 if it is unknown; numbers strictly increase."""
    apart = np.diff(time_ns) / np.diff(sequence)
    # Half of the intervals, rounded down, may have a step forwards.
    usual = np.sort(apart[apart > 0])
    return float(usual[(len(usual) - 1) // 2]) if len(usual) else 0.0


def without_steps(sequence: Ints, time_ns: Ints) -> Steps:
    """Remove the steps of a clock from the times of probes with strictly increasing numbers."""
    none = np.zeros(0, dtype=np.int64)
    if len(sequence) < 3:
        # Two probes tell their interval, and nothing to compare it with.
        return Steps(time_ns, none, none, interval(sequence, time_ns))
    every_ns = interval(sequence, time_ns)
    off_ns = np.diff(time_ns) - every_ns * np.diff(sequence)
    usual_ns = float(np.sort(np.abs(off_ns))[(len(off_ns) - 1) // 2])
    least_ns = max(_LEAST_STEP_NS, _STEP_INTERVALS * every_ns, _STEP_JITTERS * usual_ns)
    before = np.flatnonzero(np.abs(off_ns) > least_ns)
    by_ns = np.round(off_ns[before]).astype(np.int64)
    moved_ns = np.zeros(len(time_ns), dtype=np.int64)
    moved_ns[before + 1] = by_ns
    return Steps(time_ns - np.cumsum(moved_ns), before, by_ns, every_ns)


@dataclass(frozen=True)
class Aligned:
    """One-way delays by clocks that agree, in ns, and how often the difference of the clocks changes."""

    up_ns: Floats
    down_ns: Floats
    steps: int
    drifting: bool
    """Whether the clocks drift apart by more than the least round trip: the delays are useless."""


def aligned(up_ns: Floats, down_ns: Floats) -> Aligned:
    """Move the difference of two clocks so that both ways have the same least delay.

    A difference that changes between two probes by more than their round trips allow is a step of a clock.
    The probes before and after it are moved on their own. Both arrays are in the order of sending, NaN if
    unknown.
    """
    both = np.flatnonzero(np.isfinite(up_ns) & np.isfinite(down_ns))
    if not len(both):
        return Aligned(up_ns, down_ns, 0, False)
    trip_ns = up_ns[both] + down_ns[both]
    # Whatever the two delays are, none is below 0: half their difference is within half the round trip.
    ahead_ns = (up_ns[both] - down_ns[both]) / 2
    allowed_ns = np.abs(trip_ns[1:]) / 2 + np.abs(trip_ns[:-1]) / 2 + NS_PER_MS
    steps = np.flatnonzero(np.abs(np.diff(ahead_ns)) > allowed_ns) + 1
    drifting = False
    moved_ns = np.empty(len(both))
    for part in np.split(np.arange(len(both)), steps):
        least_up_ns, least_down_ns = up_ns[both[part]].min(), down_ns[both[part]].min()
        moved_ns[part] = (least_up_ns - least_down_ns) / 2
        drifting |= bool(least_up_ns + least_down_ns <= 0)
    # A probe that came through one way alone has the clocks of the pair before it.
    of_pair = (np.searchsorted(both, np.arange(len(up_ns)), side="right") - 1).clip(0)
    return Aligned(up_ns - moved_ns[of_pair], down_ns + moved_ns[of_pair], len(steps), drifting)
