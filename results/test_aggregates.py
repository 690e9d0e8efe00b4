import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leogym.results.aggregates import (
    RESAMPLES,
    improvement,
    interquartile_mean,
    performance_profile,
    stratified_interval,
    worst_quarter,
)

values = st.lists(st.floats(-100, 100), min_size=1, max_size=30)
few = settings(max_examples=25, deadline=None)  # scipy takes a millisecond a test
strata = st.dictionaries(st.sampled_from("abc"), values, min_size=1)


def mean_of_means(*samples):
    return np.mean([sample.mean(axis=-1) for sample in samples], axis=0)


@few
@given(values)
def test_the_interquartile_mean_is_that_of_the_sorted_values_without_a_quarter_at_either_end(data):
    cut = len(data) // 4
    assert interquartile_mean(data) == pytest.approx(
        statistics.fmean(sorted(data)[cut : len(data) - cut]), abs=1e-9
    )


def test_the_interquartile_mean_ignores_a_run_that_failed_and_the_worst_quarter_shows_it():
    data = [0.0, 0.8, 0.8, 0.8]
    assert interquartile_mean(data) == 0.8
    assert worst_quarter(data) == 0.0
    assert worst_quarter([3.0, 1.0, 2.0, 5.0, 4.0]) == 1.5  # the two smallest of five


def test_the_stratified_interval_is_that_of_a_plain_loop_over_strata():
    rng = np.random.default_rng(1)
    data = {"a": rng.normal(0, 1, 40), "b": rng.normal(5, 2, 25)}
    result = stratified_interval(
        {name: sample.tolist() for name, sample in data.items()}, mean_of_means, seed=7
    )
    draws = np.random.default_rng(2)
    naive = [
        np.mean([draws.choice(sample, len(sample)).mean() for sample in data.values()])
        for _ in range(RESAMPLES)
    ]
    low, high = np.percentile(naive, [2.5, 97.5])
    assert result.n == 65
    assert result.mean == pytest.approx(np.mean([sample.mean() for sample in data.values()]))
    assert result.low == pytest.approx(low, abs=0.05)
    assert result.high == pytest.approx(high, abs=0.05)
    # Resampling over both at once, without strata, would give an interval twice as wide.
    assert result.high - result.low < 1.1


def test_the_same_seed_gives_the_same_interval_and_one_run_a_stratum_gives_none():
    data = {"a": [1.0, 2.0, 4.0], "b": [3.0]}
    assert stratified_interval(data, mean_of_means, 3) == stratified_interval(data, mean_of_means, 3)
    result = stratified_interval({"a": [1.0], "b": [3.0]}, mean_of_means, 3)
    assert result.mean == 2.0
    assert math.isnan(result.low)
    assert math.isnan(result.high)


def test_a_stratum_of_one_run_adds_its_value_and_no_width():
    wide = stratified_interval({"a": [1.0, 3.0, 5.0, 9.0]}, mean_of_means, 3)
    both = stratified_interval({"a": [1.0, 3.0, 5.0, 9.0], "b": [7.0]}, mean_of_means, 3)
    assert both.low == pytest.approx((wide.low + 7) / 2, abs=0.3)
    assert both.high == pytest.approx((wide.high + 7) / 2, abs=0.3)


@few
@given(strata, st.data())
def test_the_probability_of_improvement_counts_all_pairs_of_a_stratum(first, data):
    second = {name: data.draw(values) for name in first}
    naive = statistics.fmean(
        statistics.fmean((x > y) + 0.5 * (x == y) for x in first[name] for y in second[name])
        for name in first
    )
    assert improvement(first, second) == pytest.approx(naive)
    assert improvement(first, second) + improvement(second, first) == pytest.approx(1)


def test_strata_that_differ_are_refused():
    with pytest.raises(ValueError, match="must have the same strata"):
        improvement({"a": [1.0]}, {"b": [1.0]})


@few
@given(strata, st.lists(st.floats(-100, 100), min_size=1, max_size=5))
def test_a_performance_profile_counts_the_runs_above_each_threshold(data, thresholds):
    naive = [
        statistics.fmean(statistics.fmean(x > at for x in sample) for sample in data.values())
        for at in thresholds
    ]
    assert performance_profile(data, thresholds) == pytest.approx(naive)
