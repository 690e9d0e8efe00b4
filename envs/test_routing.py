"""``leo/Routing-v0``: checks of Gymnasium and Stable-Baselines3, and what routes do."""

import copy
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from stable_baselines3.common.env_checker import check_env as check_env_of_sb3

from leogym.common.errors import InputError
from leogym.envs.routing import FEATURES, RoutingEnv
from leogym.envs.test_networks import SMALL
from leogym.registration import ROUTING_ID, ROUTING_STEPS

CHOICE = SMALL | {"routing": {"paths": 2}, "traffic": [{"pattern": "permutation"}]}


def test_the_registered_id_passes_the_checks_of_gymnasium_and_stable_baselines():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(ROUTING_ID).unwrapped, skip_render_check=True)
        check_env_of_sb3(gymnasium.make(ROUTING_ID).unwrapped, skip_render_check=True)


def test_an_episode_has_the_registered_steps_and_reports_goodput_as_its_reward():
    env = gymnasium.make(ROUTING_ID)
    env.reset(seed=1)
    steps = 0
    truncated = False
    while not truncated:
        _, reward, terminated, truncated, info = env.step(np.zeros(8, np.int64))
        assert not terminated
        assert reward == pytest.approx(info["goodput_mbps"].mean() / 2.0)
        steps += 1
    assert steps == ROUTING_STEPS


def test_observations_show_the_chosen_paths_and_longer_ones_have_longer_delays():
    env = RoutingEnv(CHOICE, period_s=0.5)
    observation, _ = env.reset(seed=1)
    paths = np.array([0, 1, 0, 1])
    for _ in range(2):
        observation, _, _, _, info = env.step(paths)
    features = observation.reshape(4, 2, FEATURES)
    assert np.array_equal(features[:, :, 0], np.eye(2)[paths])
    assert (features[:, 0, 1] == 1).all()
    assert (features[:, 1, 1] < 1).all()
    assert features[:, :, 4] == pytest.approx(np.clip(info["goodput_mbps"] / 2.0, 0, 1)[:, None].repeat(2, 1))
    assert (info["goodput_mbps"] > 0).all()


@pytest.mark.parametrize("action", [[0, 1], [0, 1, 0, 2], [0, 1, 0, -1], [0.0, 1.0, 0.0, 1.0], "0101", None])
def test_an_action_outside_its_space_is_refused(action):
    env = RoutingEnv(CHOICE, period_s=0.5)
    env.reset(seed=1)
    with pytest.raises(InputError, match=r"^action: .*: must be 4 integers from 0 to 1$"):
        env.step(action)


def test_options_of_a_reset_are_refused():
    with pytest.raises(InputError, match=r"^reset: options: scenario: unknown key"):
        RoutingEnv(CHOICE, period_s=0.5).reset(options={"scenario": "atlantic"})


def test_a_copy_repeats_the_actions_even_if_the_caller_reuses_their_array():
    env = RoutingEnv(CHOICE, period_s=0.5)
    env.reset(seed=1)
    paths = np.array([1, 1, 1, 1])
    env.step(paths)
    paths[:] = 0
    copied = copy.deepcopy(env)
    np.testing.assert_array_equal(copied.step(paths)[0], env.step(paths)[0])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"routing": {"paths": 1}}, "routing.paths: must be at least 2"),
        ({"traffic": [SMALL["traffic"][1]]}, "arrivals: their flows are not the same"),
    ],
)
def test_a_network_without_a_choice_is_one_line(fields, message):
    with pytest.raises(InputError, match=message):
        RoutingEnv(CHOICE | fields)
