"""The power ranking: each scheme's power relative to the best one's, over all suites."""

import math
from dataclasses import dataclass, replace
from statistics import mean

import polars as pl

from leogym.configs.suite import Suite
from leogym.evaluation.recorded import warnings
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.report.tables import of_metric
from leogym.results.intervals import Interval, interval, seed_of
from leogym.results.metrics import ORACLE

METRIC = "power"
LEAST_SUITES = 3
"""Suites that a ranking needs: fewer say who is best there, not who is better."""
SCHEMA = {
    "rank": pl.Int64,
    "scheme": pl.String,
    "relative_power": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "suites": pl.Int64,
    "suites_of_all": pl.Int64,
    "quick": pl.Boolean,
}


@dataclass(frozen=True)
class Place:
    """A scheme's place in the ranking."""

    scheme: str
    rank: int | None
    """From 1; None for a scheme that did not run in all of the ranking's suites."""
    power: Interval
    """Relative power, 0 to 1: mean over suites and its 95 % interval."""
    suites: dict[str, float]
    of_suites: int


def ranking(results: Results) -> list[Place]:
    """Return the schemes by decreasing relative power, ranked ones first.

    Relative power in a scenario is a scheme's power over that of the best scheme that is not starved. A
    suite's is the mean over scenarios, and the overall one the mean over suites. Only schemes that ran in all
    suites have a rank, and none has with fewer suites than `LEAST_SUITES`. Suites whose flows name their
    schemes, or with a single scheme, do not count, nor does the oracle.
    """
    by_suite = {suite.name: of_suite(results, suite) for suite in results.suites if suite.tests_schemes}
    by_suite = {name: shares for name, shares in by_suite.items() if len(shares) > 1}
    places = []
    for scheme in results.schemes:
        mine = {name: shares[scheme] for name, shares in by_suite.items() if scheme in shares}
        if mine:
            power = interval(list(mine.values()), seed_of("ranking", scheme))
            places.append(Place(scheme, None, power, mine, len(by_suite)))
    places.sort(key=lambda place: (len(place.suites) < place.of_suites, -place.power.mean))
    return [
        replace(place, rank=rank) if len(place.suites) == place.of_suites >= LEAST_SUITES else place
        for rank, place in enumerate(places, 1)
    ]


def of_suite(results: Results, suite: Suite) -> dict[str, float]:
    """Return each scheme's relative power in a suite, 0 to 1: the mean over scenarios."""
    shares: dict[str, list[float]] = {}
    for scenario in results.scenarios(suite.name):
        rows = of_metric(results, suite, scenario, METRIC)
        powers = {scheme: row["mean"] for scheme, row in rows.items() if scheme != ORACLE}
        out = warnings.starved_in(results, suite.name, scenario)
        best = max((power for scheme, power in powers.items() if scheme not in out), default=0.0)
        if best > 0:
            for scheme, power in powers.items():
                shares.setdefault(scheme, []).append(min(1.0, power / best))
    return {scheme: mean(scenario_shares) for scheme, scenario_shares in shares.items()}


def table(places: list[Place], quick: bool) -> pl.DataFrame:
    """Return the rows of ``ranking.csv``: one per scheme, without interval if there is only one suite."""
    rows = [
        (
            place.rank,
            place.scheme,
            place.power.mean,
            None if math.isnan(place.power.low) else place.power.low,
            None if math.isnan(place.power.high) else place.power.high,
            len(place.suites),
            place.of_suites,
            quick,
        )
        for place in places
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")
