"""Stated numbers and bounds, and the regions of values that agree with them."""

from __future__ import annotations

from pydantic import model_validator

from leogym.common.strict import NonNegative, Strict
from studies.papers.claim import Finite
from studies.papers.region import Region


class Number(Strict):
    """A stated number and its tolerance."""

    value: Finite
    tolerance: NonNegative
    """The text's rounding; more if the text says "about" or the number is read off a figure."""
    about: bool = False
    """Whether the text is vague, and the tolerance our choice."""

    def region(self, margin: float) -> Region:
        """Return the band around the number; ``margin`` is the minimum relative half-width."""
        half = max(self.tolerance, margin * abs(self.value))
        return Region(self.value - half, self.value + half)


class Bounds(Strict):
    """A stated lower bound, upper bound or both."""

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
        """Return the region between the bounds."""
        low = float("-inf") if self.at_least is None else self.at_least
        high = float("inf") if self.at_most is None else self.at_most
        return Region(low, high)

    def told(self) -> str:
        """Return the bounds in words."""
        ends = (("at least", self.at_least), ("at most", self.at_most))
        return ", ".join(f"{word} {end:,.10g}" for word, end in ends if end is not None)
