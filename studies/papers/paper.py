"""A paper and its claims, read from ``claims/``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator

from leogym.common import yaml_text
from leogym.common.errors import InputError, one_line
from leogym.common.strict import NonNegative, Strict
from studies.papers.claim import Name
from studies.papers.kinds import AnyClaim, Ordering, Ratio

FOLDER = Path(__file__).parent / "claims"
ELSEWHERE = "@"
"""Sign in the id of a claim that is judged on another suite than its own."""


class Paper(Strict):
    """A paper's claims."""

    name: str
    title: str
    authors: str
    venue: str
    margin: NonNegative
    """Minimum tolerance of numbers from the paper's testbed, relative to their effect (`region.around`)."""
    also_on: dict[Name, Name] = Field(default={})
    """Suites with the setup of a claim's suite on another path, by the claim's suite."""
    claims: Annotated[list[AnyClaim], Field(min_length=1)]

    @property
    def judged(self) -> list[AnyClaim]:
        """The claims, and those of `also_on` once more on the other suite (`on_other_suite`)."""
        moved = [
            on_other_suite(claim, self.also_on) for claim in self.claims if claim.suites & self.also_on.keys()
        ]
        return [*self.claims, *moved]

    @model_validator(mode="after")
    def _distinct(self) -> Paper:
        ids: set[str] = set()
        for claim in self.claims:
            if claim.id in ids:
                raise ValueError(f"claims: {claim.id}: is a duplicate id")
            ids.add(claim.id)
            if not isinstance(claim, Ordering):
                try:
                    claim.region(self.margin)
                except ValueError as error:
                    raise ValueError(f"claims: {claim.id}: {error}") from None
        return self


def is_own(claim: str) -> bool:
    """Return whether a claim's id is that of the paper's own claim, which counts include."""
    return ELSEWHERE not in claim


def on_other_suite(claim: AnyClaim, others: Mapping[str, str]) -> AnyClaim:
    """Return a claim as it is judged on the other suites: ``ID@SUITE``, which no count includes.

    It is neither a headline nor a measurement of the paper, and has no reason to differ.
    """
    other = others.get(claim.suite) or next(others[name] for name in claim.suites if name in others)
    changes: dict[str, Any] = {
        "id": f"{claim.id}{ELSEWHERE}{other}",
        "suite": others.get(claim.suite, claim.suite),
        "headline": False,
        "reason": None,
    }
    if isinstance(claim, Ratio):
        changes |= {
            side: part.model_copy(update={"suite": others.get(part.suite, part.suite)})
            for side, part in (("of", claim.of), ("to", claim.to))
            if part.suite
        }
    return claim.model_copy(update=changes)


def shipped() -> list[str]:
    """Return the names of the papers."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def parse(data: Any, source: str) -> Paper:
    """Return the paper in ``data``; an `InputError` names ``source``, field and rule."""
    try:
        return Paper.model_validate(data)
    except ValidationError as error:
        raise InputError(one_line(source, error)) from None


@cache
def load(name: str) -> Paper:
    """Return a shipped paper."""
    return parse(yaml_text.read(FOLDER / f"{name}.yaml"), f"studies/papers/claims/{name}.yaml")
