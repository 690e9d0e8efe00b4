"""A suite's table: all headline metrics of all schemes, with the best marked."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from leogym.configs.suite import Suite
from leogym.evaluation.recorded import warnings
from leogym.evaluation.recorded.results import Results
from leogym.results.metrics import ORACLE, Metric


@dataclass(frozen=True)
class Cell:
    """A table cell: one metric of one scheme."""

    metric: Metric
    mean: str
    low: str
    high: str
    n: int
    best: bool


def table(results: Results, suite: Suite, scenario: str) -> list[tuple[str, list[Cell | None]]]:
    """Return one row per scheme with a cell for each headline metric.

    A cell is ``best`` if its mean is, or if its interval overlaps the best one's: the runs cannot distinguish
    them. If that holds for all cells, none is best. Cells of starved schemes and of the oracle never are.
    """
    metrics = results.headline(suite)
    rows_by_metric = {metric: of_metric(results, suite, scenario, metric.name) for metric in metrics}
    best = {metric: best_in(results, suite, scenario, metric) for metric in metrics}
    rows = []
    for scheme in results.schemes:
        cells = [
            _cell(metric, row, scheme in best[metric])
            if (row := rows_by_metric[metric].get(scheme))
            else None
            for metric in metrics
        ]
        if any(cells):
            rows.append((scheme, cells))
    return rows


def of_metric(results: Results, suite: Suite, scenario: str, metric: str) -> dict[str, dict[str, Any]]:
    """Return the summary's row of each scheme with the metric in a scenario."""
    rows = {scheme: results.interval(suite.name, scenario, scheme, metric) for scheme in results.schemes}
    return {scheme: row for scheme, row in rows.items() if row}


def best_in(results: Results, suite: Suite, scenario: str, metric: Metric) -> set[str]:
    """Return the best schemes in a scenario, the oracle apart; see `best_of`."""
    rows = of_metric(results, suite, scenario, metric.name)
    rows.pop(ORACLE, None)
    return best_of(rows, metric, warnings.starved_in(results, suite.name, scenario))


def best_of(rows: dict[str, dict[str, Any]], metric: Metric, starved: Collection[str] = ()) -> set[str]:
    """Return the schemes, except starved ones, with the best mean or an interval that overlaps its."""
    fed = {scheme: row for scheme, row in rows.items() if scheme not in starved}
    if not metric.better or not fed:
        return set()
    top = (max if metric.better == "higher" else min)(fed.values(), key=lambda row: row["mean"])
    low, high = _edges(top)
    tied = {scheme for scheme, row in fed.items() if _edges(row)[0] <= high and low <= _edges(row)[1]}
    return tied if len(tied) < len(rows) else set()


def _cell(metric: Metric, row: dict[str, Any], best: bool) -> Cell:
    low, high = (
        ("", "") if row["ci_low"] is None else (metric.show(row["ci_low"]), metric.show(row["ci_high"]))
    )
    return Cell(metric, metric.show(row["mean"]), low, high, row["n"], best)


def _edges(row: dict[str, Any]) -> tuple[float, float]:
    return (row["mean"], row["mean"]) if row["ci_low"] is None else (row["ci_low"], row["ci_high"])
