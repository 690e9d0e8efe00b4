"""Regions in which a value must lie for a claim to hold, and outcomes for intervals."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from leogym.results.intervals import Interval

Outcome = Literal["agrees", "differs", "undecided", "not run"]
OUTCOMES: tuple[Outcome, ...] = ("agrees", "differs", "undecided", "not run")


CHANCE = 0.05
"""Share of a claim's comparisons that may differ by chance."""
DECIDED = 0.8
"""Share of a claim's comparisons that must agree for the claim to agree."""
FACTOR = 2.0
"""A number whose effect is this many times the paper's or more, or less, differs however near it is."""


@dataclass(frozen=True)
class Region:
    """All numbers from ``low`` to ``high``."""

    low: float
    high: float
    no_effect: float | None = None
    """The value without the claimed effect: an interval that contains it cannot agree. None: no such value,
    or a claim of little or no effect."""
    near: tuple[float, float] | None = None
    """A wider region: an interval outside ``low`` to ``high`` that touches it is undecided."""

    def outcome(self, interval: Interval) -> Outcome:
        """Return whether an interval lies inside or outside; ``undecided`` if neither, as for one run."""
        if math.isnan(interval.low):
            return "undecided"
        low, high = self.near or (self.low, self.high)
        if interval.high < low or high < interval.low:
            return "differs"
        if interval.high <= self.low == self.no_effect or self.no_effect == self.high <= interval.low:
            return "differs"
        inside = self.low <= interval.low and interval.high <= self.high
        shows_effect = self.no_effect is None or not interval.low <= self.no_effect <= interval.high
        return "agrees" if inside and shows_effect else "undecided"

    def reaches(self, value: float) -> bool:
        """Return whether a value lies inside, not on an edge."""
        return self.low < value < self.high


def around(value: float, tolerance: float, margin: float, no_effect: float | None) -> Region:
    """Return a number's region. Its effect is its distance from 0 or ``no_effect``, whichever is nearer.

    The region reaches as far as ``tolerance`` or ``margin`` times the effect. A number off by at most
    ``margin`` times the paper's is near if its effect is less than `FACTOR` times as large or small.
    """
    effect = abs(value) if no_effect is None else min(abs(value), abs(value - no_effect))
    half = max(tolerance, margin * effect)
    low, high = value - half, value + half
    if no_effect is None or no_effect == value:
        return Region(low, high, no_effect)
    level = max(tolerance, margin * abs(value))
    ends = sorted(no_effect + (value - no_effect) * factor for factor in (1 / FACTOR, FACTOR))
    near = min(low, max(value - level, ends[0])), max(high, min(value + level, ends[1]))
    return Region(low, high, no_effect, near)


def above(difference: Interval, equal: float) -> Outcome:
    """Return the outcome for a claim that a difference is above 0.

    ``differs`` if its interval lies below 0 or within ``equal`` of 0; ``undecided`` if it otherwise spans 0.
    """
    if math.isnan(difference.low):
        return "undecided"
    if difference.low > 0:
        return "agrees"
    none = -equal < difference.low and difference.high < equal
    return "differs" if none or difference.high < 0 else "undecided"


def together(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome of a claim that must hold in all comparisons.

    It differs if any comparison does, apart from the one in twenty that 95 % intervals miss by chance. One in
    five may be undecided.
    """
    listed = list(outcomes)
    if listed.count("differs") > CHANCE * len(listed):
        return "differs"
    return "agrees" if listed.count("agrees") >= DECIDED * len(listed) else "undecided"
