"""Stated numbers and ends of ranges, and which of our values agree with them."""

from __future__ import annotations

from pydantic import model_validator

from configs.strict import NonNegative, Strict
from evaluation.papers.claim import Finite
from evaluation.papers.region import Region


class Number(Strict):
    """A stated number and how far from it still counts as the same."""

    value: Finite
    tolerance: NonNegative
    """What the text's rounding allows; more where the text says "about" or a figure is read."""
    about: bool = False
    """Whether the text itself is vague, so that the tolerance is ours."""

    def region(self, margin: float) -> Region:
        """Return the band around the number; ``margin`` is the least half-width, as a share of the number."""
        half = max(self.tolerance, margin * abs(self.value))
        return Region(self.value - half, self.value + half)


class Bounds(Strict):
    """A stated lower or upper end, or both."""

    at_least: Finite | None = None
    at_most: Finite | None = None

    @model_validator(mode="after")
    def _some(self) -> Bounds:
        if self.at_least is None and self.at_most is None:
            raise ValueError("give at_least, at_most or both")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError("at_least: is above at_most")
        return self

    def region(self) -> Region:
        """Return all numbers between the ends."""
        low = float("-inf") if self.at_least is None else self.at_least
        high = float("inf") if self.at_most is None else self.at_most
        return Region(low, high)

    def told(self) -> str:
        """Return the ends in words."""
        ends = (("at least", self.at_least), ("at most", self.at_most))
        return ", ".join(f"{word} {end:,.10g}" for word, end in ends if end is not None)
