"""Measures of a scenario itself: how often its path changes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from leogym.configs.scenario import Scenario
from leogym.results.metrics import Metric
from leogym.traces.path import cache


@dataclass(frozen=True)
class OfScenario:
    """A measure of a scenario from a run's offset in its path traces."""

    metric: Metric
    of: Callable[[Scenario, float], float | None]


@lru_cache(maxsize=16)
def _changes_s(trace: str) -> tuple[np.ndarray, float]:
    """Return the times of a trace's path changes, in s since its first row, and its period in s."""
    loaded = cache.load(trace)
    changed = np.array([event != "" for event in loaded.event])
    return loaded.time_ns[changed].astype(float) / 1e9, loaded.period_ns / 1e9


def _changes_per_min(scenario: Scenario, offset_s: float) -> float | None:
    count, traced = 0, False
    for link in scenario.links.values():
        if link.trace is None:
            continue
        traced = True
        times_s, period_s = _changes_s(link.trace)
        begin_s = (link.offset_s + offset_s) % period_s
        whole, rest_s = divmod(scenario.duration_s, period_s)
        since_s = (times_s - begin_s) % period_s
        count += int(whole) * len(times_s) + int((since_s < rest_s).sum())
    return 60.0 * count / scenario.duration_s if traced else None


OF_SCENARIOS: dict[str, OfScenario] = {
    measure.metric.name: measure
    for measure in (
        OfScenario(
            Metric(
                "changes_per_min",
                "Changes of the path a minute",
                "",
                2,
                "",
                "Hard and soft handovers and unreachable spans of the path traces, a minute.",
            ),
            _changes_per_min,
        ),
    )
}
