"""What every statement of a paper about results has: its place, its sentence and the runs that bear on it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from configs.strict import Strict
from configs.suite import Value as GridValue
from evaluation.papers.measures import MEASURES, WINDOWED

Finite = Annotated[float, Field(allow_inf_nan=False)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(?:[-.][a-z0-9]+)*$")]
Sentence = Annotated[str, Field(pattern=r"^\S.*\.$")]
AUTHORS = "-authors"
"""Behind a scheme's name: its authors' own weights, as a user imports them."""
Over = Literal["each", "mean", "max", "min", "deviation"]


class Span(Strict):
    """Grid values from ``at_least`` to ``at_most``, both included."""

    at_least: Finite | None = None
    at_most: Finite | None = None

    def holds(self, value: GridValue) -> bool:
        """Whether a grid's value lies in the span; a text never does."""
        if isinstance(value, str):
            return False
        low, high = self.at_least, self.at_most
        return (low is None or low <= value) and (high is None or value <= high)


def _form(choice: object) -> str:
    """Return which form a choice has, so that a typo in it is told of that form alone."""
    if isinstance(choice, dict | Span):
        return "span"
    return "values" if isinstance(choice, list) else "value"


Choice = Annotated[
    Annotated[GridValue, Tag("value")]
    | Annotated[list[GridValue], Tag("values")]
    | Annotated[Span, Tag("span")],
    Discriminator(_form),
]
Scenarios = dict[str, Choice]
"""Key of a suite's grid to the value, the values or the span of values that are meant."""


class Part(Strict):
    """One side of a ratio: what it has otherwise than the claim."""

    scheme: str | None = None
    suite: Name | None = None
    scenarios: Scenarios = Field(default={})
    """On top of the claim's."""
    metric: str | None = None
    flows: list[Annotated[int, Field(ge=0)]] | None = None
    window_s: tuple[Finite, Finite] | None = Field(default=None, strict=False)


class Claim(Strict):
    """What every kind of claim has."""

    id: Name
    where: Annotated[str, Field(min_length=1)]
    """Section, and figure, table or page, in the paper."""
    says: Sentence
    """What the paper states, in a sentence of ours."""
    suite: Name
    """The suite that reproduces it."""
    metric: str | None = None
    """Of `MEASURES`; only a claim that ``needs`` something may have none."""
    scenarios: Scenarios = Field(default={})
    """Which of the suite's scenarios are meant; all of them without."""
    over: Over = "each"
    """Whether it must hold in each scenario, or for their mean, their highest or their lowest value; or for
    how much the value deviates from run to run, of which each scenario gives one."""
    flows: list[Annotated[int, Field(ge=0)]] | None = None
    """Flows by number; without, those of the scheme."""
    window_s: tuple[Finite, Finite] | None = Field(default=None, strict=False)
    """Begin and end, in s, of the part of a run that counts; without, all of it. A window that begins before
    0 counts from the run's end: -15 to 0 are the last 15 s."""
    needs: str | None = None
    """What it was stated of that is not here: an author's own implementation, or a measure of it."""
    reason: str | None = None
    """Why ours differs, where a run has shown it."""

    @property
    def under_test(self) -> list[str]:
        """The schemes that it is about."""
        raise NotImplementedError

    @property
    def parts(self) -> list[Part]:
        """Its sides: one that has nothing otherwise, or a ratio's two."""
        return [Part()]

    @property
    def suites(self) -> set[str]:
        """The suites that must have run for a verdict."""
        return {part.suite or self.suite for part in self.parts}

    @property
    def stated(self) -> str:
        """What the paper has, for a table's cell."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _measured(self) -> Claim:
        if self.metric is None:
            if self.needs is None:
                raise ValueError("metric: is missing (only a claim that needs something may have none)")
            return self
        check_metric(self.metric, self.window_s)
        return self


def check_metric(metric: str, window_s: tuple[float, float] | None) -> None:
    """Raise a ValueError unless there is such a metric, of a part of a run where one is asked for."""
    if metric not in MEASURES:
        raise ValueError(f"metric: there is no {metric} (there are: {', '.join(MEASURES)})")
    if window_s is None:
        return
    if window_s[0] >= window_s[1]:
        raise ValueError("window_s: must end after it begins")
    if window_s[0] < 0 < window_s[1]:
        raise ValueError("window_s: one that counts from the run's end must end by 0")
    if metric not in WINDOWED:
        raise ValueError(f"window_s: {metric} is known of whole runs only (of a part: {', '.join(WINDOWED)})")
