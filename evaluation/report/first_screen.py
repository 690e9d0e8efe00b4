"""The report's first screen without the ranking: leaders by suite, trust badges and counts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import polars as pl

from leogym.configs.suite import Suite
from leogym.evaluation.fidelity.summary import Fidelity, kernel
from leogym.evaluation.recorded.results import Results
from leogym.evaluation.report.section import Badge, Section
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


def leads_by_suite(results: Results) -> list[tuple[Suite, list[Lead]]]:
    """Return the leaders of each suite; skip suites that compare nothing."""
    return [(suite, suite_leads) for suite in results.suites if (suite_leads := leads(results, suite))]


def badges(results: Results, distances: Sequence[Fidelity], section: Section | None) -> list[Badge]:
    """Return the badges: the simulator's distance from the kernel, the study's, invalid runs."""
    chosen = []
    if distances:
        goodput = median(distance.goodput_median for distance in distances)
        rtt = median(distance.rtt_median for distance in distances)
        schemes = f"{len(distances)} scheme{'s' if len(distances) != 1 else ''}"
        chosen.append(
            Badge(
                f"{goodput:.1%} · {rtt:.1%}",
                f"simulator off Linux {kernel()} in goodput · mean RTT, median of {schemes}",
                "kernel-distance",
            )
        )
    if section is not None and section.badge is not None:
        chosen.append(section.badge)
    if results.invalid:
        chosen.append(Badge(str(len(results.invalid)), "runs were invalid and are excluded", "invalid"))
    return chosen


def counts(results: Results) -> list[tuple[str, str]]:
    """Return counts of what ran, as pairs of a number and its name."""
    runs = results.runs.group_by("suite", "run_id").agg(
        pl.col("stop_s").max(), pl.col("backend").first(), pl.col("repeat").first()
    )
    backends = sorted(runs["backend"].unique())
    scenarios = sum(len(results.scenarios(suite.name)) for suite in results.suites)
    named = {
        "runs": len(runs),
        "schemes": len(results.schemes),
        "suites": len(results.suites),
        "scenarios": scenarios,
    }
    labelled = [
        (f"{number:,}", name.removesuffix("s") if number == 1 else name) for name, number in named.items()
    ]
    clock = "simulated" if backends == ["simulator"] else f"on the {', '.join(backends)}"
    return [*labelled, (duration(float(runs["stop_s"].sum())), clock)]


def duration(seconds: float) -> str:
    """Return a time in its natural unit: ``45 s``, ``12 min``, ``3.4 h`` or ``5.2 days``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 120 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 72 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} days"
