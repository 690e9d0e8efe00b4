from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from stable_baselines3.common.vec_env import DummyVecEnv

from leogym import envs
from leogym.common.errors import InputError
from leogym.envs.reports import FIELDS
from leogym.envs.sb3 import LeoVecEnv
from leogym.envs.test_flow import SHORT, SINGLE, static


def test_it_equals_scalar_environments_step_for_step_with_reset_in_the_same_step():
    size = 3
    vector = LeoVecEnv(size, SHORT)
    scalars = [gymnasium.make(envs.FLOW_ID, scenario=SHORT) for _ in range(size)]
    vector.seed(7)
    first = vector.reset()
    np.testing.assert_array_equal(first, [env.reset(seed=7 + index)[0] for index, env in enumerate(scalars)])
    rng = np.random.default_rng(1)
    ends = {True: 0, False: 0}
    for _ in range(150):
        actions = rng.uniform(-1, 1, (size, 1)).astype(np.float32)
        observations, rewards, dones, infos = vector.step(actions)
        for index, env in enumerate(scalars):
            observation, reward, terminated, truncated, info = env.step(actions[index])
            assert {name: infos[index][name] for name in FIELDS} == info
            assert rewards[index] == np.float32(reward)
            assert dones[index] == (terminated or truncated)
            if dones[index]:
                np.testing.assert_array_equal(infos[index]["terminal_observation"], observation)
                assert infos[index]["TimeLimit.truncated"] is truncated
                ends[truncated] += 1
                observation, _ = env.reset()
            np.testing.assert_array_equal(observations[index], observation)
    assert min(ends.values()) > 3, "too few episodes ended to compare how they end"


def test_actions_are_float32_within_one():
    env = LeoVecEnv(2)
    assert env.action_space.dtype == np.float32
    assert (env.action_space.low == -1).all()
    assert (env.action_space.high == 1).all()


def test_unseeded_environments_differ_and_a_seed_repeats():
    env = LeoVecEnv(2, SINGLE)

    def after_ten_steps() -> np.ndarray:
        env.reset()
        for _ in range(10):  # in the first steps most flows have no sample
            observations, *_ = env.step(np.zeros((2, 1), np.float32))
        return observations

    assert not np.array_equal(*after_ten_steps())
    env.seed(3)
    first = after_ten_steps()
    assert not np.array_equal(after_ten_steps(), first)
    env.seed(3)
    np.testing.assert_array_equal(after_ten_steps(), first)


def test_step_before_reset_and_several_learners_are_refused():
    with pytest.raises(ResetNeeded):
        LeoVecEnv(1).step(np.zeros((1, 1), np.float32))
    with pytest.raises(InputError, match=r"^scenario: has up to 2 flows of scheme agent, must be 1 in this"):
        LeoVecEnv(1, static({}, {}))


def test_attributes_of_simulations_are_read_and_set_one_by_one_as_in_stable_baselines():
    make = partial(gymnasium.make, envs.FLOW_ID, scenario=SHORT)
    vector, oracle = LeoVecEnv(3, SHORT), DummyVecEnv([make] * 3)
    for env in (vector, oracle):
        env.seed(7)
        env.reset()
        for name in ("observation_space", "action_space", "render_mode"):
            assert env.get_attr(name) == [getattr(env, name)] * 3
        assert env.get_attr("unwrapped", [2])[0].action_space == env.action_space
        env.set_attr("stage", 1)
        env.set_attr("stage", 2, indices=[1])
        assert env.get_attr("stage") == [1, 2, 1]
        assert env.get_attr("stage", indices=1) == [2]
        assert env.env_method("get_wrapper_attr", "stage", indices=[0, 1]) == [1, 2]
        assert env.has_attr("stage")
        assert not env.has_attr("moon")
        assert env.env_is_wrapped(gymnasium.wrappers.RecordVideo) == [False] * 3
        for refused in (lambda env=env: env.get_attr("moon"), lambda env=env: env.env_method("moon")):
            with pytest.raises(AttributeError, match="moon"):
                refused()
    states = [[rng.bit_generator.state for rng in env.get_attr("np_random")] for env in (vector, oracle)]
    assert states[0] == states[1]


def test_simulations_know_their_scenario_and_run_log():
    env = LeoVecEnv(2, SHORT)
    assert env.get_attr("scenario") == env.get_attr("np_random") == [None, None]
    env.seed(1)
    env.reset()
    first, second = env.get_attr("scenario")
    assert first != second
    assert [flow.scheme for flow in first.flows].count("agent") == 1
    (log,) = env.env_method("run_log", indices=[1])
    assert len(log.flows) == len(second.flows)
    with pytest.raises(AttributeError, match="scenario"):
        env.set_attr("scenario", first)


def test_options_give_the_next_episodes_their_scenarios():
    env, slow = LeoVecEnv(2, SINGLE), static({}, rate_mbps=1.0)
    env.set_options([{"scenario": slow}, {}])
    env.seed(3)
    observations = env.reset()
    env.seed(3)
    own = env.reset()
    assert not np.array_equal(observations[0], own[0])
    np.testing.assert_array_equal(observations[1], own[1])
    env.set_options([{"scenario": "geo"}] * 3)
    with pytest.raises(InputError, match=r"^set_options: has 3 entries, must be 2$"):
        env.reset()
    env.set_options({"speed": 1})
    with pytest.raises(InputError, match="reset: options: speed: unknown key"):
        env.reset()


def test_a_sampler_of_several_flows_gives_one_learning_flow():
    assert LeoVecEnv(16, scenario="leo").reset().shape == (16, 50)
