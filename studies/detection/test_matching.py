import math
from itertools import pairwise

import numpy as np
import pytest

from studies.detection.matching import matched, score


def slow(found, true, window):
    """Try every matching; return the most pairs, and the smallest sum of distances with so many."""
    if not found:
        return 0, 0.0
    first, rest = found[0], found[1:]
    tried = [slow(rest, true, window)]
    for index, time in enumerate(true):
        if abs(first - time) <= window:
            pairs, distance = slow(rest, true[:index] + true[index + 1 :], window)
            tried.append((pairs + 1, distance + abs(first - time)))
    return min(tried, key=lambda one: (-one[0], one[1]))


def total(pairs, found, true):
    return sum(abs(found[i] - true[j]) for i, j in pairs)


def assert_matching(pairs, found, true, window):
    assert all(abs(found[i] - true[j]) <= window for i, j in pairs)
    assert all(one[0] < next_[0] and one[1] < next_[1] for one, next_ in pairwise(pairs)), "each once"


@pytest.mark.parametrize("seed", range(60))
def test_no_matching_of_all_that_there_are_has_more_pairs_or_shorter_ones(seed):
    random = np.random.default_rng(seed)
    found, true = (sorted(random.uniform(0, 8, random.integers(0, 7)).tolist()) for _ in range(2))
    window = float(random.uniform(0.1, 3.0))
    pairs = matched(found, true, window)
    assert_matching(pairs, found, true, window)
    most, shortest = slow(found, true, window)
    assert len(pairs) == most
    assert math.isclose(total(pairs, found, true), shortest, abs_tol=1e-9)


@pytest.mark.parametrize(
    ("found", "true", "window", "pairs"),
    [
        ([], [1.0], 1.0, []),
        ([1.0], [], 1.0, []),
        ([1.0], [2.0], 1.0, [(0, 0)]),
        ([1.0], [2.1], 1.0, []),
        # One change and two detections: the nearer one, whichever is first.
        ([9.6, 10.1], [10.0], 1.0, [(1, 0)]),
        ([9.9, 10.4], [10.0], 1.0, [(0, 0)]),
        # The nearest change of both is the second, but then the first would have none.
        ([10.4, 11.0], [10.0, 10.9], 1.0, [(0, 0), (1, 1)]),
        ([10.6, 10.8], [10.0, 10.9], 1.0, [(0, 0), (1, 1)]),
    ],
)
def test_known_pairs(found, true, window, pairs):
    assert matched(found, true, window) == pairs


def test_a_score_of_known_answers():
    # Changes at 10, 25, 40, 55. Detections: on time, missing, twice, a second late, and one of nothing.
    found, true = [10.0, 39.8, 40.3, 48.0, 56.0], [10.0, 25.0, 40.0, 55.0]
    made = score(found, true, [True, True, False, False], 1.5, (0.0, 60.0))
    assert (made.precision, made.recall, made.recall_of_steps) == (3 / 5, 3 / 4, 1 / 2)
    assert made.lag_s == pytest.approx(0.0)  # of 0, -0.2 and 1
    # From 20 s on, the first pair does not count.
    made = score(found, true, [True, True, False, False], 1.5, (20.0, 60.0))
    assert (made.precision, made.recall, made.recall_of_steps) == (2 / 4, 2 / 3, 0.0)
    assert made.lag_s == pytest.approx(0.4)


def test_a_pair_across_the_end_of_the_counted_time_is_not_cut_in_two():
    # The detection counts, its change does not; and the other way round.
    made = score([9.5], [10.5], [True], 1.5, (0.0, 10.0))
    assert (made.precision, made.recall, made.lag_s) == (1.0, None, None)
    made = score([10.5], [9.5], [True], 1.5, (0.0, 10.0))
    assert (made.precision, made.recall, made.lag_s) == (None, 1.0, 1.0)


def test_nothing_to_divide_by_is_no_score():
    assert vars(score([], [], [], 1.0, (0.0, 1.0))) == dict.fromkeys(
        ("precision", "recall", "recall_of_steps", "lag_s")
    )
    assert score([], [0.5], [False], 1.0, (0.0, 1.0)).recall == 0.0
