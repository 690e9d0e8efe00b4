import itertools

import numpy as np
import pytest

import leogym
from leogym.common.errors import InputError
from leogym.results import baselines


def test_the_interquartile_mean_leaves_out_the_outer_quarters_and_counts_their_edges_by_their_share():
    assert baselines.interquartile_mean([5.0]) == 5.0
    assert baselines.interquartile_mean([1.0, 3.0]) == 2.0
    # A quarter of three values is three quarters of the outer ones: (0.25 · 0 + 3 + 0.25 · 100) / 1.5.
    assert baselines.interquartile_mean([100.0, 0.0, 3.0]) == pytest.approx(28 / 1.5)
    assert baselines.interquartile_mean([-1e9, 1.0, 2.0, 1e9]) == 1.5


def test_intervals_are_those_of_all_resamples():
    assert baselines.interval([1.0]) == (None, None)
    assert baselines.interval([3.0, 1.0, 2.0]) == (1.0, 3.0)
    values = [1.0, 2.0, 4.0, 8.0, 16.0]
    means = [baselines.interquartile_mean(some) for some in itertools.product(values, repeat=5)]
    expected = np.quantile(means, [0.025, 0.975], method="nearest")
    assert baselines.interval(values) == pytest.approx(tuple(expected), rel=0.1)
    with pytest.raises(ValueError, match="at most 5"):
        baselines.interval([1.0] * 6)


def test_curves_aggregate_seeds_and_tables_rank_algorithms_beside_references():
    runs = baselines.runs("leo/Static-v0")
    curves = baselines.curves("leo/Static-v0")
    ppo = curves.filter(algorithm="ppo", point=20_000).row(0, named=True)
    values = runs.filter(algorithm="ppo", point=20_000)["return_mean"].to_list()
    assert (ppo["return"], ppo["seeds"]) == (baselines.interquartile_mean(values), len(values))
    table = baselines.table("leo/Static-v0", 20_000)
    assert table["return"].is_sorted(descending=True)
    assert {"random", "cubic", "orbit", "ppo"} <= set(table["algorithm"])


def test_a_plot_has_the_curves_and_ones_own():
    figure = baselines.plot("leo/Static-v0", mine=([10, 100], [1.0, 2.0]))
    labels = [line.get_label() for line in figure.axes[0].lines]
    assert {"ppo", "mine"} <= set(labels)


def test_an_environment_without_results_is_refused():
    with pytest.raises(InputError, match="no results"):
        baselines.runs("leo/Nowhere-v0")


def test_steps_without_results_are_refused_with_those_that_have_some():
    with pytest.raises(
        InputError, match=r"^baselines: leo/Static-v0: point: 12345: must be one of 0, .*20000"
    ):
        baselines.table("leo/Static-v0", 12_345)


def test_a_curve_needs_a_return_for_each_step():
    with pytest.raises(InputError, match=r"^baselines: mine: 1 steps, but 2 returns$"):
        baselines.plot("leo/Static-v0", mine=([10], [1.0, 2.0]))


def test_users_find_it_in_the_package():
    assert leogym.baselines is baselines
    with pytest.raises(AttributeError, match="no attribute 'baseline'"):
        _ = leogym.baseline
