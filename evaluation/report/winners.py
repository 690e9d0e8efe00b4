"""Who wins where: of each suite, the schemes that nothing beats in most of its scenarios."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from configs.suite import Suite
from evaluation.recorded.results import Results
from evaluation.report.tables import best_in, of_metric
from results.metrics import METRICS, Metric

MOST_NAMED = 3
"""Schemes that are named where several share the lead."""


@dataclass(frozen=True)
class Lead:
    """Who leads a suite by one metric."""

    metric: Metric
    schemes: list[str]
    """Those that nothing beats in the most scenarios; empty where the runs tell none of them apart."""
    won: int
    """Scenarios in which nothing beats them."""
    scenarios: int

    @property
    def more(self) -> int:
        """How many more share the lead than are named."""
        return max(0, len(self.schemes) - MOST_NAMED)


def leads(results: Results, suite: Suite) -> list[Lead]:
    """Return who leads a suite by power, and by its first headline metric of which one way is better."""
    others = [name for name in suite.headline if METRICS[name].better and name != "power"]
    return [lead for name in ("power", *others[:1]) if (lead := lead_by(results, suite, name))]


def lead_by(results: Results, suite: Suite, metric: str) -> Lead | None:
    """Return who leads a suite by a metric; None where no two schemes have it in the same scenario."""
    scenarios = [
        name for name in results.scenarios(suite.name) if len(of_metric(results, suite, name, metric)) > 1
    ]
    if not scenarios:
        return None
    wins = Counter(scheme for name in scenarios for scheme in best_in(results, suite, name, metric))
    most = max(wins.values(), default=0)
    first = [scheme for scheme in results.schemes if wins[scheme] == most and most > 0]
    return Lead(METRICS[metric], first, most, len(scenarios))
