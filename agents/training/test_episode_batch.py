import numpy as np
import pytest

from leogym.agents.training.episode_batch import Episodes
from leogym.agents.training.settings import TrainSettings, build

VIEWS = ("global_states", "active", "finished", "time_s")
FLOW_VIEWS = ("observations", "rewards_view", "reports")


def simulations(**changes):
    scenarios = {"sampler": "astraea", "duration_s": 2.0, "rate_mbps": [40, 60], "flows": [2, 3]}
    data = {"agent": "astraea", "num_envs": 4, "scenarios": scenarios, **changes}
    return Episodes(build(TrainSettings, "test", data))


def go(worlds, intervals, rng):
    """Step with random actions and restart simulation 1 midway, so histories differ in length."""
    for interval in range(intervals):
        worlds.step(rng.uniform(-1, 1, worlds.action_shape).astype(np.float32))
        for index in np.flatnonzero(worlds.batch.finished):
            worlds.restart(int(index))
        if interval == 20:
            worlds.restart(1)


def seen(worlds):
    """Return the arrays that a training loop reads, without inactive flows, whose rows are undefined."""
    views = {name: getattr(worlds.batch, name).copy() for name in VIEWS}
    return views | {name: getattr(worlds.batch, name)[worlds.batch.active] for name in FLOW_VIEWS}


@pytest.mark.parametrize("intervals", [0, 1, 21, 35, 90])
def test_rebuilt_simulations_go_on_as_if_nothing_had_been(intervals):
    first = simulations()
    first.start()
    go(first, intervals, np.random.default_rng(1))
    second = simulations()
    second.restore(first.state())
    for name, view in seen(first).items():
        if name != "rewards_view":  # of the previous step, which a simulation after a reset lacks
            np.testing.assert_array_equal(seen(second)[name], view, err_msg=name)
    go(first, 100, np.random.default_rng(2))
    go(second, 100, np.random.default_rng(2))
    for name, view in seen(first).items():
        np.testing.assert_array_equal(seen(second)[name], view, err_msg=name)
    assert first.next_episode == second.next_episode > 4


def test_an_episode_depends_on_the_seed_and_its_number_only():
    one, same, other = simulations(seed=1), simulations(seed=1, num_envs=2), simulations(seed=2)
    assert one.scenario(5) == same.scenario(5)
    assert one.scenario(5) != one.scenario(6)
    assert one.scenario(5) != other.scenario(5)


def test_finished_simulations_go_on_with_the_next_episode():
    worlds = simulations()
    worlds.start()
    go(worlds, 200, np.random.default_rng(1))
    assert worlds.next_episode >= 8
    assert not worlds.batch.finished.any()
