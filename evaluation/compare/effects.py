"""Differences between two evaluations' results, with 95 % intervals and significance tests.

Runs with equal seeds and trace offsets are compared in pairs (Student's t of the differences), others by
their means (Welch's t). Benjamini and Hochberg's procedure (1995) corrects for the many tests: at most one in
twenty differences called significant is expected to be chance.
"""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from leogym.common.errors import InputError
from leogym.results.intervals import values_by_run
from leogym.results.metrics import METRICS

LEVEL = 0.95
KEY = ["suite", "scenario", "scheme", "backend"]
_PAIR = ["seed", "offset_s"]


@dataclass(frozen=True)
class Effect:
    """The difference in one metric of one scheme in one scenario."""

    suite: str
    scenario: str
    scheme: str
    backend: str
    metric: str
    mean_a: float
    mean_b: float
    difference: float
    """B's mean less A's; with pairs, over the runs that both have."""
    low: float | None
    """Bounds of the difference's 95 % interval; None if a side has one run."""
    high: float | None
    n_a: int
    n_b: int
    paired: bool
    p: float | None
    q: float | None = None
    """p-value corrected for the number of tests."""

    @property
    def significant(self) -> bool:
        """Whether chance does not explain the difference."""
        return self.q is not None and self.q <= 1 - LEVEL

    @property
    def size(self) -> float:
        """The difference's magnitude relative to the mean magnitude: 0 to 2."""
        scale = (abs(self.mean_a) + abs(self.mean_b)) / 2
        return abs(self.difference) / scale if scale > 0 else 0.0

    @property
    def verdict(self) -> str:
        """``better``, ``worse``, ``changed`` (neither direction is better), ``unclear`` or ``same``."""
        if self.difference == 0 and self.p in (None, 1.0):
            return "same"
        if not self.significant:
            return "unclear"
        if not (better := METRICS[self.metric].better):
            return "changed"
        return "better" if (self.difference > 0) == (better == "higher") else "worse"


def effects(a: pl.DataFrame, b: pl.DataFrame) -> list[Effect]:
    """Return all differences between the rows of two ``runs.parquet``, largest first."""
    sides = [values_by_run(rows).partition_by(KEY, as_dict=True, maintain_order=True) for rows in (a, b)]
    shared = [key for key in sides[0] if key in sides[1]]
    if not shared:
        raise InputError("compare: the two share no suite with the same scenario, scheme and backend")
    uncorrected = [effect for key in shared for effect in _of_case(key, sides[0][key], sides[1][key])]
    return sorted(
        _corrected(uncorrected),
        key=lambda effect: (-effect.size, effect.suite, effect.scenario, effect.scheme),
    )


def _of_case(key: tuple[object, ...], a: pl.DataFrame, b: pl.DataFrame) -> Iterator[Effect]:
    both = a.join(b, on=_PAIR, suffix="_b", maintain_order="left")
    # Extra runs of one side do not prevent pairing the others; a single pair has no interval.
    paired = len(both) >= min(2, len(a), len(b)) and both.select(_PAIR).n_unique() == len(both)
    suite, scenario, scheme, backend = map(str, key)
    for metric in METRICS:
        if metric not in a.columns or metric not in b.columns:
            continue
        if paired:
            pairs = both.select(metric, f"{metric}_b").drop_nulls().to_numpy()
            x, y = pairs[:, 0], pairs[:, 1]
        else:
            x, y = a[metric].drop_nulls().to_numpy(), b[metric].drop_nulls().to_numpy()
        if not len(x) or not len(y):
            continue
        difference = float(np.mean(y - x)) if paired else float(y.mean() - x.mean())
        low, high, p = _tested(x, y, paired)
        yield Effect(
            suite, scenario, scheme, backend, metric, float(x.mean()), float(y.mean()), difference,
            low, high, len(x), len(y), paired, p,
        )  # fmt: skip


def _tested(x: np.ndarray, y: np.ndarray, paired: bool) -> tuple[float | None, float | None, float | None]:
    if min(len(x), len(y)) < 2:
        return None, None, None
    from scipy import stats  # here, because it takes a second to import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about values without spread, handled below
        # SciPy's type stubs lack documented attributes.
        result: Any = stats.ttest_rel(y, x) if paired else stats.ttest_ind(y, x, equal_var=False)
        low, high = result.confidence_interval(LEVEL)
    p = float(result.pvalue)
    if not math.isfinite(p) or not math.isfinite(low):
        # The runs are identical: the difference is exact.
        exact = float(np.mean(y) - np.mean(x))
        return exact, exact, 1.0 if exact == 0 else 0.0
    return float(low), float(high), p


def _corrected(uncorrected: list[Effect]) -> list[Effect]:
    """Return the effects with adjusted p-values; identical results do not count as tests."""
    tested = [
        index for index, effect in enumerate(uncorrected) if effect.p is not None and effect.verdict != "same"
    ]
    if not tested:
        return uncorrected
    from scipy import stats  # here, because it takes a second to import

    adjusted = stats.false_discovery_control([uncorrected[index].p for index in tested], method="bh")
    corrected = list(uncorrected)
    for index, q in zip(tested, adjusted, strict=True):
        corrected[index] = replace(uncorrected[index], q=float(q))
    return corrected
