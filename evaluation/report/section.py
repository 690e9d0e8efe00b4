"""A study's additions to the report of an evaluation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from leogym.evaluation.recorded.results import Results


@dataclass(frozen=True)
class Badge:
    """A number that shows how far to trust the results, and the section with details."""

    value: str
    text: str
    section: str


@dataclass(frozen=True)
class FigureName:
    """The name of a suite's figures in a publication."""

    title: str
    """Such as "Fig. 9 of SaTCP"."""
    file: str
    """What the names of the figures' files begin with."""


@dataclass(frozen=True)
class Section:
    """A section at the end of the report and parts of the suites' sections; HTML is inserted unescaped."""

    anchor: str
    title: str
    """In the page's list of contents."""
    html: str
    css: str = ""
    badge: Badge | None = None
    in_suites: Mapping[str, str] = field(default_factory=dict)
    """HTML at the end of a suite's section, by the suite's name."""
    figures: Mapping[str, FigureName] = field(default_factory=dict)
    """By the suite's name."""


MakeSection = Callable[[Results], Section | None]
"""Writes a study's files into an evaluation's folder and returns its section of the report, if any."""
