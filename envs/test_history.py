import numpy as np
import pytest

from leogym.envs.history import History


class Counters:
    """Fake simulations that list their actions since the reset."""

    def __init__(self, size):
        self.told = [[] for _ in range(size)]

    def reset(self, index):
        self.told[index] = []

    def step(self, actions):
        for index, told in enumerate(self.told):
            told.append(actions[index].tolist())


@pytest.mark.parametrize("seed", range(20))
def test_rebuilt_simulations_were_told_the_same_since_their_resets(seed):
    rng = np.random.default_rng(seed)
    counters, history = Counters(3), History(3, (2, 1))
    for _ in range(int(rng.integers(0, 30))):
        actions = rng.uniform(-1, 1, (3, 2, 1)).astype(np.float32)
        counters.step(actions)
        history.append(actions)
        for index in np.flatnonzero(rng.random(3) < 0.1):
            counters.reset(index)
            history.begin(int(index))
    again, other = Counters(3), History(3, (2, 1))
    other.rebuild(history.state(), again.reset, again.step)
    assert again.told == counters.told
    # The rebuilt history can be rebuilt again.
    third = Counters(3)
    History(3, (2, 1)).rebuild(other.state(), third.reset, third.step)
    assert third.told == counters.told


def test_no_more_is_kept_than_the_longest_episode_needs():
    history = History(2, (1, 1))
    for step in range(100):
        history.append(np.zeros((2, 1, 1), np.float32))
        history.begin(step % 2)
    assert history.state()["actions"].shape == (1, 2, 1, 1)


def test_a_history_of_other_simulations_is_refused():
    history = History(2, (1, 1))
    history.append(np.zeros((2, 1, 1), np.float32))
    with pytest.raises(ValueError, match="not of 3 such simulations"):
        History(3, (1, 1)).rebuild(history.state(), lambda index: None, lambda actions: None)
