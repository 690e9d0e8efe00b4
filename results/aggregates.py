"""Aggregates over many runs: interquartile mean, stratified bootstrap, probability of improvement, profiles.

The measures are those of Agarwal et al., Deep Reinforcement Learning at the Edge of the Statistical Precipice
(NeurIPS 2021), computed with scipy. A stratum holds runs that resemble each other, such as those of a suite.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leogym.results.intervals import Interval

RESAMPLES = 1999
TRIMMED_SHARE = 0.25
"""Share of the values that the interquartile mean leaves out at either end."""
Strata = Mapping[str, Sequence[float]]
"""Values by stratum, at least one value each."""
Statistic = Callable[..., NDArray[np.float64]]
"""Takes one array (…, n) per stratum and reduces the last axis."""


def interquartile_mean(values: ArrayLike, axis: int = -1) -> NDArray[np.float64]:
    """Return the mean of the middle half: without the floor(n / 4) smallest and largest values.

    A few extreme runs do not move it, as they would a mean, and it uses more values than a median.
    """
    from scipy import stats  # here, because it takes a second to import

    return stats.trim_mean(np.asarray(values, dtype=float), TRIMMED_SHARE, axis=axis)


def worst_quarter(values: ArrayLike, axis: int = -1) -> NDArray[np.float64]:
    """Return the mean of the ceil(n / 4) smallest values, which the interquartile mean omits."""
    data = np.sort(np.asarray(values, dtype=float), axis=axis)
    count = math.ceil(data.shape[axis] * TRIMMED_SHARE)
    return np.take(data, np.arange(count), axis=axis).mean(axis=axis)


def stratified_interval(strata: Strata, statistic: Statistic, seed: int) -> Interval:
    """Return a statistic and its 95 % percentile interval; each resample keeps the size of every stratum.

    ``n`` counts all values. A statistic of strata with one value each has no interval: it is NaN.

    Args:
        strata: finite values by stratum.
        statistic: takes one array (…, n) per stratum, in the order of ``strata``.
        seed: seed of the resampling; determines the interval for given values.
    """
    data = [np.asarray(values, dtype=float) for values in strata.values()]
    value, n = float(statistic(*data)), sum(map(len, data))
    if all(len(values) < 2 for values in data):
        return Interval(value, math.nan, math.nan, n)
    from scipy import stats

    # scipy resamples each sample separately, as a stratified bootstrap does, and refuses a single value.
    # The value twice has the same resampled statistics, because a single value is its only resample.
    if any(len(values) < 2 for values in data):
        has_one_value = [len(values) < 2 for values in data]
        data = [
            np.repeat(values, 2) if is_single else values
            for values, is_single in zip(data, has_one_value, strict=True)
        ]

        def measured(*samples: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
            resamples = (
                x[..., :1] if is_single else x for x, is_single in zip(samples, has_one_value, strict=True)
            )
            return statistic(*resamples)
    else:

        def measured(*samples: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
            return statistic(*samples)

    bounds = stats.bootstrap(
        data,
        measured,
        n_resamples=RESAMPLES,
        method="percentile",
        vectorized=True,
        axis=-1,
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Interval(value, float(bounds.low), float(bounds.high), n)


def improvement(first: Strata, second: Strata) -> float:
    """Return the probability that a run of ``first`` beats a run of ``second`` in the same stratum.

    It is the mean over strata of the Mann-Whitney statistic; ties count half. Larger values are better.

    Raises:
        ValueError: the strata's names differ.
    """
    from scipy import stats

    if first.keys() != second.keys() or not first:
        raise ValueError("strata: both arguments must have the same strata, at least one")
    probabilities = [
        float(stats.mannwhitneyu(first[name], second[name], method="asymptotic").statistic)
        / (len(first[name]) * len(second[name]))
        for name in first
    ]
    return sum(probabilities) / len(probabilities)


def performance_profile(strata: Strata, thresholds: ArrayLike) -> NDArray[np.float64]:
    """Return the share of runs above each threshold; every stratum has the same weight.

    Args:
        strata: values by stratum.
        thresholds: (n,) values.
    """
    at = np.asarray(thresholds, dtype=float)
    shares = [(np.asarray(values, dtype=float)[:, None] > at).mean(axis=0) for values in strata.values()]
    return np.mean(shares, axis=0)
