"""From runs to parts and one score, each with an interval."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leogym.configs import arithmetic
from leogym.evaluation.leobench.version import PARTS, Part
from leogym.results.aggregates import interquartile_mean, stratified_interval, worst_quarter
from leogym.results.intervals import Interval, seed_of
from leogym.results.metrics import METRICS

Values = Mapping[Part, Mapping[str, Sequence[float]]]
"""The value of each run, from 0 to 1, by part and suite."""


def values_of_run(
    rows: Iterable[Mapping[str, Any]], measures: Mapping[Part, str], values: Mapping[str, Any]
) -> dict[Part, float]:
    """Return a run's value per part: 0 where a metric is undefined, as of a transfer that does not end.

    Args:
        rows: of the flows under test, from `results.metrics.flow_rows`.
        measures: an expression per part.
        values: the suite's values of the run's scenario.
    """
    rows = list(rows)
    means: dict[str, object] = dict(values)
    for name in METRICS:
        measured = [row.get(name) for row in rows]
        # A power or a completion time counts only if every flow under test has one.
        if measured and all(value is not None for value in measured):
            means[name] = float(np.mean([float(value) for value in measured if value is not None]))
    scored: dict[Part, float] = {}
    for part, expression in measures.items():
        has_metrics = arithmetic.names(expression) <= means.keys()
        scored[part] = min(1.0, max(0.0, arithmetic.evaluate(expression, means))) if has_metrics else 0.0
    return scored


def parts(values: Values) -> dict[Part, Interval]:
    """Return each part with its interval: its aggregate per suite, averaged over suites."""
    return {
        part: stratified_interval(values[part], _of_part(part), seed_of("leobench", part))
        for part in PARTS
        if part in values
    }


def suites(values: Values) -> dict[str, dict[Part, float]]:
    """Return each part's aggregate in each suite."""
    means: dict[str, dict[Part, float]] = {}
    for part in PARTS:
        for suite, its in values.get(part, {}).items():
            means.setdefault(suite, {})[part] = float(_aggregate(part)(np.asarray(its, dtype=float)))
    return means


def score(values: Values) -> Interval:
    """Return the score: 100 times the geometric mean of the parts, from 0 to 100.

    A geometric mean, because a scheme shall not pay for a part that it lacks with another: one that leaves
    nothing to others scores 0, however fast it is.
    """
    strata = {f"{part}/{suite}": its for part in PARTS for suite, its in values.get(part, {}).items()}
    used: list[Part] = [part for part in PARTS if part in values]
    sizes = [len(values[part]) for part in used]

    def measured(*samples: NDArray[np.float64]) -> NDArray[np.float64]:
        samples_by_part, at = [], 0
        for part, size in zip(used, sizes, strict=True):
            samples_by_part.append(_of_part(part)(*samples[at : at + size]))
            at += size
        return 100 * np.prod(samples_by_part, axis=0) ** (1 / len(samples_by_part))

    return stratified_interval(strata, measured, seed_of("leobench", "score"))


def _of_part(part: Part) -> Callable[..., NDArray[np.float64]]:
    def measured(*samples: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.mean([_aggregate(part)(draw) for draw in samples], axis=0)

    return measured


def _aggregate(part: Part) -> Callable[..., NDArray[np.float64]]:
    """Robustness is what happens in the worst quarter of the runs; other parts are interquartile means."""
    return worst_quarter if part == "robustness" else interquartile_mean
