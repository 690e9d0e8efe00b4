"""A paper and its claims, read from ``claims/``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator

from leogym.common import yaml_text
from leogym.common.errors import InputError, one_line
from leogym.common.strict import NonNegative, Strict
from studies.papers.kinds import AnyClaim, Ordering

FOLDER = Path(__file__).parent / "claims"


class Paper(Strict):
    """A paper's claims."""

    name: str
    title: str
    authors: str
    venue: str
    margin: NonNegative
    """Minimum tolerance of numbers from the paper's testbed, relative to their effect (`region.around`)."""
    claims: Annotated[list[AnyClaim], Field(min_length=1)]

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
