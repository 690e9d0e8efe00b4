"""Simulations that sample beside each other play different episodes, and the same ones with the same seed."""

from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from stable_baselines3.common.vec_env import SubprocVecEnv

from leogym.envs import seeding
from leogym.envs.flow import FlowEnv, FlowVectorEnv
from leogym.envs.rllib import MultiFlowEnv, SingleFlowEnv
from leogym.envs.sb3 import LeoVecEnv
from leogym.envs.test_flow import SHORT

FLOW_ID = "leogym:leo/Flow-v0"
RUNNERS, SIMULATIONS, EPISODES = 2, 3, 2


def test_mixed_seeds_depend_on_every_number_and_their_order():
    lists = [[1], [1, 1], [1, 2], [2, 1], [1, 1, 1], [2**40, 1]]
    assert len({seeding.mixed(numbers) for numbers in lists}) == len(lists)
    expected = int(np.random.SeedSequence([7, 3]).generate_state(1)[0])
    assert seeding.mixed([7, 3], bits=31) == expected >> 1
    assert seeding.mixed([7, 3]) >> 96 == expected
    assert seeding.seed_of_rank(None, (1,)) is None
    assert seeding.seed_of_rank(5, ()) == 5


# Each returns the seeds of the simulations' first episodes.


def gymnasium_vector(make):
    env = make([lambda: FlowEnv(SHORT)] * SIMULATIONS)
    seeds = env.reset(seed=1)[1]["seed"].tolist()
    env.close()
    return seeds


def native_vector():
    return gymnasium.make_vec(FLOW_ID, SIMULATIONS, scenario=SHORT).reset(seed=1)[1]["seed"].tolist()


def sb3_vector(env):
    env.seed(1)
    env.reset()
    seeds = [info["seed"] for info in env.reset_infos]
    env.close()
    return seeds


def processes():
    env = SubprocVecEnv([lambda: FlowEnv(SHORT)] * SIMULATIONS, start_method="fork")
    return sb3_vector(env)


@pytest.mark.parametrize(
    "first_seeds",
    [
        native_vector,
        lambda: gymnasium_vector(SyncVectorEnv),
        lambda: gymnasium_vector(AsyncVectorEnv),
        lambda: sb3_vector(LeoVecEnv(SIMULATIONS, SHORT)),
        processes,
    ],
    ids=["make_vec", "SyncVectorEnv", "AsyncVectorEnv", "LeoVecEnv", "SubprocVecEnv"],
)
def test_the_simulations_of_a_vector_play_different_episodes(first_seeds):
    assert len(set(first_seeds())) == SIMULATIONS


def seeds_of(runner) -> list[int]:
    """Return the seeds of the first episodes of an RLlib runner's simulations."""
    seeds: list[int] = []
    for _ in range(EPISODES):
        runner.sample(num_timesteps=SIMULATIONS, random_actions=True, force_reset=True)
        inner = runner.env.unwrapped
        if isinstance(inner, FlowVectorEnv):
            scenarios = [inner._simulations.scenario(index) for index in range(SIMULATIONS)]
        else:
            flows = [env.unwrapped for env in inner.envs]
            scenarios = [getattr(env, "_flows", env)._simulations.scenario(0) for env in flows]
        seeds += [scenario.seed for scenario in scenarios]
    return seeds


MULTI = ("multi-agent", MultiAgentEnvRunner, PPOConfig, MultiFlowEnv, "sync")
SINGLE = (
    ("SingleFlowEnv", SingleAgentEnvRunner, PPOConfig, SingleFlowEnv, "sync"),
    ("FlowEnv", SingleAgentEnvRunner, PPOConfig, FlowEnv, "sync"),
    ("id", SingleAgentEnvRunner, PPOConfig, "leo/Flow-v0", "sync"),
    ("id of Gymnasium", SingleAgentEnvRunner, PPOConfig, FLOW_ID, "sync"),
    ("native vector", SingleAgentEnvRunner, PPOConfig, "leo/Flow-v0", "vector_entry_point"),
    ("native vector of Gymnasium", SingleAgentEnvRunner, PPOConfig, FLOW_ID, "vector_entry_point"),
)


def runners(face, seed: int = 5, *, evaluates: bool = False) -> list:
    """Return RLlib's runners of ``face`` as its processes make them."""
    _, kind, config_kind, env, mode = face
    config: AlgorithmConfig = config_kind().environment(env, env_config={"scenario": SHORT})
    config.env_runners(
        num_env_runners=RUNNERS,
        num_envs_per_env_runner=SIMULATIONS,
        gym_env_vectorize_mode=mode,
        create_env_on_local_worker=True,
    )
    config.debugging(seed=seed)
    if env is MultiFlowEnv:
        config.multi_agent(policies={"shared"}, policy_mapping_fn=lambda *_, **__: "shared")
    config.in_evaluation = evaluates
    return [kind(config=config, worker_index=worker, num_workers=RUNNERS) for worker in range(RUNNERS + 1)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("face", [MULTI, *SINGLE], ids=lambda face: face[0])
def test_rllibs_runners_play_different_episodes_and_the_same_ones_with_the_same_seed(face):
    by_runner = [seeds_of(runner) for runner in runners(face)]
    seeds = [seed for of_one in by_runner for seed in of_one]
    # The first runner is the algorithm's own process.
    assert len(set(seeds)) == len(seeds) == (RUNNERS + 1) * SIMULATIONS * EPISODES
    assert [seeds_of(runner) for runner in runners(face)] == by_runner
    judged = {seed for runner in runners(face, evaluates=True) for seed in seeds_of(runner)}
    assert len(judged) == len(seeds)
    assert not judged & set(seeds)


def test_rllibs_own_process_plays_the_episodes_of_its_seed():
    (alone, *_) = [seeds_of(runner) for runner in runners(MULTI)]
    envs = [MultiFlowEnv({"scenario": SHORT}) for _ in range(SIMULATIONS)]
    for index, env in enumerate(envs):
        env.reset(seed=5 + index)
    assert alone[:SIMULATIONS] == [env._flows.scenario.seed for env in envs]


def test_a_runner_that_ray_restarts_plays_other_episodes(monkeypatch):
    context = SimpleNamespace(worker_index=2)
    assert seeding.rank_of(context) == (2,)
    monkeypatch.setattr(seeding, "_restarted", lambda: True)
    first, second = seeding.rank_of(context), seeding.rank_of(context)
    assert len({(2,), first, second}) == 3
    assert len({seeding.seed_of_rank(7, rank) for rank in ((2,), first, second)}) == 3
    monkeypatch.undo()
    assert seeding.rank_of(SimpleNamespace(worker_index=2, recreated_worker=True)) != (2,)
