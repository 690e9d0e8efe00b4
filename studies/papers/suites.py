"""The suites that papers' claims need, and the schemes that all of them run."""

from collections.abc import Sequence
from functools import cache

from leogym.configs import suite as suites
from leogym.configs.suite import Suite
from studies.papers import paper
from studies.papers.claim import AUTHORS
from studies.papers.measures import reads_series

TWELVE = (
    "cubic",
    "satcp",
    "bbr3",
    "vivace",
    "clone",
    "astraea",
    "bbr",
    "leocc",
    "leotcp",
    "copa",
    "orca",
    "aurora",
)
"""The schemes that all suites of papers run in addition to their own."""


def of_claims() -> list[str]:
    """Return the names of the shipped suites that papers' claims need."""
    claims = (claim for name in paper.shipped() for claim in paper.load(name).judged)
    claimed = {suite for claim in claims for suite in claim.suites}
    return [name for name in suites.shipped() if name in claimed]


def with_common_schemes(chosen: Sequence[Suite]) -> list[Suite]:
    """Return the suites; those of claims run `TWELVE` in addition to their own schemes."""
    claimed = set(of_claims())
    return [
        suite.model_copy(update={"schemes": list(dict.fromkeys([*TWELVE, *suite.schemes]))})
        if suite.name in claimed
        else suite
        for suite in chosen
    ]


def reads_over_time(suite: str, schemes: str) -> bool:
    """Return whether a claim reads the time series of a suite's runs; ``schemes`` are joined by ``+``."""
    # NAME-authors replaces NAME in claims.
    names = [name.removesuffix(AUTHORS) for name in schemes.split("+")]
    return any((suite, name) in _read_over_time() for name in names)


@cache
def _read_over_time() -> set[tuple[str, str]]:
    pairs = set()
    for name in paper.shipped():
        for claim in paper.load(name).judged:
            for part in claim.parts:
                if reads_series(part.metric or claim.metric, part.window_s or claim.window_s):
                    schemes = [part.scheme] if part.scheme else claim.under_test
                    pairs |= {(part.suite or claim.suite, scheme) for scheme in schemes}
    return pairs
