"""Verdicts from kept results: when a claim's region changes, or two evaluations are merged.

Kept results have intervals, not runs. So a difference or a ratio of two schemes cannot be taken repeat by
repeat. An order holds if one interval lies above the other, and a ratio's interval spans the worst cases.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import polars as pl

from leogym.common.command_line import leogym_command
from leogym.configs import suite as suites
from leogym.results.intervals import Interval
from leogym.results.metrics import METRICS
from studies.papers import digests
from studies.papers.claim import Claim, Part
from studies.papers.comparison import compare, from_kept
from studies.papers.kinds import AnyClaim, Ordering
from studies.papers.paper import Paper, load, shipped
from studies.papers.readings import (
    NotRun,
    Reading,
    chosen_by,
    extreme_of,
    judged_scheme,
    missing_scheme,
    quotient_names,
)
from studies.papers.region import Outcome, above
from studies.papers.verdicts import Verdict, of_comparisons

BACKEND = "simulator"
VALUES: dict[str, Any] = {
    **dict.fromkeys(("paper", "claim", "label"), pl.String),
    **dict.fromkeys(("mean", "ci_low", "ci_high"), pl.Float64),
}
"""Columns of ``values.csv``: the intervals of a claim that its region judges."""
UNKNOWN = Interval(math.nan, math.nan, math.nan, 0)
SummaryIntervals = Mapping[tuple[str, str, str, str], Interval]
"""Kept intervals by suite, scenario, scheme and metric."""


@dataclass(frozen=True)
class KeptReading(Reading):
    """A reading of which the interval is known, but no repeats."""

    known: Interval = UNKNOWN

    @property
    def interval(self) -> Interval:
        """The kept interval."""
        return self.known

    def above(self, lower: Reading, equal: float) -> Outcome:
        """Return whether this interval lies above another one."""
        mine, other = self.interval, lower.interval
        difference = Interval(mine.mean - other.mean, mine.low - other.high, mine.high - other.low, 0)
        return above(difference, equal * abs(other.mean))

    def over(self, lower: Reading) -> Reading:
        """Return the ratio to another reading of values above 0."""
        mine, other = self.interval, lower.interval
        if not other.low > 0:
            raise NotRun(f"nothing to divide by: {lower.scheme} may be 0 in {lower.scenario}")
        ratio = Interval(mine.mean / other.mean, mine.low / other.high, mine.high / other.low, 0)
        scheme, scenario = quotient_names(self, lower)
        return replace(self, scheme=scheme, scenario=scenario, known=ratio)


def summary_intervals(summary: pl.DataFrame) -> SummaryIntervals:
    """Return the intervals of a kept ``summary.csv``, as displayed."""
    intervals = {}
    for row in summary.filter(pl.col("metric").is_in(list(METRICS))).iter_rows(named=True):
        key = row["suite"], row["scenario"], row["scheme"], row["metric"]
        intervals[key] = _interval(row, METRICS[row["metric"]].scale)
    return intervals


def _interval(row: Mapping[str, Any], scale: float = 1.0) -> Interval:
    """Return a row's interval, without its number of repeats; that of a single run has no ends."""
    low, high = (math.nan if row[name] is None else row[name] * scale for name in ("ci_low", "ci_high"))
    return Interval(row["mean"] * scale, low, high, 0)


def judge(claim: AnyClaim, paper: Paper, intervals: SummaryIntervals) -> Verdict:
    """Return the verdict of the kept summary on a claim."""

    def read_summary(claim: Claim, part: Part, scheme: str) -> list[Reading]:
        return _read(intervals, claim, part, scheme)

    try:
        for name in sorted(claim.suites - set(suites.shipped())):
            raise NotRun(f"no run of the suite {name}")
        compared = compare(claim, paper.margin, read_summary)
    except NotRun as lack:
        return Verdict(paper, claim, "", "not run", (), str(lack))
    return of_comparisons(paper, claim, BACKEND, compared)


def _read(intervals: SummaryIntervals, claim: Claim, part: Part, scheme: str) -> list[Reading]:
    metric = part.metric or claim.metric
    if metric is None:
        raise NotRun(f"no measure of it: {claim.needs}")
    name, scheme = part.suite or claim.suite, judged_scheme(scheme)
    shipped_suites = [suites.load(name)] if name in suites.shipped() else []
    chosen = chosen_by(shipped_suites, claim, part)
    if scheme not in {key[2] for key in intervals if key[0] == name}:
        raise NotRun(missing_scheme(scheme))
    whole_runs = (part.window_s or claim.window_s) is None and (part.flows or claim.flows) is None
    if metric not in METRICS or not whole_runs or claim.over == "deviation" or claim.centre != "mean":
        raise NotRun(f"not measured in this form yet: {leogym_command('papers', name)}")
    readings: list[KeptReading] = []
    for case in chosen:
        interval = intervals.get((name, case.name, scheme, metric))
        if interval is None:
            raise NotRun(f"no {metric} of {scheme} in {name}, {case.name}")
        readings.append(KeptReading(scheme, case.name, case.place, {}, 0, "mean", interval))
    if claim.over == "mean" and len(readings) > 1:
        each = [reading.known for reading in readings]
        mean = Interval(
            fmean(interval.mean for interval in each),
            fmean(interval.low for interval in each),
            fmean(interval.high for interval in each),
            0,
        )
        return [KeptReading(scheme, f"mean of {len(readings)}", None, {}, 0, "mean", mean)]
    return list(extreme_of(readings, claim.over))


def judge_again(
    rows: pl.DataFrame, values: pl.DataFrame, summary: pl.DataFrame
) -> list[Verdict | dict[str, Any]]:
    """Return a verdict on every claim of every paper from kept results.

    A claim that measures what a kept row measured, under whatever name, is judged by that row's intervals. An
    ordering keeps its verdict: such rows come back with its name. Any other claim is judged by the summary.
    """
    ran = rows.filter(pl.col("verdict") != "not run")
    measured = {(row["paper"], row["digest"]): row for row in ran.iter_rows(named=True)}
    claim_intervals: dict[tuple[str, str], dict[str, Interval]] = {}
    for row in values.iter_rows(named=True):
        of_claim = claim_intervals.setdefault((row["paper"], row["claim"]), {})
        of_claim[row["label"]] = _interval(row)
    intervals = summary_intervals(summary)
    judged: list[Verdict | dict[str, Any]] = []
    for name in shipped():
        paper = load(name)
        for claim in paper.judged:
            row = measured.get((name, digests.of_claim(claim)))
            if row is None:
                judged.append(judge(claim, paper, intervals))
            elif isinstance(claim, Ordering):
                judged.append(row | {"claim": claim.id})
            else:
                compared = from_kept(claim, paper.margin, claim_intervals[name, row["claim"]])
                judged.append(of_comparisons(paper, claim, row["backend"], compared))
    return judged
