import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.utils.env_checker import data_equivalence
from stable_baselines3 import DQN

from leogym import envs
from leogym.common.errors import InputError
from leogym.envs.actions import Levels, action_space, fit_shape
from leogym.envs.parallel import parallel_env
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


def test_a_number_of_actions_may_be_one_of_numpy():
    assert gymnasium.make(envs.FLOW_ID, actions=np.int64(5)).action_space == Discrete(5)


@pytest.mark.parametrize("actions", [[0.1, 0.2, 0.3], [[0.1, 0.2, 0.3]], np.array([[0.1], [0.2], [0.3]])])
def test_only_axes_of_length_1_of_actions_may_be_missing(actions):
    assert fit_shape(actions, (3, 1)).tolist() == [[0.1], [0.2], [0.3]]
    with pytest.raises(InputError, match=r"^action: has the shape .*, must have \(3, 11\)$"):
        fit_shape(actions, (3, 11))


def faces() -> list[tuple]:
    """Return the step and the shape of an action of each face, with eleven numbers per flow."""
    single = gymnasium.make(envs.FLOW_ID, agent="orbit").unwrapped
    native = gymnasium.make_vec(envs.FLOW_ID, num_envs=2, agent="orbit")
    vector = LeoVecEnv(2, agent="orbit")
    parallel, constant = (
        parallel_env("static-pair-agents", "orbit", constant_agents=constant) for constant in (False, True)
    )
    for env in (single, native, parallel, constant):
        env.reset(seed=1)
    vector.reset()
    return [
        (single.step, (11,)),
        (native.step, (2, 11)),
        (vector.step, (2, 11)),
        (lambda action: parallel.step({"flow_0": action}), (11,)),
        (lambda action: constant.step({"flow_0": action}), (11,)),
    ]


def test_no_face_spreads_one_number_or_reads_a_transposed_batch():
    for step, shape in faces():
        step(np.zeros(shape))
        wrong = [0.5, np.zeros(1), np.zeros(12), np.zeros((3, 11)), "up", None]
        for action in wrong if len(shape) == 1 else [*wrong, np.zeros(11), np.zeros((11, 2))]:
            with pytest.raises(InputError, match=r"^action: .* must "):
                step(action)


@pytest.mark.parametrize("constant_agents", [False, True])
def test_an_action_of_an_unknown_agent_is_refused(constant_agents):
    env = parallel_env(constant_agents=constant_agents)
    env.reset(seed=1)
    with pytest.raises(InputError, match=r"^actions: 'flow_9': no such agent \(there are: flow_0\)$"):
        env.step({"flow_9": np.zeros(1)})


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
