"""Leaders by suite: the schemes that are best in most of its scenarios."""

from collections import Counter
from dataclasses import dataclass

from leogym.configs.suite import Suite
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.report.tables import best_in, of_metric
from leogym.results.metrics import METRICS, ORACLE, Metric

MOST_NAMED = 3


@dataclass(frozen=True)
class Lead:
    """The leaders of a suite by one metric."""

    metric: Metric
    schemes: list[str]
    """Best in the most scenarios; empty if the runs distinguish none."""
    won: int
    scenarios: int

    @property
    def more(self) -> int:
        """Number of leaders beyond those named."""
        return max(0, len(self.schemes) - MOST_NAMED)


def leads(results: Results, suite: Suite) -> list[Lead]:
    """Return the leaders of a suite by its first headline metric with a better direction, and by power."""
    names = [name for name in suite.headline if METRICS[name].better and name != "power"]
    return [lead for name in (*names[:1], "power") if (lead := lead_by(results, suite, name))]


def lead_by(results: Results, suite: Suite, metric: str) -> Lead | None:
    """Return the leaders of a suite by a metric; None if no two schemes have it in the same scenario."""
    scenarios = [
        name
        for name in results.scenarios(suite.name)
        if len(of_metric(results, suite, name, metric).keys() - {ORACLE}) > 1
    ]
    if not scenarios:
        return None
    wins = Counter(scheme for name in scenarios for scheme in best_in(results, suite, name, METRICS[metric]))
    most = max(wins.values(), default=0)
    first = [scheme for scheme in results.schemes if wins[scheme] == most and most > 0]
    return Lead(METRICS[metric], first, most, len(scenarios))
