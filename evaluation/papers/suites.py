"""``evaluate.py papers``: all suites that papers' claims need, with common schemes."""

from collections.abc import Sequence
from functools import cache

from leogym.configs import suite as suites
from leogym.configs.suite import Suite
from leogym.evaluation.papers import paper
from leogym.evaluation.papers.claim import AUTHORS
from leogym.evaluation.papers.measures import reads_series

ALIAS = "papers"
TWELVE = (
    "cubic",
    "satcp",
    "bbr3",
    "vivace",
    "sage",
    "astraea",
    "bbr",
    "leocc",
    "leotcp",
    "copa",
    "orca",
    "aurora",
)
"""The schemes that all suites of papers run in addition to their own."""


def stand_behind() -> list[str]:
    """Return the names of the shipped suites that papers' claims need."""
    claims = (claim for name in paper.shipped() for claim in paper.load(name).claims)
    claimed = {suite for claim in claims for suite in claim.suites}
    return [name for name in suites.shipped() if name in claimed]


def names(given: Sequence[str]) -> list[str]:
    """Return the suites' names with `ALIAS` expanded, without duplicates from it."""
    if ALIAS not in given:
        return list(given)
    at = list(given).index(ALIAS)
    others = [name for name in given if name != ALIAS]
    spelled = [name for name in stand_behind() if name not in others]
    return [*others[:at], *spelled, *others[at:]]


def with_twelve(chosen: Sequence[Suite]) -> list[Suite]:
    """Return the suites; those of papers run `TWELVE` in addition to their own schemes."""
    ours = set(stand_behind())
    return [
        one.model_copy(update={"schemes": list(dict.fromkeys([*TWELVE, *one.schemes]))})
        if one.name in ours
        else one
        for one in chosen
    ]


def reads_over_time(suite: str, schemes: str) -> bool:
    """Return whether a claim reads the time series of a suite's runs; ``schemes`` are joined by ``+``."""
    # NAME-authors replaces NAME in claims.
    names = [name.removesuffix(AUTHORS) for name in schemes.split("+")]
    return any((suite, name) in _read_over_time() for name in names)


@cache
def _read_over_time() -> set[tuple[str, str]]:
    found = set()
    for name in paper.shipped():
        for claim in paper.load(name).claims:
            for part in claim.parts:
                if reads_series(part.metric or claim.metric, part.window_s or claim.window_s):
                    schemes = [part.scheme] if part.scheme else claim.under_test
                    found |= {(part.suite or claim.suite, scheme) for scheme in schemes}
    return found
