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


@dataclass(frozen=True)
class Region:
    """All numbers from ``low`` to ``high``."""

    low: float
    high: float
    open: bool = False

    def outcome(self, interval: Interval) -> Outcome:
        """Return whether an interval lies inside or outside; ``undecided`` if neither, as for one run."""
        if math.isnan(interval.low):
            return "undecided"
        if self.open:
            inside = self.low < interval.low and interval.high < self.high
            outside = interval.high <= self.low or self.high <= interval.low
        else:
            inside = self.low <= interval.low and interval.high <= self.high
            outside = interval.high < self.low or self.high < interval.low
        return "agrees" if inside else "differs" if outside else "undecided"


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
