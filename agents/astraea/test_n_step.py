import numpy as np
import pytest

from leogym.agents.astraea.n_step import Returns, Step

GAMMA = 0.5
ALL = np.array([[True, True]])


def _step(reward, active=ALL):
    """Return an interval of one simulation with two slots; the states equal the reward."""
    states = np.full((1, 2, 3), reward, dtype=np.float32)
    return Step(active, states, states[..., :1], np.full((1, 2), reward, dtype=np.float32))


def test_one_step_is_the_interval_itself():
    known = Returns(1, GAMMA).push(_step(3.0, np.array([[True, False]])), ALL)
    assert known is not None
    kept, first = known
    assert kept.tolist() == [[True, False]]
    assert first.rewards.tolist() == [[3.0, 3.0]]


def test_the_oldest_interval_gets_the_discounted_sum_of_all():
    returns = Returns(3, GAMMA)
    assert returns.push(_step(1.0), ALL) is None
    assert returns.push(_step(2.0), ALL) is None
    for rewards in ((1.0, 2.0, 4.0), (2.0, 4.0, 8.0)):
        known = returns.push(_step(rewards[2]), ALL)
        assert known is not None
        kept, first = known
        assert kept.all()
        assert first.states[0, 0, 0] == rewards[0]
        assert first.rewards[0, 0] == rewards[0] + GAMMA * rewards[1] + GAMMA**2 * rewards[2]


def test_a_flow_that_was_not_there_all_the_time_is_not_kept():
    returns = Returns(2, GAMMA)
    returns.push(_step(1.0, np.array([[True, False]])), ALL)
    known = returns.push(_step(1.0), np.array([[True, True]]))
    assert known is not None
    assert known[0].tolist() == [[True, False]]
    known = returns.push(_step(1.0), np.array([[False, True]]))
    assert known is not None
    assert known[0].tolist() == [[False, True]]


def test_no_return_reaches_from_one_episode_into_the_next():
    returns = Returns(2, GAMMA)
    returns.push(_step(1.0), ALL)
    returns.restart(0)
    known = returns.push(_step(1.0), ALL)
    assert known is not None
    assert not known[0].any()


@pytest.mark.parametrize("before", [1, 2, 3])
def test_a_copy_goes_on_as_the_original(before):
    returns, copy = Returns(3, GAMMA), Returns(3, GAMMA)
    for reward in range(before):
        returns.push(_step(float(reward)), ALL)
    copy.restore(returns.state())
    returns.restart(0)  # must not affect the copy
    for reward in (5.0, 6.0, 7.0):
        returns.push(_step(reward), ALL)
        known = copy.push(_step(reward), ALL)
    assert known is not None
    assert known[0].all()
    assert known[1].rewards[0, 0] == 5.0 + GAMMA * 6.0 + GAMMA**2 * 7.0
