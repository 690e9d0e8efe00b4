"""The kinds of claims: value, bound, ordering, ratio and trend."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from leogym.common.strict import NonNegative, Strict
from studies.papers.claim import Claim, Finite, Part, check_metric
from studies.papers.measures import MEASURES
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


class ByScheme(Claim):
    """A claim about each of several schemes."""

    schemes: Annotated[list[str], Field(min_length=1)]

    @property
    def under_test(self) -> list[str]:
        """The schemes of the claim."""
        return self.schemes


class Value(ByScheme):
    """A number for each scheme, in the metric's unit in the report."""

    kind: Literal["value"]
    value: Finite
    tolerance: NonNegative
    about: bool = False
    unit: str = ""

    @model_validator(mode="after")
    def _unit(self) -> Value:
        _check_unit(self.metric, self.unit)
        return self

    @property
    def number(self) -> Number:
        """The number and its tolerance."""
        return Number(value=self.value, tolerance=self.tolerance, about=self.about)

    @property
    def stated(self) -> str:
        """The number and its unit, marked if the text is vague."""
        return (
            ("about " if self.about else "") + f"{self.value:,.10g}" + (f" {self.unit}" if self.unit else "")
        )


class Bound(ByScheme):
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

    @property
    def bounds(self) -> Bounds:
        """The bounds."""
        return Bounds(at_least=self.at_least, at_most=self.at_most)

    @property
    def stated(self) -> str:
        """The bounds and their unit."""
        return f"{self.bounds.told()} {self.unit}".rstrip()


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
        """Return the region in which the ratio must lie; ``margin`` as for `Number`."""
        if self.value is not None and self.tolerance is not None:
            return Number(value=self.value, tolerance=self.tolerance).region(margin)
        return Bounds(at_least=self.at_least, at_most=self.at_most).region()

    @property
    def stated(self) -> str:
        """The number or the bounds."""
        if self.value is not None:
            return f"{'about ' if self.about else ''}{self.value:,.10g} ×"
        return Bounds(at_least=self.at_least, at_most=self.at_most).told() + " ×"


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

    def region(self) -> Region:
        """Return the region in which the change must lie."""
        if self.direction == "flat":
            return Region(-self.by, self.by)
        if self.direction == "rises":
            return Region(self.by, float("inf"), open=True)
        return Region(float("-inf"), -self.by, open=True)

    @property
    def stated(self) -> str:
        """The direction and the key."""
        by = f" by at {'most' if self.direction == 'flat' else 'least'} {self.by:g}" if self.by else ""
        return f"{self.direction}{by} along {self.along}"


def _check_unit(metric: str | None, unit: str) -> None:
    if metric is not None and unit != MEASURES[metric].unit:
        raise ValueError(f"unit: of {metric} is {MEASURES[metric].unit!r}")


AnyClaim = Annotated[Value | Bound | Ordering | Ratio | Trend, Field(discriminator="kind")]
