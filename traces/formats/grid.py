"""Detect the re-selection grid in a path's data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leogym.common.units import NS_PER_S
from leogym.traces.formats.series import Series

Seconds = NDArray[np.float64]

PERIODS_S = range(2, 61)  # candidate periods
FEWEST = 5  # a grid with fewer changes on it may be chance
_MAJORITY = 0.5
_NEARLY = 0.8
"""Divisors of the period fit as well as the period, so take the longest with this part of the best share."""
_HIGHEST_SHARES = (0.002, 0.005, 0.01)
_APART_S = 1.0
MEASURED_S = 0.5  # tolerance of the start of a change on a measured path's grid


@dataclass(frozen=True)
class Grid:
    """Re-selections at ``phase_s`` after the first row, and every ``period_s`` from there."""

    period_s: float
    phase_s: float
    on: int  # number of changes on the grid
    of: int  # number of all changes

    def holds(self, time_s: Seconds, width_s: float = 0.0) -> NDArray[np.bool_]:
        """Return which times are at most ``width_s`` after the grid, with a tolerance of 1 ms."""
        return (time_s - self.phase_s + 1e-3) % self.period_s <= width_s + 2e-3


def phase(time_s: Seconds, period_s: float, width_s: float) -> Grid:
    """Return the grid with the most common phase of the times (at least one), up to ``width_s`` after it."""
    # Rounding to a microsecond makes multiples of a period equal again.
    residue = np.sort(np.round(time_s % period_s, 6) % period_s)
    around = np.concatenate([residue, residue + period_s])
    counts = np.searchsorted(around, residue + width_s + 1e-6, side="right") - np.arange(len(residue))
    best = int(np.argmax(counts))
    return Grid(period_s, float(residue[best]), int(counts[best]), len(residue))


def find(time_s: Seconds, width_s: float, resolution_s: float) -> Grid | None:
    """Return the grid that most times lie on, up to ``width_s`` after it and more than by chance, or None."""
    if len(time_s) < FEWEST:
        return None
    grids = [phase(time_s, float(period_s), width_s) for period_s in PERIODS_S]
    shares = {grid.period_s: grid.on / grid.of for grid in grids if grid.on >= FEWEST}
    period_s = _longest(shares, max(width_s, resolution_s))
    return next((grid for grid in grids if grid.period_s == period_s), None)


def find_exact(ends: Sequence[Seconds], resolution_s: float) -> tuple[float | None, Grid | None]:
    """Return the period of the path's ends, and the grid that most of their changes lie on.

    The period is the longest that divides most intervals between an end's changes. The grid is None if the
    ends restart their periods so often that no phase has a majority of the changes. Each end has its
    times, (n,), exact to ``resolution_s``.
    """
    apart_s = np.concatenate([np.round(np.diff(end) / resolution_s) * resolution_s for end in ends])
    if len(apart_s) < FEWEST:
        return None, None
    shares = {float(period_s): float(np.mean(apart_s % period_s == 0)) for period_s in PERIODS_S}
    period_s = _longest(shares, resolution_s)
    if period_s is None:
        return None, None
    grid = phase(np.unique(np.concatenate(ends)), period_s, 0.0)
    return period_s, grid if grid.on > _MAJORITY * grid.of else None


def _longest(shares: Mapping[float, float], slack_s: float) -> float | None:
    """Return the longest period whose share, corrected for chance, is close to the best one."""
    beyond = {
        period_s: (share - slack_s / period_s) / (1 - slack_s / period_s)
        for period_s, share in shares.items()
        if period_s > slack_s
    }
    best = max(beyond.values(), default=0.0)
    if best < _MAJORITY:
        return None
    return max(period_s for period_s, share in beyond.items() if share >= _NEARLY * best)


def find_measured(series: Series, resolution_s: float) -> Grid | None:
    """Return the grid of a measured path's outages, or else of its highest delays, or None.

    LeoCC's own search takes the highest hundred of 12,000 delays.
    """
    begin_s = series.time_ns / NS_PER_S
    lost = ~series.usable & np.concatenate([[True], series.usable[:-1]])
    kinds = [lost, *(_highest(series, share) for share in _HIGHEST_SHARES)]
    detected = (find(_beginnings(begin_s[kind]), MEASURED_S, resolution_s) for kind in kinds)
    return next((grid for grid in detected if grid), None)


def _highest(series: Series, share: float) -> NDArray[np.bool_]:
    """Return the rows with the highest delays, which last for this share of the period."""
    rtt_ns = series.rtt_ns
    order = np.argsort(rtt_ns, kind="stable")[::-1]
    held_ns = np.cumsum((series.end_ns - series.time_ns)[order])
    least_ns = rtt_ns[order[int(np.searchsorted(held_ns, share * series.period_ns))]]
    return (rtt_ns >= least_ns) & (rtt_ns > np.median(rtt_ns)) & series.usable


def _beginnings(time_s: Seconds) -> Seconds:
    """Return the first time of each run of times less than `_APART_S` apart."""
    return time_s[np.concatenate([[True], np.diff(time_s) >= _APART_S])] if len(time_s) else time_s
