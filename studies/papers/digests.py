"""Digests of what a claim measures: a verdict belongs to a suite as written, not to its name."""

import json
from functools import cache
from typing import Any

from leogym.common.digests import sha256_of
from leogym.configs import suite as suites
from leogym.configs.suite import Suite
from studies.papers.kinds import AnyClaim, Ordering, Ratio, Trend
from studies.papers.readings import judged_scheme

DIGITS = 12
OF_SUITE = {
    "parameters",
    "grid",
    "spread",
    "derived",
    "scenario",
    "vary_offset",
    "in_turn",
    "first_as_written",
    "fairness_last_s",
    "compare",
}
"""Fields of a suite that determine a run and what of it counts."""
OF_CLAIM = {"suite", "metric", "scenarios", "over", "centre", "flows", "window_s"}
"""Fields of all claims that determine what is measured."""


def of_suite(suite: Suite) -> str:
    """Return the digest of a suite's scenarios; schemes, repeats, texts and figures do not count."""
    return _digest(suite.model_dump(mode="json", include=OF_SUITE))


@cache
def _of_shipped(name: str) -> str:
    return of_suite(suites.load(name))


def of_claim(claim: AnyClaim) -> str:
    """Return the digest of what a claim measures in its suites; its region and its texts do not count."""
    data = claim.model_dump(mode="json", include=OF_CLAIM)
    data["schemes"] = [judged_scheme(name) for name in claim.under_test]
    if isinstance(claim, Ordering):
        data["order"] = claim.groups
    if isinstance(claim, Ratio):
        data["parts"] = [part.model_dump(mode="json") for part in claim.parts]
    if isinstance(claim, Trend):
        data["along"] = claim.along
    known = set(suites.shipped())
    data["suites"] = {name: _of_shipped(name) for name in sorted(claim.suites & known)}
    return _digest(data)


def is_shipped(suite: Suite, quick: bool) -> bool:
    """Return whether a suite that ran is the shipped one of its name, or with ``quick`` its short form."""
    if suite.name not in suites.shipped():
        return False
    shipped = suites.load(suite.name)
    return of_suite(suite) == of_suite(shipped.as_quick() if quick else shipped)


def _digest(data: Any) -> str:
    return sha256_of(json.dumps(data, sort_keys=True).encode())[:DIGITS]
