"""The page of findings: sentences whose numbers come from the kept results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from leogym.common.errors import InputError
from leogym.evaluation.report.templates import environment
from leogym.results.metrics import METRICS
from studies.papers.keep import Kept

FOLDER = Path(__file__).parent
PAGE = FOLDER / "findings.md"
TEMPLATE = "findings.md.j2"


def page(results: Kept) -> str:
    """Return the page of findings; an `InputError` names what is not kept."""

    def cell(suite: str, scenario: str, scheme: str, metric: str, digits: int = 2) -> str:
        """Return a mean and its interval from the summary, as displayed."""
        where = {"suite": suite, "scenario": scenario, "scheme": scheme, "metric": metric}
        row = _only(results.summary, **where)
        return _interval(row, METRICS[metric].scale, digits)

    def value(paper: str, claim: str, label: str | None = None, digits: int = 2) -> str:
        """Return a claim's mean and interval; ``label`` selects one of several."""
        where = {"paper": paper, "claim": claim} | ({} if label is None else {"label": label})
        return _interval(_only(results.values, **where), 1.0, digits)

    def verdict(paper: str, claim: str) -> str:
        """Return a claim's name in ``claims.csv`` and its verdict."""
        return f"`{claim}` {_only(results.claims, paper=paper, claim=claim)['verdict']}"

    template = environment(FOLDER, autoescape=False).get_template(TEMPLATE)
    return template.render(cell=cell, value=value, verdict=verdict) + "\n"


def _only(table: pl.DataFrame, **where: str) -> dict[str, Any]:
    rows = table.filter(*(pl.col(column) == wanted for column, wanted in where.items())).rows(named=True)
    if len(rows) != 1:
        raise InputError(f"{TEMPLATE}: {len(rows)} rows are kept with {', '.join(where.values())}, not one")
    return rows[0]


def _interval(row: dict[str, Any], scale: float, digits: int) -> str:
    mean, low, high = (f"{row[name] * scale:.{digits}f}" for name in ("mean", "ci_low", "ci_high"))
    return f"{mean} ({low} to {high})"
