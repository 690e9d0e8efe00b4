import json

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Discrete
from gymnasium.utils.env_checker import data_equivalence

from leogym.registration import PRESETS, Preset

IDS = [preset.id for preset in PRESETS]


@pytest.mark.parametrize("preset", PRESETS, ids=IDS)
def test_gymnasiums_time_limit_ends_an_episode_with_its_scenario(preset: Preset):
    env = gymnasium.make(preset.id)
    assert (env.spec.max_episode_steps, env.spec.reward_threshold) == (preset.steps, preset.threshold)
    _, first = env.reset(seed=3)
    unlimited = gymnasium.make(preset.id, max_episode_steps=-1)
    unlimited.reset(seed=3)
    # A flow among others may start later.
    late = round(first["time_s"] / 0.03) - 1
    for limited in (env, unlimited):
        for step in range(1, preset.steps - late + 1):
            *_, terminated, truncated, _ = limited.step(limited.action_space.sample())
            assert (terminated, truncated) == (False, step == preset.steps - late)


@pytest.mark.parametrize("preset", PRESETS, ids=IDS)
def test_every_reset_draws_other_conditions_and_a_specification_is_json(preset: Preset):
    env = gymnasium.make_vec(preset.id, num_envs=6)
    _, info = env.reset(seed=1)
    assert len(set(info["seed"])) == 6
    assert preset.id == "leo/Static-v0" or "static" not in "".join(info["scenario"])
    spec = EnvSpec.from_json(gymnasium.spec(preset.id).to_json())
    assert spec.kwargs == preset.kwargs == json.loads(json.dumps(preset.kwargs))


def test_the_id_to_train_with_means_leo_paths_that_no_two_episodes_share():
    env = gymnasium.make("leogym:leo/SingleFlow-v0")
    drawn = [env.reset(seed=seed)[1] for seed in range(12)]
    assert {info["scenario"] for info in drawn} == {"leo-sd-ny-isl", "leo-sd-ny-bp", "leo-ny-ldn-isl"}
    assert len({info["base_rtt_ms"] for info in drawn}) == 12
    assert all(40 <= info["capacity_mbps"] <= 160 for info in drawn)


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_the_id_works_in_processes_that_import_nothing(context: str):
    own = gymnasium.make_vec("leogym:leo/SingleFlow-v0", num_envs=2)
    module_path = gymnasium.make_vec(
        "leogym:leo/SingleFlow-v0", 2, vectorization_mode="async", vector_kwargs={"context": context}
    )
    try:
        assert data_equivalence(own.reset(seed=1), module_path.reset(seed=1), exact=True)
        for _ in range(3):
            actions = np.full((2, 1), 0.5, np.float32)
            assert data_equivalence(own.step(actions), module_path.step(actions), exact=True)
    finally:
        module_path.close()


def test_the_native_vector_ends_an_episode_with_the_limit():
    own, module_path = (
        gymnasium.make_vec("leo/Static-v0", 2, vectorization_mode=mode, max_episode_steps=7)
        for mode in ("vector_entry_point", "sync")
    )
    assert data_equivalence(own.reset(seed=1), module_path.reset(seed=1), exact=True)
    for _ in range(20):
        actions = np.ones((2, 1), np.float32)
        assert data_equivalence(own.step(actions), module_path.step(actions), exact=True)


def test_discrete_actions_are_evenly_spaced_numbers():
    discrete = gymnasium.make("leo/SingleFlowDiscrete-v0")
    assert discrete.action_space == Discrete(11)
    continuous = gymnasium.make("leo/SingleFlow-v0")
    assert data_equivalence(discrete.reset(seed=1), continuous.reset(seed=1), exact=True)
    for action in range(11):
        number = np.array([-1 + 0.2 * action], np.float32)
        assert data_equivalence(discrete.step(action), continuous.step(number), exact=True)


def test_on_starlink_every_interval_earns_between_frames_too_and_a_flood_of_packets_loses():
    def rewards(agent, action):
        env = gymnasium.make_vec("leo/Starlink-v2", num_envs=2, max_episode_steps=-1, agent=agent)
        env.reset(seed=1)
        return np.array([env.step(np.full((2, 1), action, np.float32))[1] for _ in range(400)])

    cubic, flood = rewards("astraea+cubic_ratio", 0.0), rewards("astraea", 1.0)
    assert (cubic[20:] > 0).mean() > 0.97
    assert cubic.sum(axis=0).min() > 80
    assert flood.sum() < 0
