"""Base of all claims: where the paper states it, its sentence and the runs to check it with."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from leogym.common.strict import Strict
from leogym.configs.suite import Value as GridValue
from studies.papers.measures import MEASURES, WINDOWED

Finite = Annotated[float, Field(allow_inf_nan=False)]
Window = Annotated[tuple[Finite, Finite], Field(strict=False)] | Literal["counted"]
"""Begin and end, in s, of the part of a run that counts. A window that begins before 0 is relative to the
run's end: -15 to 0 are the last 15 s. ``counted``: the suite's ``fairness_last_s``."""
Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(?:[-.][a-z0-9]+)*$")]
Sentence = Annotated[str, Field(pattern=r"^\S.*\.$")]
AUTHORS = "-authors"
"""Suffix of schemes that use the authors' own weights, imported by a user."""
LEARNED = ("astraea", "sage")
"""Schemes that a policy of LeoGym cannot stand for: their claims need the authors' weights."""
Centre = Literal["mean", "median"]
Over = Literal["each", "mean", "max", "min", "deviation"]


class Span(Strict):
    """Grid values from ``at_least`` to ``at_most``, inclusive."""

    at_least: Finite | None = None
    at_most: Finite | None = None

    def holds(self, value: GridValue) -> bool:
        """Return whether a grid value lies in the span; a text never does."""
        if isinstance(value, str):
            return False
        low, high = self.at_least, self.at_most
        return (low is None or low <= value) and (high is None or value <= high)


def _form(choice: object) -> str:
    """Return a choice's form: errors then name only that form's rules."""
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
"""Selected value, values or span for keys of a suite's grid."""


class Part(Strict):
    """One side of a ratio: what differs from the claim."""

    scheme: str | None = None
    suite: Name | None = None
    scenarios: Scenarios = Field(default={})
    """In addition to the claim's."""
    metric: str | None = None
    flows: list[Annotated[int, Field(ge=0)]] | None = None
    window_s: Window | None = None


class Claim(Strict):
    """Fields of all kinds of claims."""

    id: Name
    where: Annotated[str, Field(min_length=1)]
    says: Sentence
    suite: Name
    metric: str | None = None
    """A key of `MEASURES`; optional only for claims with ``needs``."""
    scenarios: Scenarios = Field(default={})
    """Selects scenarios of the suite; default: all."""
    over: Over = "each"
    """Where it must hold: in each scenario, for their mean, highest or lowest, or deviation over runs."""
    centre: Centre = "mean"
    """The statistic over repeats, as in the paper's figure."""
    flows: list[Annotated[int, Field(ge=0)]] | None = None
    """Flow numbers; default: the scheme's flows."""
    window_s: Window | None = None
    """Default: all of a run."""
    needs: str | None = None
    """A requirement that we lack to check it, such as the authors' implementation or a measure."""
    reason: str | None = None
    """Why our results differ, where a run has shown it; "Not explained" where none has."""
    headline: bool = False
    """Whether the paper's abstract, list of contributions or findings, or conclusion says it."""

    @property
    def under_test(self) -> list[str]:
        """The schemes of the claim."""
        raise NotImplementedError

    @property
    def parts(self) -> list[Part]:
        """A ratio's two sides; for other claims one part without differences."""
        return [Part()]

    @property
    def suites(self) -> set[str]:
        """The suites that a verdict needs."""
        return {part.suite or self.suite for part in self.parts}

    @property
    def stated(self) -> str:
        """The paper's statement as a table cell."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _measured(self) -> Claim:
        if self.metric is None:
            if self.needs is None:
                raise ValueError("metric: is missing (optional only for a claim with needs)")
            return self
        check_metric(self.metric, self.window_s)
        return self


def check_metric(metric: str, window_s: Window | None) -> None:
    """Raise a ValueError unless the metric exists, and for a window can be measured in one."""
    if metric not in MEASURES:
        raise ValueError(f"metric: there is no {metric} (there are: {', '.join(MEASURES)})")
    if window_s is None:
        return
    if window_s != "counted":
        if window_s[0] >= window_s[1]:
            raise ValueError("window_s: must end after it begins")
        if window_s[0] < 0 < window_s[1]:
            raise ValueError("window_s: a window relative to the run's end must end by 0")
    if metric not in WINDOWED:
        raise ValueError(f"window_s: {metric} needs whole runs (with a window: {', '.join(WINDOWED)})")
