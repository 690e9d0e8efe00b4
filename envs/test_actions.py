import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.utils.env_checker import data_equivalence
from stable_baselines3 import DQN

from leogym import envs
from leogym.common.errors import InputError
from leogym.envs.actions import Levels, action_space
from leogym.envs.sb3 import LeoVecEnv


def test_levels_are_evenly_spaced_from_end_to_end():
    assert Levels(5)(np.arange(5)).tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert Levels(2)(np.array([[0, 1], [1, 1]])).tolist() == [[-1.0, 1.0], [1.0, 1.0]]


def test_an_action_of_several_numbers_has_a_level_for_each():
    assert action_space(3, 11) == MultiDiscrete([11, 11, 11])
    assert action_space(1, 11) == Discrete(11)
    assert action_space(3) == Box(-1.0, 1.0, (3,), np.float32)


@pytest.mark.parametrize("actions", [1, 0, -3, 2.5, True, "11"])
def test_a_number_of_actions_that_is_none_is_named_in_one_line(actions):
    with pytest.raises(InputError, match=r"^actions: .*: must be an integer of at least 2"):
        gymnasium.make(envs.FLOW_ID, actions=actions)


@pytest.mark.parametrize("action", [-1, 11, 0.5, None])
def test_an_action_outside_its_space_is_refused(action):
    with pytest.raises(InputError, match=r"^action: .*: must be integers from 0 to 10$"):
        Levels(11)(action)


def test_the_native_vectors_take_discrete_actions_as_single_environments_do():
    arguments = {"num_envs": 3, "actions": 7}
    native = gymnasium.make_vec(envs.FLOW_ID, **arguments)
    scalar = gymnasium.make_vec(envs.FLOW_ID, vectorization_mode="sync", **arguments)
    assert native.action_space == scalar.action_space == MultiDiscrete([7, 7, 7])
    vector = LeoVecEnv(3, actions=7)
    vector.seed(1)
    np.testing.assert_array_equal(vector.reset(), native.reset(seed=1)[0])
    scalar.reset(seed=1)
    for _ in range(20):
        actions = native.action_space.sample()
        step = native.step(actions)
        assert data_equivalence(step, scalar.step(actions), exact=True)
        np.testing.assert_array_equal(vector.step(actions)[0], step[0])


def test_dqn_learns_with_them():
    model = DQN("MlpPolicy", LeoVecEnv(2, "leo", actions=11), learning_starts=50, seed=1)
    model.learn(300)
    assert model.num_timesteps >= 300
