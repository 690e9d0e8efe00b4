import numpy as np
import pytest

from leogym.agents.astraea.exploration import Exploration
from leogym.agents.astraea.settings import AstraeaSettings

SHAPE = (8, 5, 1)


def explorer(seed=1, **settings):
    return Exploration(AstraeaSettings(agent="astraea", **settings), SHAPE, seed)


def replaced(exploration, intervals):
    """Return which decisions were random, (intervals, size, slots); the policy's action is 5."""
    return np.stack([exploration.apply(np.full(SHAPE, 5, np.float32))[..., 0] != 5 for _ in range(intervals)])


def test_the_schedule_falls_linearly_and_stays():
    exploration = explorer(exploration_intervals=100)
    seen = []
    for _ in range(150):
        seen.append(exploration.probability)
        exploration.apply(np.zeros(SHAPE, np.float32))
    assert seen[0] == 1.0
    assert seen[50] == pytest.approx(0.525)
    assert seen[100] == seen[149] == pytest.approx(0.05)


def test_the_budget_counts_intervals_however_many_flows_share_it():
    exploration = explorer()
    replaced(exploration, 10)
    assert exploration.intervals == 10


def test_the_share_of_random_actions_is_the_probability_whatever_the_hold():
    for hold in (1, 8):
        exploration = explorer(exploration_start=0.3, exploration_end=0.3, exploration_hold=hold)
        assert replaced(exploration, 2000).mean() == pytest.approx(0.3, abs=0.02)


def test_random_actions_are_uniform_and_held():
    exploration = explorer(exploration_start=1.0, exploration_end=1.0, exploration_hold=4)
    drawn = np.stack([exploration.apply(np.zeros(SHAPE, np.float32))[..., 0] for _ in range(400)])
    assert np.abs(np.quantile(drawn, [0, 0.25, 0.5, 0.75, 1]) - [-1, -0.5, 0, 0.5, 1]).max() < 0.05
    changes = np.flatnonzero(np.diff(drawn[:, 0, 0])) + 1
    assert set(np.diff(changes)) == {4}


def test_a_restored_exploration_goes_on_alike():
    first = explorer(exploration_hold=3, exploration_intervals=50)
    replaced(first, 20)
    state = first.state()
    second = explorer(seed=9, exploration_hold=3, exploration_intervals=50)
    second.restore(state)
    for _ in range(20):
        actions = np.full(SHAPE, 5, np.float32)
        np.testing.assert_array_equal(first.apply(actions), second.apply(actions))
