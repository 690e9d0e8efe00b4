"""The kinds of claims: value, bound, ordering, ratio and trend."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from leogym.common.strict import NonNegative, Strict
from studies.papers.claim import Claim, Finite, Part, check_metric
from studies.papers.measures import MEASURES
from studies.papers.region import Region, around


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

    def region(self, no_effect: float | None) -> Region:
        """Return the region between the bounds."""
        low = float("-inf") if self.at_least is None else self.at_least
        high = float("inf") if self.at_most is None else self.at_most
        return Region(low, high, no_effect)

    def in_words(self) -> str:
        """Return the bounds in words."""
        ends = (("at least", self.at_least), ("at most", self.at_most))
        return ", ".join(f"{word} {end:,.10g}" for word, end in ends if end is not None)


class ByScheme(Claim):
    """A claim about each of several schemes."""

    schemes: Annotated[list[str], Field(min_length=1)]

    @property
    def under_test(self) -> list[str]:
        """The schemes of the claim."""
        return self.schemes


NO_EFFECT = {
    "normalized_goodput": 1.0,
    "utilization": 1.0,
    "goodput_ratio": 1.0,
    "jain": 1.0,
    "delay_inflation": 1.0,
    "full_share": 100.0,
}
"""Displayed values of metrics where nothing limits goodput, no queue adds delay and flows share evenly."""


class Level(ByScheme):
    """A claim about a metric's own value for each scheme."""

    no_effect: Finite | None = None
    """The value without the effect, as displayed; default: `NO_EFFECT`'s."""
    little: bool = False
    """Whether the paper says that there is little or no effect, so that the region reaches ``no_effect``."""

    @property
    def reference(self) -> float | None:
        """The value without the effect; None if the metric has none."""
        return NO_EFFECT.get(self.metric or "") if self.no_effect is None else self.no_effect

    def checked(self, region: Region) -> Region:
        """Return a claim's region; raise a ValueError if it reaches "no effect" without ``little``."""
        reference = self.reference
        return region if reference is None else _checked(region, reference, self.little)


class Value(Level):
    """A number for each scheme, in the metric's unit in the report."""

    kind: Literal["value"]
    value: Finite
    tolerance: NonNegative
    """The text's rounding; more if the text says "about" or the number is read off a figure."""
    about: bool = False
    """Whether the text is vague, and the tolerance our choice."""
    unit: str = ""

    @model_validator(mode="after")
    def _unit(self) -> Value:
        _check_unit(self.metric, self.unit)
        return self

    def region(self, margin: float) -> Region:
        """Return the region in which the value must lie; ``margin`` is the paper's."""
        return self.checked(around(self.value, self.tolerance, margin, self.reference))

    @property
    def stated(self) -> str:
        """The number and its unit, marked if the text is vague."""
        return (
            ("about " if self.about else "") + f"{self.value:,.10g}" + (f" {self.unit}" if self.unit else "")
        )


class Bound(Level):
    """A lower or upper bound for each scheme, in the metric's unit in the report."""

    kind: Literal["bound"]
    at_least: Finite | None = None
    at_most: Finite | None = None
    unit: str = ""

    @model_validator(mode="after")
    def _unit(self) -> Bound:
        _ = self.bounds
        _check_unit(self.metric, self.unit)
        return self

    def region(self, _margin: float) -> Region:
        """Return the region between the bounds."""
        return self.checked(self.bounds.region(self.reference))

    @property
    def bounds(self) -> Bounds:
        """The bounds."""
        return Bounds(at_least=self.at_least, at_most=self.at_most)

    @property
    def stated(self) -> str:
        """The bounds and their unit."""
        return f"{self.bounds.in_words()} {self.unit}".rstrip()


class Ordering(Claim):
    """Schemes from the highest value down; an inner list's schemes have no order among themselves."""

    kind: Literal["ordering"]
    order: Annotated[list[str | list[str]], Field(min_length=2)]

    @property
    def groups(self) -> list[list[str]]:
        """The order, with a list for each place."""
        return [[place] if isinstance(place, str) else place for place in self.order]

    @property
    def under_test(self) -> list[str]:
        """The schemes of the claim."""
        return [name for group in self.groups for name in group]

    @property
    def stated(self) -> str:
        """The order with signs between schemes."""
        return " > ".join(", ".join(group) for group in self.groups)


class Ratio(Claim):
    """One part's value over another's; a part without a scheme stands for each of ``schemes``."""

    kind: Literal["ratio"]
    schemes: list[str] = Field(default=[])
    of: Part
    to: Part
    value: Finite | None = None
    tolerance: NonNegative | None = None
    about: bool = False
    at_least: Finite | None = None
    at_most: Finite | None = None
    no_effect: Finite = 1.0
    """The ratio without the effect."""
    little: bool = False
    """Whether the paper says that there is little or no effect, so that the region reaches ``no_effect``."""

    @model_validator(mode="after")
    def _complete(self) -> Ratio:
        if self.of == self.to:
            raise ValueError("of: must differ from to")
        named = [part.scheme for part in (self.of, self.to) if part.scheme is not None]
        if (len(named) == 2) == bool(self.schemes):
            raise ValueError("schemes: name them here, or one in of and one in to")
        if self.value is not None:
            if self.tolerance is None or self.at_least is not None or self.at_most is not None:
                raise ValueError("value: goes with tolerance, and without at_least and at_most")
        else:
            _ = Bounds(at_least=self.at_least, at_most=self.at_most)
        for part in (self.of, self.to):
            if part.metric is not None or part.window_s is not None:
                check_metric(part.metric or self.metric or "", part.window_s or self.window_s)
        return self

    @property
    def under_test(self) -> list[str]:
        """The schemes of the claim."""
        named = [part.scheme for part in (self.of, self.to) if part.scheme is not None]
        return list(dict.fromkeys([*self.schemes, *named]))

    @property
    def parts(self) -> list[Part]:
        """Numerator and denominator."""
        return [self.of, self.to]

    def region(self, margin: float) -> Region:
        """Return the region in which the ratio must lie; ``margin`` is the paper's."""
        if self.value is not None and self.tolerance is not None:
            region = around(self.value, self.tolerance, margin, self.no_effect)
        else:
            bounds = Bounds(at_least=self.at_least, at_most=self.at_most)
            region = bounds.region(self.no_effect)
        return _checked(region, self.no_effect, self.little, both_ends=True)

    @property
    def stated(self) -> str:
        """The number or the bounds."""
        if self.value is not None:
            return f"{'about ' if self.about else ''}{self.value:,.10g} ×"
        return Bounds(at_least=self.at_least, at_most=self.at_most).in_words() + " ×"


class Trend(ByScheme):
    """The metric's direction along a key of the grid, from a least-squares line through its values."""

    kind: Literal["trend"]
    along: str
    direction: Literal["rises", "falls", "flat"]
    by: NonNegative = 0.0
    """Minimum change from the lowest to the highest ``along``; for ``flat``, the maximum."""

    @model_validator(mode="after")
    def _possible(self) -> Trend:
        if self.direction == "flat" and self.by == 0.0:
            raise ValueError("by: flat needs the maximum change")
        if self.over not in ("each", "mean"):
            raise ValueError("over: must be each or mean for a trend")
        return self

    def region(self, _margin: float) -> Region:
        """Return the region in which the change must lie."""
        if self.direction == "flat":
            return Region(-self.by, self.by)
        if self.direction == "rises":
            return Region(self.by, float("inf"), 0.0)
        return Region(float("-inf"), -self.by, 0.0)

    @property
    def stated(self) -> str:
        """The direction and the key."""
        by = f" by at {'most' if self.direction == 'flat' else 'least'} {self.by:g}" if self.by else ""
        return f"{self.direction}{by} along {self.along}"


def _checked(region: Region, no_effect: float, little: bool, *, both_ends: bool = False) -> Region:
    """Return a region that shows an effect, or with ``little`` one around "no effect"; else a ValueError."""
    if not little:
        if region.reaches(no_effect):
            raise ValueError(f"reaches {no_effect:g}, no effect, but has no little: true")
        return region
    if not region.low <= no_effect <= region.high:
        raise ValueError(f"little: does not reach {no_effect:g}")
    if both_ends and math.isinf(region.high - region.low):
        raise ValueError("little: needs at_least and at_most")
    return Region(region.low, region.high)  # one that may contain "no effect"


def _check_unit(metric: str | None, unit: str) -> None:
    if metric is not None and unit != MEASURES[metric].unit:
        raise ValueError(f"unit: of {metric} is {MEASURES[metric].unit!r}")


AnyClaim = Annotated[Value | Bound | Ordering | Ratio | Trend, Field(discriminator="kind")]
