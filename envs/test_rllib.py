import subprocess
import sys

import numpy as np
import pytest
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.utils.pre_checks.env import check_multiagent_environments

from leogym import envs
from leogym.envs.flow import FlowEnv
from leogym.envs.rllib import MultiFlowEnv
from leogym.envs.test_flow import static
from leogym.envs.test_parallel import COME_AND_GO, MANY, played

ZERO = np.zeros(1, np.float32)


def episode_of(scenario, seed: int = 1) -> MultiAgentEpisode:
    """Play one episode like RLlib's runner and return RLlib's record of it."""
    env = MultiFlowEnv({"scenario": scenario})
    episode = MultiAgentEpisode(
        observation_space=env.observation_spaces,
        action_space=env.action_spaces,
        agent_to_module_mapping_fn=lambda agent, episode: "shared",
    )
    observations, infos = env.reset(seed=seed)
    episode.add_env_reset(observations=observations, infos=infos)
    while not episode.is_done:
        actions = {agent: ZERO for agent in episode.get_agents_to_act()}
        observations, rewards, terminateds, truncateds, infos = env.step(actions)
        episode.add_env_step(
            observations, actions, rewards, infos, terminateds=terminateds, truncateds=truncateds
        )
        assert episode.is_done == (terminateds["__all__"] or truncateds["__all__"])
    return episode


def assert_complete(episode: MultiAgentEpisode, scenario) -> None:
    """Check that RLlib's record has every observation and reward of the PettingZoo environment."""
    flows = envs.parallel_env(scenario)
    first, _ = flows.reset(seed=1)
    observations = {name: [value] for name, value in first.items()}
    rewards: dict[str, list] = {}
    for acting, observed, rewarded, *_ in played(flows):
        for name, value in observed.items():
            observations.setdefault(name, []).append(value)
        for name in acting:
            rewards.setdefault(name, []).append(rewarded[name])
    assert episode.agent_episodes.keys() == observations.keys()
    for name, record in episode.agent_episodes.items():
        np.testing.assert_array_equal(np.stack(record.get_observations()), np.stack(observations[name]))
        np.testing.assert_array_equal(record.get_rewards(), rewards[name])


def test_rllibs_own_check_passes():
    check_multiagent_environments(MultiFlowEnv({"scenario": COME_AND_GO}))


def test_all_flows_that_may_ever_run_are_possible_agents_in_a_fixed_order():
    env = MultiFlowEnv({"scenario": MANY})
    assert env.possible_agents == ["flow_0", "flow_1", "flow_2"]
    assert list(env.observation_spaces) == list(env.action_spaces) == env.possible_agents


@pytest.mark.parametrize("scenario", [COME_AND_GO, MANY], ids=["come-and-go", "sampled"])
def test_late_joiners_and_leavers_are_in_rllibs_record(scenario):
    episode = episode_of(scenario)
    assert len(episode.agent_episodes) > 1
    assert_complete(episode, scenario)


def test_at_the_scenarios_end_all_is_truncated():
    episode = episode_of(COME_AND_GO)
    assert episode.is_truncated
    assert not episode.is_terminated
    first, second = (episode.agent_episodes[name] for name in ("flow_0", "flow_1"))
    assert (first.is_terminated, first.is_truncated) == (True, False)
    assert (second.is_terminated, second.is_truncated) == (False, True)


def test_when_the_last_flow_stopped_all_is_terminated():
    episode = episode_of(static({"stop_s": 0.3}, {"start_s": 0.1, "stop_s": 0.6}, duration_s=60.0))
    assert episode.is_terminated
    assert not episode.is_truncated


@pytest.mark.parametrize("start_s", [0.24, 0.27, 0.3, 0.6])
def test_an_episode_outlives_the_moment_when_one_flow_hands_over_to_the_next(start_s):
    scenario = static({"stop_s": 0.3}, {"start_s": start_s}, duration_s=0.9)
    episode = episode_of(scenario)
    assert_complete(episode, scenario)
    assert episode.agent_episodes["flow_0"].is_terminated
    assert episode.agent_episodes["flow_1"].is_truncated


def test_a_flow_that_ends_with_the_last_of_the_others_is_reported():
    # flow_1 joins when flow_0 stops, and ends after about one interval, while flow_0's report is delayed.
    scenario = static({"stop_s": 0.3}, {"start_s": 0.6, "stop_s": 0.67}, duration_s=60.0)
    episode = episode_of(scenario)
    assert_complete(episode, scenario)
    assert episode.is_terminated


def test_a_constant_set_of_agents_is_one_episode_for_all():
    env = MultiFlowEnv({"scenario": COME_AND_GO, "constant_agents": True})
    check_multiagent_environments(env)
    observations, _ = env.reset(seed=1)
    active = []
    truncated = False
    while not truncated:
        assert list(observations) == env.agents == env.possible_agents == ["flow_0", "flow_1"]
        observations, _, terminateds, truncateds, infos = env.step(dict.fromkeys(env.agents, ZERO))
        active.append([infos[name]["active"] for name in env.possible_agents])
        truncated = truncateds["__all__"]
        assert not any(terminateds.values())
        assert not any(truncateds[name] for name in env.possible_agents)
    assert [
        active_flows for at, active_flows in enumerate(active) if at == 0 or active_flows != active[at - 1]
    ] == [
        [True, False],
        [True, True],
        [False, True],
    ]


@pytest.mark.parametrize("mode", ["sync", "vector_entry_point"])
@pytest.mark.parametrize("name", ["leo/SingleFlow-v0", "leogym:leo/SingleFlow-v0"])
def test_rllibs_runner_makes_an_environment_of_its_id(name, mode):
    config = PPOConfig().environment(name, env_config={"agent": "orca", "interval_ms": 20.0})
    config.env_runners(num_envs_per_env_runner=2, gym_env_vectorize_mode=mode)
    assert sampled(config) == ([10, 10], (70,))


def test_rllibs_runner_makes_an_environment_of_its_class_with_env_config_as_its_arguments():
    config = PPOConfig().environment(FlowEnv, env_config={"scenario": "leo", "actions": 5})
    assert sampled(config) == ([20], (50,))


def sampled(config: PPOConfig) -> tuple[list[int], tuple[int, ...]]:
    """Return the lengths of the episodes of 20 random steps and the shape of an observation."""
    runner = SingleAgentEnvRunner(config=config)
    episodes = runner.sample(num_timesteps=20, random_actions=True)
    return [len(episode) for episode in episodes], episodes[0].get_observations(0).shape


def test_rllibs_registry_which_reaches_all_processes_has_every_id():
    # In a process of its own: a cluster that another test started and stopped takes the registry with it.
    program = (
        "import leogym.envs.rllib as faces; from ray.tune.registry import ENV_CREATOR, _global_registry; "
        "assert all(_global_registry.contains(ENV_CREATOR, name) for name in faces.IDS)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
