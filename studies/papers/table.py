"""Verdicts by paper: rows of ``claims.csv`` and of the report's section."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from studies.papers.digests import of_claim
from studies.papers.independent import independent
from studies.papers.kinds import Ordering
from studies.papers.paper import ELSEWHERE, Paper, is_own
from studies.papers.region import OUTCOMES
from studies.papers.verdicts import Verdict

SCHEMA: dict[str, Any] = {
    **dict.fromkeys(
        ("paper", "claim", "where", "says", "kind", "suite", "metric", "schemes", "backend"), pl.String
    ),
    "stated": pl.String,
    **dict.fromkeys(("agrees_from", "agrees_to"), pl.Float64),
    "ours": pl.String,
    **dict.fromkeys(("mean", "ci_low", "ci_high"), pl.Float64),
    **dict.fromkeys(("verdict", "why", "needs", "reason"), pl.String),
    **dict.fromkeys(("headline", "independent", "quick"), pl.Boolean),
    "digest": pl.String,
}


@dataclass(frozen=True)
class Section:
    """One paper's verdicts in the report."""

    paper: Paper
    rows: list[Verdict]

    @property
    def count(self) -> str:
        """The number of the paper's own claims per verdict, in words."""
        return counted(row.outcome for row in self.rows if is_own(row.claim.id))

    @property
    def suites(self) -> list[str]:
        """The claims' suites that ran."""
        return list(dict.fromkeys(row.claim.suite for row in self.rows if row.outcome != "not run"))


def own(claims: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of ``claims.csv`` without claims that are judged on another suite than their own."""
    return claims.filter(~pl.col("claim").str.contains(ELSEWHERE, literal=True))


def counted(outcomes: Iterable[str]) -> str:
    """Return how many claims have each verdict, in words."""
    words, numbers = {"agrees": "agree", "differs": "differ"}, Counter(outcomes)
    return ", ".join(
        f"{number} {kind if number == 1 else words.get(kind, kind)}"
        for kind in OUTCOMES
        if (number := numbers[kind])
    )


def sections(verdicts: Sequence[Verdict]) -> list[Section]:
    """Return the verdicts grouped by paper."""
    by_paper: dict[str, Section] = {}
    for verdict in verdicts:
        by_paper.setdefault(verdict.paper.name, Section(verdict.paper, [])).rows.append(verdict)
    return list(by_paper.values())


def table(verdicts: Sequence[Verdict], quick: bool) -> pl.DataFrame:
    """Return one row per verdict; only claims with a single value have it in the numeric columns."""
    return pl.DataFrame([row(verdict, quick) for verdict in verdicts], schema=SCHEMA)


def row(verdict: Verdict, quick: bool) -> dict[str, Any]:
    """Return a verdict's row of ``claims.csv``."""
    claim = verdict.claim
    single = verdict.ours[0].interval if len(verdict.ours) == 1 else None
    edges = (single.low, single.high) if single else (math.nan, math.nan)
    region = None if isinstance(claim, Ordering) else claim.region(verdict.paper.margin)
    low, high = (region.low, region.high) if region else (-math.inf, math.inf)
    return {
        "paper": verdict.paper.name,
        "claim": claim.id,
        "where": claim.where,
        "says": claim.says,
        "kind": claim.kind,
        "suite": claim.suite,
        "metric": claim.metric,
        "schemes": ",".join(claim.under_test),
        "backend": verdict.backend or None,
        "stated": claim.stated,
        "agrees_from": low if math.isfinite(low) else None,
        "agrees_to": high if math.isfinite(high) else None,
        "ours": "; ".join(f"{value.label}: {value.text}" for value in verdict.ours) or None,
        "mean": single.mean if single else None,
        "ci_low": None if math.isnan(edges[0]) else edges[0],
        "ci_high": None if math.isnan(edges[1]) else edges[1],
        "verdict": verdict.outcome,
        "why": verdict.why or None,
        "needs": claim.needs,
        "reason": claim.reason,
        "headline": claim.headline,
        "independent": claim.id in independent(verdict.paper.name),
        "quick": quick,
        "digest": of_claim(claim),
    }
